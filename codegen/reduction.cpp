#include <algorithm>

#include "codegen/compute_lowering.h"
#include "ir/check.h"

namespace tdsl::codegen {

using ir::Compute;
using ir::Monoid;

namespace {

bool mentions_reduce(const Expr& e, std::size_t out_labels) {
  bool found = false;
  ir::for_each_node(e, [&](const ir::ExprNode& n) {
    const auto* r = std::get_if<ir::IndexRef>(&n.op);
    found = found || (r != nullptr && static_cast<std::size_t>(r->label) >= out_labels);
  });
  return found;
}

}  // namespace

bool locates(const Monoid& m) { return m.kind == Monoid::Kind::kArgMin || m.kind == Monoid::Kind::kArgMax; }

plan::Combine combine_of(const Monoid& m) {
  switch (m.kind) {
    case Monoid::Kind::kSum: return plan::Combine::kSum;
    case Monoid::Kind::kProd: return plan::Combine::kProd;
    case Monoid::Kind::kMin: return plan::Combine::kMin;
    case Monoid::Kind::kMax: return plan::Combine::kMax;
    case Monoid::Kind::kAny: return plan::Combine::kAny;
    case Monoid::Kind::kAll: return plan::Combine::kAll;
    case Monoid::Kind::kArgMin:
    case Monoid::Kind::kArgMax:
    case Monoid::Kind::kUser: return plan::Combine::kNone;
  }
  return plan::Combine::kNone;
}

void ComputeLowering::split_reduction(bool always) {
  const bool same = compute_.combine && ir::equal(*compute_.combine, *compute_.monoid) && !locates(*compute_.monoid);
  const bool writes = !compute_.left.empty() || compute_.base || compute_.combine;
  const ir::Scalar scalar = type_.scalar;
  const Expr identity = ir::identity_of(*compute_.monoid, scalar);
  if (!always && same && (compute_.base || ir::equal(fill(), identity))) return;
  const bool filled = compute_.guard && compute_.fill && !ir::equal(compute_.fill, identity);
  if (!writes && !filled) return;
  const Expr guard = compute_.guard;
  // A reduction over nothing by the user monoid that combines leaves the element.
  const bool leaves = same && compute_.monoid->kind == Monoid::Kind::kUser;
  const bool hidden = leaves || (guard && mentions_reduce(guard, compute_.out.size()));
  Compute value = reduction_only();
  Compute rest = compute_;
  rest.reduce.clear();
  rest.monoid.reset();
  if (hidden) {
    Compute hit = value;
    hit.bodies = {ir::constant(ir::Scalar::kBool, true)};
    hit.monoid = Monoid{Monoid::Kind::kAny, {}, {}, {}};
    rest.guard = separately(std::move(hit), ir::Scalar::kBool, "_hit");
  }
  rest.bodies = {separately(std::move(value), scalar, "_value")};
  compute_ = std::move(rest);
}

void ComputeLowering::locate() {
  const bool smallest = compute_.monoid->kind == Monoid::Kind::kArgMin;
  Compute optimum = compute_;
  Expr body = compute_.bodies.front();
  if (body->type == ir::Scalar::kBool) body = ir::cast(ir::Scalar::kI64, body);
  optimum.bodies = {body};
  optimum.fill = {};
  optimum.monoid = Monoid{smallest ? Monoid::Kind::kMin : Monoid::Kind::kMax, {}, {}, {}};
  const Expr best = separately(std::move(optimum), body->type, "_optimum");
  Expr found = ir::binary(ir::BinaryOp::kEq, body, best);
  if (ir::is_float(body->type)) {
    const Expr both = ir::binary(ir::BinaryOp::kAnd, ir::unary(ir::UnaryOp::kIsNan, body), ir::unary(ir::UnaryOp::kIsNan, best));
    found = ir::binary(ir::BinaryOp::kOr, found, both);
  }
  Compute place = compute_;
  place.bodies = {ir::index_ref(static_cast<std::int32_t>(compute_.out.size()))};
  place.guard = place.guard ? ir::binary(ir::BinaryOp::kAnd, place.guard, found) : found;
  place.fill = {};
  place.monoid = Monoid{Monoid::Kind::kMin, {}, {}, {}};
  const Expr label = separately(std::move(place), ir::Scalar::kI64, "_place");
  const Expr none = ir::identity_of(Monoid{Monoid::Kind::kMin, {}, {}, {}}, ir::Scalar::kI64);
  compute_.reduce.clear();
  compute_.monoid.reset();
  compute_.guard = {};
  compute_.bodies = {ir::select(ir::binary(ir::BinaryOp::kEq, label, none), ir::constant_i64(-1), label)};
}

Compute ComputeLowering::reduction_only() const {
  Compute value;
  value.out = compute_.out;
  value.reduce = compute_.reduce;
  value.bodies = compute_.bodies;
  value.guard = compute_.guard;
  value.monoid = compute_.monoid;
  return value;
}

}  // namespace tdsl::codegen
