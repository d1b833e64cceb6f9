// Rewrites a store at a periodic index, `mod(i + c, n)` or `(i + c) % n`, whose index variable covers the period once
// and occurs in no other store subscript, as an affine store that reads at the inverse index:
//
//     %3 = compute [i in 0..%0] (%1[i]) left [mod(add(i, 1), %0)] base %2
// becomes
//     %3 = compute [i in 0..%0] (%1[mod(sub(i, 1), %0)]) left [i] base %2

#include "passes/passes.h"

#include "ir/analysis/periodic.h"
#include "ir/graph/expr_build.h"
#include "passes/legalise/computes.h"

namespace tdsl::passes {

using namespace ir;

namespace {

/// True if the subscript covers dimension `d` exactly once and its label occurs in no other subscript.
bool runs_around(const Compute& c, const Type& type, std::size_t d, const Periodic& p) {
  const auto label = static_cast<std::size_t>(p.label);
  if (!(p.extent == type.shape[d]) || label >= c.out.size()) return false;
  if (!(c.out[label].begin == Extent(0)) || !(c.out[label].end == p.extent)) return false;
  for (std::size_t k = 0; k < c.left.size(); ++k) {
    if (k != d && mentions_label(c.left[k], p.label)) return false;
  }
  return true;
}

bool unroll_store(Legalised& one, std::size_t d) {
  Compute& c = one.compute();
  const auto p = periodic_of(c.left[d], one.labels(), [&one](const Expr& e) { return one.hoisted(e); });
  if (!p || !runs_around(c, one.type(), d, *p)) return false;
  const Expr target = index_ref(p->label, c.left[d]->range);
  const Expr back = one.expression(Extent::of(label_value(p->label)) - p->constant);
  const Expr source = binary(BinaryOp::kMod, back, p->divisor);
  for (Expr& body : c.bodies) body = with_label(body, p->label, source);
  c.guard = with_label(c.guard, p->label, source);
  c.left[d] = target;
  return true;
}

}  // namespace

Program periodic_stores(const Program& program, PassContext& context) {
  return legalised(program, context, [&](Legalised& one) {
    if (one.assembles()) return;
    bool any = false;
    for (std::size_t d = 0; d < one.compute().left.size(); ++d) any = unroll_store(one, d) || any;
    if (any) context.applied(one.node().range, "the periodic store subscript is inverted");
  });
}

}  // namespace tdsl::passes
