#include <algorithm>
#include <iterator>

#include "codegen/loops/kernel_nest_builder.h"
#include "codegen/lower/guard_bounds.h"

namespace tdsl::codegen {

using ir::Monoid;
using nest::Named;
using nest::with_parts;

nest::Statement KernelNestBuilder::loop(int label, nest::Walk over, nest::Order order, Body body) {
  return statement(nest::For{label, std::move(over), order, std::move(body)});
}

nest::TaskRange KernelNestBuilder::narrowed(int label, Body& before) {
  TaskRange range;
  if (op_.sparsity.compresses()) return within_bounds(label, before);
  if (!compute_.monoid || !compute_.guard || op_.role_of(label) != plan::LabelRole::kReduce) return range;
  for (const GuardBound& bound : guard_bounds(kernel_, label, open_, observed_)) {
    const ValueId side =
        local(labels_[static_cast<std::size_t>(label)] + (bound.from_below ? "_begin" : "_end"), ir::Scalar::kI64);
    before.push_back(
        statement(nest::Narrow{side, label, range, bound.from_below, of_nest(bound.value), bound.past, bound.safe}));
    (bound.from_below ? range.begin : range.end) = side;
  }
  return range;
}

nest::TaskRange KernelNestBuilder::within_bounds(int label, Body& before) {
  TaskRange range;
  for (const SymbolicBound& bound : op_.sparsity.bounds) {
    if (bound.label != label) continue;
    const ValueId side =
        local(labels_[static_cast<std::size_t>(label)] + (bound.from_below ? "_begin" : "_end"), ir::Scalar::kI64);
    before.push_back(
        statement(nest::Narrow{side, label, range, bound.from_below, line(bound), !bound.from_below, true}));
    (bound.from_below ? range.begin : range.end) = side;
  }
  observed_.insert(kernel_.bounding.begin(), kernel_.bounding.end());
  return range;
}

/// The bound along the rows. A value that may be any integer is clamped so that the bound is unchanged and adding to it
/// cannot overflow.
ir::Expr KernelNestBuilder::line(const SymbolicBound& bound) const {
  constexpr std::int64_t kLargest = std::int64_t{1} << 59;
  Extent sum = bound.constant;
  if (bound.row != 0) sum = sum + Extent(bound.row) * Extent::of(ir::label_value(0));
  return ir::rewrite(ir::expr_of_polynomial(sum), [&](const Expr& e) {
    const auto* r = std::get_if<ir::Read>(&e->op);
    if (r == nullptr) return e;
    const ValueId v = captures_.at(r->tensor);
    const Expr value = ir::read(ir::Scalar::kI64, v, {});
    if (result_.nest.variable(v).size) return value;
    return ir::binary(ir::BinaryOp::kMin, ir::binary(ir::BinaryOp::kMax, value, ir::constant_i64(-kLargest)),
                      ir::constant_i64(kLargest));
  });
}

nest::Body KernelNestBuilder::point() {
  if (!kernel_.scattered.empty()) return with_panels(guarded(located([&] { return scatter(); })));
  if (!kernel_.gathers.empty()) return with_panels(guarded(located([&] { return change(element()); })));
  const bool everywhere = !combining() && !writes() && !op_.has_base() && !kernel_.walk;
  if (const Expr rest = guard(); rest && everywhere)
    return {statement(nest::Store{element(), ir::select(rest, of_nest(compute_.bodies.front()), fill())})};
  return guarded(change(element()));
}

nest::Body KernelNestBuilder::change(Place to) {
  auto [lets, value] = named(of_nest(compute_.bodies.front()));
  Body result;
  for (nest::Let& let : lets) result.push_back(statement(std::move(let)));
  const std::optional<Monoid>& with = combining();
  result.push_back(with ? statement(nest::Update{std::move(to), *with, std::move(value)})
                        : statement(nest::Store{std::move(to), std::move(value)}));
  return result;
}

nest::Body KernelNestBuilder::guarded(Body body) {
  const Expr rest = guard();
  if (!rest) return body;
  return {statement(nest::If{rest, std::move(body)})};
}

nest::Body KernelNestBuilder::scatter() {
  Body result;
  nest::IsMine mine;
  for (const auto& [d, index] : targets_) {
    const Expr& left = compute_.left[d];
    result.push_back(statement(nest::Check{index,
                                           of_nest(left),
                                           {static_cast<int>(d), of_nest(*kernel_.scattered[d]),
                                            subscript_text(left, request_.step.target), left->range}}));
    mine.members.push_back({index, static_cast<int>(d)});
  }
  result.push_back(statement(nest::If{std::move(mine), change(element())}));
  return result;
}

nest::Body KernelNestBuilder::scalar_reduction() {
  std::vector<int> out_labels;
  std::vector<int> reduce_labels;
  for (const int l : order_.labels)
    (op_.role_of(l) == plan::LabelRole::kReduce ? reduce_labels : out_labels).push_back(l);
  return loops(out_labels, 0, false, [&] {
    const ValueId total = local("total", kernel_.type);
    const bool starts = !writes() && !op_.has_base();
    Body result = {statement(nest::Start{total, element(), starts ? identity() : Expr()})};
    std::ranges::move(into_total(total, reduce_labels), std::back_inserter(result));
    result.push_back(statement(nest::Store{element(), local_read(total)}));
    return result;
  });
}

nest::Body KernelNestBuilder::into_total(ValueId total, const std::vector<int>& labels) {
  const std::vector<int> outer(labels.begin(), labels.end() - 1);
  const KernelNest before = result_;
  const auto checked = checked_;
  bool lines = true;
  Body result = loops(outer, 0, false, [&] {
    std::optional<Body> line = line_sum(total, labels.back());
    lines = line.has_value();
    return lines ? *line : Body{};
  });
  if (lines) return result;
  result_ = before;
  checked_ = checked;
  return loops(labels, 0, false, [&] { return with_panels(guarded(located([&] { return change({total, {}}); }))); });
}

std::optional<nest::Body> KernelNestBuilder::line_sum(ValueId total, int label) {
  const Monoid::Kind kind = compute_.monoid->kind;
  if (!ir::is_float(kernel_.type) || !(kind == Monoid::Kind::kSum || kind == Monoid::Kind::kProd) ||
      !kernel_.gathers.empty())
    return std::nullopt;
  Body result;
  const TaskRange range = narrowed(label, result);
  const bool bounds = !result.empty();
  open_.insert(label);
  const Expr rest = guard();
  open_.erase(label);
  const Expr body = of_nest(compute_.bodies.front());
  Named line = rest ? Named{{}, ir::select(rest, body, identity())} : named(body);
  const bool stops =
      std::ranges::any_of(line.lets, [&](const nest::Let& let) { return nest::may_stop(result_.nest, let.value); });
  if (stops || nest::may_stop(result_.nest, line.value) || !order_.in_order.contains(label)) return std::nullopt;
  result.push_back(
      statement(nest::LineReduction{total, kind, label, range, std::move(line.lets), std::move(line.value)}));
  return bounds ? with_points(std::move(result)) : result;
}

nest::Body KernelNestBuilder::blocked(const Blocking& blocks) {
  return loops(blocks.outer, 0, false, [&] {
    nest::BlockedReduction s{element(), blocks.row, blocks.column, blocks.reduce, {}, {}, *compute_.monoid,
                             {},        {},         blocks.numbers};
    std::map<const ir::ExprNode*, Expr> values;
    const auto add = [&](const Blocking::Values& given, const char* name, std::vector<nest::Let>& lets) {
      for (const std::vector<Expr>& places : given) {
        const ValueId value = local(name, places.front()->type);
        lets.push_back({value, of_nest(places.front())});
        for (const Expr& e : places) values[e.id()] = local_read(value);
      }
    };
    add(blocks.x, "x", s.x);
    add(blocks.y, "y", s.y);
    const auto of_values = [&](const Expr& e) {
      return with_parts(
          e,
          [&](const Expr& part) {
            if (const auto found = values.find(part.id()); found != values.end()) return found->second;
            const auto* r = std::get_if<ir::Read>(&part->op);
            return r == nullptr ? Expr() : read(part, *r);
          },
          true);
    };
    const Expr rest = without_parts(compute_.guard, observed_);
    s.value = of_values(compute_.bodies.front());
    if (rest) s.guard = of_values(rest);
    return Body{statement(std::move(s))};
  });
}

nest::Body KernelNestBuilder::first_values() {
  const auto filled = [&](Expr value) { return Body{statement(nest::Fill{target_, std::move(value)})}; };
  if (kernel_.walk)
    return result_.nest.variable(target_).compressed ? Body{} : filled(compute_.monoid ? identity() : fill());
  if (compute_.monoid) return !order_.into_scalar || writes() || op_.has_base() ? filled(identity()) : Body{};
  return (writes() || compute_.combine) && !op_.has_base() ? filled(fill()) : Body{};
}

}  // namespace tdsl::codegen
