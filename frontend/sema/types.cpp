#include "frontend/sema/types.h"

#include "ir/graph/check.h"

namespace tdsl::frontend {

bool have_common_type(Scalar a, Scalar b) {
  return !ir::is_integer(a) || !ir::is_integer(b) || ir::is_integer(ir::promote(a, b));
}

bool widens(Scalar from, Scalar to) { return from == to || ir::promote(from, to) == to; }

namespace {

/// The type that a literal of openness `weak` takes next to an operand of type `other`.
Scalar met(Weak weak, Scalar own, Scalar other) {
  switch (weak) {
    case Weak::kNo: return own;
    case Weak::kInteger: return other == Scalar::kBool ? own : other;
    case Weak::kFloat: return ir::is_float(other) ? other : Scalar::kF64;
    case Weak::kComplex: return ir::is_narrow(other) ? Scalar::kC64 : Scalar::kC128;
    case Weak::kAny: return other;
  }
  TDSL_CHECK(false, "unknown openness");
  return own;
}

}  // namespace

Common common_type(Scalar a, Weak a_weak, Scalar b, Weak b_weak) {
  if (a_weak == Weak::kNo && b_weak == Weak::kNo) return {ir::promote(a, b), Weak::kNo};
  if (b_weak == Weak::kNo) return {ir::promote(met(a_weak, a, b), b), Weak::kNo};
  if (a_weak == Weak::kNo) return {ir::promote(met(b_weak, b, a), a), Weak::kNo};
  if (a_weak == Weak::kComplex || b_weak == Weak::kComplex) return {Scalar::kC128, Weak::kComplex};
  if (a_weak == Weak::kFloat || b_weak == Weak::kFloat) return {Scalar::kF64, Weak::kFloat};
  if (a_weak == Weak::kAny || b_weak == Weak::kAny) return {Scalar::kF64, Weak::kAny};
  const bool large = a == Scalar::kU64 || b == Scalar::kU64;
  return {large ? Scalar::kU64 : Scalar::kI64, Weak::kInteger};
}

Scalar summed_type(Scalar s) { return ir::is_float(s) || s == Scalar::kU64 ? ir::operand_type(s) : Scalar::kI64; }

Expr converted(const Expr& e, Scalar to) {
  if (e->type == to) return e;
  if (const auto* s = std::get_if<ir::Select>(&e->op)) {
    return ir::select(s->condition, converted(s->when_true, to), converted(s->when_false, to), e->range);
  }
  // All other conversions of a float of two bytes begin with f32.
  if (ir::is_half(e->type) && to != Scalar::kF32) return converted(converted(e, Scalar::kF32), to);
  return ir::cast(to, e, e->range);
}

Tensor as_operand(Tensor t) {
  t.body = converted(t.body, ir::operand_type(t.scalar()));
  return t;
}

bool converts(const Tensor& t, Scalar to) {
  switch (t.weak) {
    case Weak::kNo: return widens(t.scalar(), to);
    case Weak::kInteger: return to != Scalar::kBool;
    case Weak::kFloat: return ir::is_float(to);
    case Weak::kComplex: return ir::is_complex(to);
    case Weak::kAny: return true;
  }
  TDSL_CHECK(false, "unknown openness");
  return false;
}

std::string type_text(Scalar scalar, const std::vector<std::string>& extents) {
  std::string text(ir::name_of(scalar));
  for (std::size_t d = 0; d < extents.size(); ++d) text += (d == 0 ? "[" : ", ") + extents[d];
  return extents.empty() ? text : text + "]";
}

}  // namespace tdsl::frontend
