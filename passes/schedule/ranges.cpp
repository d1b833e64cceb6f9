#include "passes/schedule/ranges.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ir/graph/affine.h"
#include "ir/graph/computes.h"
#include "passes/rewriting.h"

namespace tdsl::passes {

using namespace ir;

namespace {

/// A polynomial bound of a loop; of a minimum or maximum any operand is one.
std::optional<Extent> limit_of(const Expr& e, BinaryOp op) {
  if (const auto* b = std::get_if<Binary>(&e->op); b != nullptr && b->op == op) {
    const auto left = limit_of(b->left, op);
    return left ? left : limit_of(b->right, op);
  }
  return extent_of(e);
}

/// `e + by`, collected if it is a polynomial.
Expr moved(const Expr& e, const Extent& by) {
  if (by == Extent(0)) return e;
  const auto p = polynomial_of(e);
  return p ? expr_of_polynomial(*p + by) : binary(BinaryOp::kAdd, e, expr_of_polynomial(by));
}

/// The subscripts plus `by`.
std::vector<Expr> moved(std::vector<Expr> subscripts, const std::vector<Extent>& by) {
  for (std::size_t d = 0; d < subscripts.size(); ++d) subscripts[d] = moved(subscripts[d], by[d]);
  return subscripts;
}

/// Moves the elements of an array in every statement.
void move_elements(Scop& scop, std::size_t a, const std::vector<Extent>& by) {
  const ValueId key = scop.arrays[a].key;
  const auto reads = [&](const Expr& e) {
    return rewrite(e, [&](const Expr& x) {
      const auto* r = std::get_if<Read>(&x->op);
      return r == nullptr || r->tensor != key ? x : read(x->type, key, moved(r->subscripts, by), x->range);
    });
  };
  for (ScopStatement& s : scop.statements) {
    for (Compute* c : {&s.compute, s.accumulation ? &*s.accumulation : nullptr}) {
      if (c == nullptr) continue;
      rewrite_expressions(*c, reads);
      if (s.array == a) c->left = moved(std::move(c->left), by);
    }
  }
}

}  // namespace

void measure(Scop& scop, const Resolve& resolve) {
  for (ScopLoop& loop : scop.loops) {
    const bool up = loop.step > 0;
    const Expr& low = up ? loop.begin : loop.end;
    const Expr& high = up ? loop.end : loop.begin;
    auto first = limit_of(low, BinaryOp::kMax);
    auto last = limit_of(high, BinaryOp::kMin);
    if (!first || !last) continue;
    // Both inclusive.
    first = extreme(scop, resolve(*first) + Extent(up ? 0 : 1), false);
    last = extreme(scop, resolve(*last) - Extent(up ? 1 : 0), true);
    if (!first || !last) continue;
    const auto data = [&](const Extent& e) {
      return std::ranges::any_of(e.values(), [&](ValueId v) { return scop.array_of(v).has_value(); });
    };
    if (data(*first) || data(*last)) continue;
    loop.lowest = first;
    loop.values = *last - *first + Extent(1);
  }
}

bool widen_arrays(Scop& scop, const Resolve& resolve) {
  constexpr std::int64_t kSmall = 4;
  for (std::size_t a = 0; a < scop.arrays.size(); ++a) {
    ScopArray& array = scop.arrays[a];
    std::vector<Extent> by;
    for (std::size_t d = 0; d < array.spans.size(); ++d) {
      const ScopSpan& span = array.spans[d];
      auto lowest = extreme(scop, span.begin, false);
      const auto highest = extreme(scop, span.end, true);
      if (!lowest || !highest) return false;
      // A span that starts at a small index starts at 0, where other tensors start.
      if (const auto c = lowest->constant(); c && *c > 0 && *c <= kSmall) lowest = Extent(0);
      by.push_back(span.begin - *lowest);
      array.type.shape[d] = resolve(*highest - *lowest);
    }
    if (!array.spans.empty()) move_elements(scop, a, by);
  }
  return true;
}

}  // namespace tdsl::passes
