#include "ir/eval/routine.h"

#include <algorithm>
#include <numeric>

#include "ir/eval/accumulator.h"
#include "ir/eval/foreign.h"
#include "ir/eval/fourier.h"
#include "ir/eval/lines.h"
#include "ir/graph/check.h"

namespace tdsl::ir::eval {

namespace {

Monoid::Kind monoid_of(Routine::Kind scan) {
  switch (scan) {
    case Routine::Kind::kCumprod: return Monoid::Kind::kProd;
    case Routine::Kind::kCummax: return Monoid::Kind::kMax;
    case Routine::Kind::kCummin: return Monoid::Kind::kMin;
    default: return Monoid::Kind::kSum;
  }
}

void scan(Monoid::Kind kind, const Array& a, Array& result, std::size_t axis) {
  for (const Line& line : lines_of(a.shape, axis)) {
    RealAccumulator real(kind, a.type, nullptr);
    WholeAccumulator whole(kind, a.type, nullptr);
    for (std::int64_t k = 0; k < line.length; ++k) {
      const std::size_t at = line.at(k);
      if (is_float(a.type)) {
        real.meet(real_element(a, at));
        set_element(result, at, {real.result(), {}});
      } else {
        whole.add(whole_element(a, at));
        set_element(result, at, {{}, whole.result()});
      }
    }
  }
}

/// The positions of a line in sorted order, equal elements by position, nan last; and the uncertainty from the
/// elements' bounds.
struct Order {
  std::vector<std::int64_t> positions;
  double reach = 0;     ///< error bound of each sorted element: sorting does not amplify the elements' errors
  bool settled = true;  ///< true if the positions are certain
};

Order order_of(const Array& a, const Line& line, bool descending) {
  Order order;
  order.positions.resize(static_cast<std::size_t>(line.length));
  std::iota(order.positions.begin(), order.positions.end(), std::int64_t{0});
  const auto before = [&](std::int64_t x, std::int64_t y) {
    if (!is_float(a.type)) {
      const std::int64_t left = ordered_bits(a.type, a.integers[line.at(x)]);
      const std::int64_t right = ordered_bits(a.type, a.integers[line.at(y)]);
      return descending ? left > right : left < right;
    }
    const double left = a.floats[line.at(x)];
    const double right = a.floats[line.at(y)];
    if (left != left || right != right) return left == left && right != right;
    return descending ? left > right : left < right;
  };
  std::ranges::stable_sort(order.positions, before);
  for (std::int64_t k = 0; k < line.length; ++k) {
    const std::size_t at = line.at(order.positions[static_cast<std::size_t>(k)]);
    order.reach = std::max(order.reach, bound_at(a, at));
    if (k == 0) continue;
    const std::size_t last = line.at(order.positions[static_cast<std::size_t>(k - 1)]);
    if (is_float(a.type)) {
      order.settled =
          order.settled && !order_open({a.floats[last], bound_at(a, last)}, {a.floats[at], bound_at(a, at)});
    }
  }
  order.settled = order.settled && order.reach < kOpen;
  return order;
}

/// The first elements of the sorted lines, as many as `values` or `positions` hold; either may be absent.
void sorted(const Array& a, std::size_t axis, bool descending, Array* values, Array* positions) {
  const std::vector<Line> from = lines_of(a.shape, axis);
  const std::vector<Line> to = lines_of((values != nullptr ? values : positions)->shape, axis);
  for (std::size_t l = 0; l < to.size(); ++l) {
    const Order order = order_of(a, from[l], descending);
    for (std::int64_t k = 0; k < to[l].length; ++k) {
      const std::int64_t position = order.positions[static_cast<std::size_t>(k)];
      const std::size_t at = to[l].at(k);
      if (values != nullptr) {
        set_element(*values, at, element(a, from[l].at(position)));
        set_bound(*values, at, order.reach);
      }
      if (positions == nullptr) continue;
      positions->integers[at] = position;
      set_bound(*positions, at, order.settled ? 0 : kOpen);
    }
  }
}

/// The slices of `a` at the positions of the largest elements of a mask.
void filter(const Array& a, const Array& mask, std::size_t axis, Array& result) {
  const Order order = order_of(mask, lines_of(mask.shape, 0)[0], true);
  const std::vector<Line> from = lines_of(a.shape, axis);
  const std::vector<Line> to = lines_of(result.shape, axis);
  for (std::size_t l = 0; l < to.size(); ++l) {
    for (std::int64_t k = 0; k < to[l].length; ++k) {
      const std::size_t source = from[l].at(order.positions[static_cast<std::size_t>(k)]);
      set_element(result, to[l].at(k), element(a, source));
      if (!order.settled) set_bound(result, to[l].at(k), kOpen);
    }
  }
}

}  // namespace

std::vector<std::shared_ptr<Array>> evaluate_routine(Environment& environment, const Node& node,
                                                     const Routine& routine) {
  std::vector<const Array*> operands;
  for (const ValueId v : routine.operands) operands.push_back(&environment.get(v));
  std::vector<std::shared_ptr<Array>> results;
  for (const ValueId v : node.results) {
    const Scalar type = environment.program().type(v).scalar;
    results.push_back(std::make_shared<Array>(zeros(type, environment.shape(v, node.range))));
  }
  if (routine.foreign) {
    run_foreign(*routine.foreign, operands, results, node.range);
    return results;
  }
  if (!is_line(routine.kind)) {
    evaluate_factorisation(node, routine, operands, results);
    return results;
  }
  const Array& a = *operands.at(0);
  const auto axis = static_cast<std::size_t>(routine.axis);
  switch (routine.kind) {
    case Routine::Kind::kCumsum:
    case Routine::Kind::kCumprod:
    case Routine::Kind::kCummax:
    case Routine::Kind::kCummin: scan(monoid_of(routine.kind), a, *results.at(0), axis); break;
    case Routine::Kind::kSort: sorted(a, axis, false, results.at(0).get(), nullptr); break;
    case Routine::Kind::kArgsort: sorted(a, axis, false, nullptr, results.at(0).get()); break;
    case Routine::Kind::kTopk:
      if (results.at(0)->shape[axis] > a.shape[axis])
        stop(node.range, "topk takes more elements than the dimension has [out-of-bounds]");
      sorted(a, axis, true, results.at(0).get(), results.at(1).get());
      break;
    case Routine::Kind::kFilter:
      if (results.at(0)->shape[axis] > a.shape[axis])
        stop(node.range, "filter takes more elements than the dimension has [out-of-bounds]");
      filter(a, *operands.at(1), axis, *results.at(0));
      break;
    case Routine::Kind::kFft:
    case Routine::Kind::kIfft:
    case Routine::Kind::kRfft:
    case Routine::Kind::kIrfft: evaluate_fourier(routine, a, *results.at(0)); break;
    default: TDSL_CHECK(false, "a routine along lines");
  }
  return results;
}

}  // namespace tdsl::ir::eval
