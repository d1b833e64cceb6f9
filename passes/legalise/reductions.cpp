// Starts reductions from the identity, or from the base if they combine with it by the same operator, so that partial
// results can always be combined. A second node does the remaining work on the reduced value:
//
//     %4 = compute [i in 0..%0] sum[j in 0..%1] (%2[i, j]) left [i] base %3 combine max
// becomes
//     %5 = compute [i in 0..%0] sum[j in 0..%1] (%2[i, j])
//     %4 = compute [i in 0..%0] (%5[i]) left [i] base %3 combine max
//
// argmin and argmax outside of fused nests become the optimum and the smallest index that attains it. Both allow any
// partitioning:
//
//     %3 = compute [i in 0..%0] argmin[j in 0..%1] (%2[i, j])
// becomes
//     %4 = compute [i in 0..%0] min[j in 0..%1] (%2[i, j])
//     %5 = compute [i in 0..%0] min[j in 0..%1] (j) where or(eq(%2[i, j], %4[i]), and(is_nan(%2[i, j]),
//     is_nan(%4[i]))) %3 = compute [i in 0..%0] (select(eq(%5[i], 9223372036854775807), -1, %5[i]))

#include "passes/passes.h"

#include <utility>

#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"
#include "passes/legalise/computes.h"

namespace tdsl::passes {

using namespace ir;

namespace {

Monoid monoid_of(Monoid::Kind kind) { return {kind, {}, {}, {}}; }

bool combines_alike(const Compute& c) { return c.combine && equal(*c.combine, *c.monoid) && !locates(*c.monoid); }

/// True if more is done with the reduced value than one operation supports.
bool does_more(Legalised& one) {
  const Compute& c = one.compute();
  const Expr identity = identity_of(*c.monoid, one.type().scalar);
  if (combines_alike(c) && (c.base || equal(one.fill(), identity))) return false;
  const bool writes = !c.left.empty() || c.base || c.combine;
  return writes || (c.guard && c.fill && !equal(c.fill, identity));
}

/// argmin and argmax.
void locate(Legalised& one) {
  Compute& c = one.compute();
  const bool smallest = c.monoid->kind == Monoid::Kind::kArgMin;
  Compute optimum = c;
  Expr body = c.bodies.front();
  if (body->type == Scalar::kBool) body = cast(Scalar::kI64, body);
  optimum.bodies = {body};
  optimum.fill = {};
  optimum.monoid = monoid_of(smallest ? Monoid::Kind::kMin : Monoid::Kind::kMax);
  const Expr best = one.separately(std::move(optimum), body->type, "_optimum");
  Expr found = binary(BinaryOp::kEq, body, best);
  if (is_float(body->type)) {
    const Expr both = binary(BinaryOp::kAnd, unary(UnaryOp::kIsNan, body), unary(UnaryOp::kIsNan, best));
    found = binary(BinaryOp::kOr, found, both);
  }
  const Monoid first = monoid_of(Monoid::Kind::kMin);
  Compute place = c;
  place.bodies = {index_ref(static_cast<std::int32_t>(c.out.size()))};
  place.guard = conjunction_of(place.guard, found);
  place.fill = {};
  place.monoid = first;
  const Expr label = one.separately(std::move(place), Scalar::kI64, "_place");
  c.reduce.clear();
  c.monoid.reset();
  c.guard = {};
  c.fill = {};
  c.bodies = {select(binary(BinaryOp::kEq, label, identity_of(first, Scalar::kI64)), constant_i64(-1), label)};
}

}  // namespace

void split_reduction(Legalised& one) {
  Compute& c = one.compute();
  // An empty reduction by the user-defined monoid that also combines leaves the element unchanged.
  const bool leaves = combines_alike(c) && c.monoid->kind == Monoid::Kind::kUser;
  const bool hidden = leaves || mentions_labels(c.guard, c.out.size());
  Compute value;
  value.out = c.out;
  value.reduce = c.reduce;
  value.bodies = c.bodies;
  value.guard = c.guard;
  value.monoid = c.monoid;
  Compute rest = c;
  rest.reduce.clear();
  rest.monoid.reset();
  if (hidden) {
    Compute hit = value;
    hit.bodies = {constant(Scalar::kBool, true)};
    hit.monoid = monoid_of(Monoid::Kind::kAny);
    rest.guard = one.separately(std::move(hit), Scalar::kBool, "_hit");
  }
  rest.bodies = {one.separately(std::move(value), one.type().scalar, "_value")};
  c = std::move(rest);
}

Program reductions(const Program& program, PassContext& context) {
  return legalised(program, context, [&](Legalised& one) {
    if (!one.compute().monoid) return;
    if (does_more(one)) {
      split_reduction(one);
      context.applied(one.node().range, "a separate operation combines the reduced values with the existing elements");
    } else if (locates(*one.compute().monoid)) {
      locate(one);
      context.applied(one.node().range, "the optimum first, then its smallest index");
    }
  });
}

}  // namespace tdsl::passes
