#include "frontend/lower/builtins.h"
#include "frontend/lower/lowering.h"
#include "frontend/sema/types.h"
#include "ir/graph/check.h"
#include "runtime/types.h"

// Casts to types whose names are no reserved words, and bit operators.

namespace tdsl::frontend {

namespace {

/// A bit operator as programs write it.
std::string_view bit_sign(BinaryOp op) {
  switch (op) {
    case BinaryOp::kBitAnd: return "&";
    case BinaryOp::kBitOr: return "|";
    case BinaryOp::kBitXor: return "^";
    case BinaryOp::kShiftLeft: return "<<";
    default: return ">>";
  }
}

BinaryOp bit_operator(ast::AssignKind kind) {
  if (kind == ast::AssignKind::kBitAnd) return BinaryOp::kBitAnd;
  return kind == ast::AssignKind::kBitOr ? BinaryOp::kBitOr : BinaryOp::kBitXor;
}

[[noreturn]] void fail_without_bits(Reports& reports, const std::string& sign, const std::string& type,
                                    const SourceRange& range) {
  const std::string hint = sign == "^"   ? "; powers are `**`"
                           : sign == "&" ? "; tests are joined by `&&`"
                           : sign == "|" ? "; tests are joined by `||`"
                                         : "";
  reports.fail(DiagnosticId::kTypeMismatch, range,
               "`" + sign + "` is an operator of integers, but this is " + type + hint);
}

}  // namespace

Tensor call_cast(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  const std::string& name = call.callee.name;
  if (lowerer.names.find(name) != nullptr || lowerer.dimensions().contains(name))
    lowerer.reports.fail(DiagnosticId::kUndefinedFunction, call.callee.range,
                         "`" + name + "` is a variable here, which hides the type; rename it to cast to " + name);
  if (call.arguments.size() != 1 || call.arguments.front().name)
    lowerer.reports.fail(DiagnosticId::kNotCallable, range, "a cast takes exactly one value: `" + name + "(x)`");
  const auto type = rt::element_type_named(name);
  TDSL_CHECK(type.has_value(), "casts are calls of types");
  return cast_to(lowerer, *type, lower(lowerer, *call.arguments.front().value), range);
}

void Algebra::require_bits(BinaryOp op, const Tensor& t, const SourceRange& range) {
  if (!ir::is_float(t.scalar()) || t.weak == Weak::kAny) return;
  fail_without_bits(reports_, std::string(bit_sign(op)), graph_.text(t), t.range.known() ? t.range : range);
}

Tensor Algebra::of_bits(UnaryOp op, const Tensor& t, const SourceRange& range) {
  if (ir::is_float(t.scalar()))
    fail_without_bits(reports_, op == UnaryOp::kBitNot ? "~" : "popcount", graph_.text(t), range);
  const bool inverts = op == UnaryOp::kBitNot;
  return elementwise({t}, inverts ? t.weak : Weak::kNo, range, [&](const std::vector<Expr>& e) {
    if (e[0]->type != Scalar::kBool) return ir::unary(op, e[0], range);
    return inverts ? ir::unary(UnaryOp::kNot, e[0], range) : ir::cast(Scalar::kI64, e[0], range);
  });
}

bool is_bitwise(ast::AssignKind kind) {
  return kind == ast::AssignKind::kBitAnd || kind == ast::AssignKind::kBitOr || kind == ast::AssignKind::kBitXor;
}

ir::Monoid bit_monoid(Reports& reports, const ast::AssignOp& op, Scalar type) {
  const BinaryOp combine = bit_operator(op.kind);
  if (ir::is_float(type))
    fail_without_bits(reports, std::string(bit_sign(combine)), std::string(ir::name_of(type)), op.range);
  const bool ones = combine == BinaryOp::kBitAnd;
  const Expr identity =
      type == Scalar::kBool ? ir::constant(type, ones) : ir::constant(type, std::int64_t{ones ? -1 : 0});
  return {ir::Monoid::Kind::kUser, std::string(ir::name_of(combine)), identity,
          ir::binary(combine, ir::argument(type, 0), ir::argument(type, 1))};
}

}  // namespace tdsl::frontend
