#include "frontend/lower/lowering.h"

#include "frontend/sema/types.h"
#include "ir/graph/check.h"

namespace tdsl::frontend {

using ir::match;

namespace {

BinaryOp ir_op(ast::BinaryOp op) {
  switch (op) {
    case ast::BinaryOp::kAdd: return BinaryOp::kAdd;
    case ast::BinaryOp::kSub: return BinaryOp::kSub;
    case ast::BinaryOp::kMul: return BinaryOp::kMul;
    case ast::BinaryOp::kDiv: return BinaryOp::kDiv;
    case ast::BinaryOp::kMod: return BinaryOp::kRem;
    case ast::BinaryOp::kPow: return BinaryOp::kPow;
    case ast::BinaryOp::kBitAnd: return BinaryOp::kBitAnd;
    case ast::BinaryOp::kBitOr: return BinaryOp::kBitOr;
    case ast::BinaryOp::kBitXor: return BinaryOp::kBitXor;
    case ast::BinaryOp::kShiftLeft: return BinaryOp::kShiftLeft;
    case ast::BinaryOp::kShiftRight: return BinaryOp::kShiftRight;
    case ast::BinaryOp::kEq: return BinaryOp::kEq;
    case ast::BinaryOp::kNe: return BinaryOp::kNe;
    case ast::BinaryOp::kLt: return BinaryOp::kLt;
    case ast::BinaryOp::kLe: return BinaryOp::kLe;
    case ast::BinaryOp::kGt: return BinaryOp::kGt;
    case ast::BinaryOp::kGe: return BinaryOp::kGe;
    case ast::BinaryOp::kAnd: return BinaryOp::kAnd;
    case ast::BinaryOp::kOr: return BinaryOp::kOr;
    case ast::BinaryOp::kMatMul: break;
  }
  TDSL_CHECK(false, "@ is not an element-wise operator");
  return BinaryOp::kAdd;
}

}  // namespace

Tensor lower(Lowerer& lowerer, const ast::Expr& e) {
  Tensor t = lower_plain(lowerer, e);
  lowerer.values.require_not_padded(t);
  return t;
}

namespace {

Tensor lower_unary(Lowerer& lowerer, const ast::Unary& u, const SourceRange& range) {
  const Tensor t = lower(lowerer, *u.operand);
  if (u.op == ast::UnaryOp::kNegate) return lowerer.algebra.apply_unary(UnaryOp::kNeg, t, range);
  if (u.op == ast::UnaryOp::kInvert) return lowerer.algebra.apply_unary(UnaryOp::kBitNot, t, range);
  if (t.scalar() != Scalar::kBool) {
    lowerer.reports.fail(DiagnosticId::kTypeMismatch, range,
                         "! needs a bool, but this is " + lowerer.graph.text(t) + "; compare it: x == 0");
  }
  return lowerer.algebra.elementwise({t}, Weak::kNo, range,
                                     [&](const std::vector<Expr>& e) { return ir::unary(UnaryOp::kNot, e[0], range); });
}

Tensor lower_logical(Lowerer& lowerer, const ast::Binary& b, const SourceRange& range) {
  const Tensor left = lower(lowerer, *b.lhs);
  const bool conjunction = b.op == ast::BinaryOp::kAnd;
  const auto require_bool = [&](const Tensor& t) {
    if (t.scalar() == Scalar::kBool) return;
    lowerer.reports.fail(DiagnosticId::kTypeMismatch, t.range,
                         std::string(conjunction ? "&&" : "||") + " needs bools, but this is " + lowerer.graph.text(t) +
                             "; compare it: x != 0");
  };
  require_bool(left);
  const bool protects = left.rank() == 0;
  if (protects) lowerer.guards.add(conjunction ? left.body : ir::unary(UnaryOp::kNot, left.body));
  const Tensor right = lower(lowerer, *b.rhs);
  if (protects) lowerer.guards.drop();
  require_bool(right);
  return lowerer.algebra.elementwise({left, right}, Weak::kNo, range, [&](const std::vector<Expr>& e) {
    return ir::binary(ir_op(b.op), e[0], e[1], range);
  });
}

Tensor lower_binary(Lowerer& lowerer, const ast::Binary& b, const SourceRange& range) {
  if (b.op == ast::BinaryOp::kAnd || b.op == ast::BinaryOp::kOr) return lower_logical(lowerer, b, range);
  const Tensor left = lower(lowerer, *b.lhs);
  const Tensor right = lower(lowerer, *b.rhs);
  if (b.op == ast::BinaryOp::kMatMul) return lowerer.algebra.matmul(left, right, range);
  if (b.op == ast::BinaryOp::kPow) return lowerer.algebra.power(left, right, range);
  return lowerer.algebra.arithmetic(ir_op(b.op), left, right, range);
}

Tensor lower_conditional(Lowerer& lowerer, const ast::Conditional& c, const SourceRange& range) {
  if (const auto known = decided(lowerer, *c.condition)) return lower(lowerer, *known ? *c.then_value : *c.else_value);
  const Expr test = condition(lowerer, *c.condition, "if");
  lowerer.guards.add(test);
  const Tensor when_true = lower(lowerer, *c.then_value);
  lowerer.guards.drop();
  lowerer.guards.add(ir::unary(UnaryOp::kNot, test));
  const Tensor when_false = lower(lowerer, *c.else_value);
  lowerer.guards.drop();
  return lowerer.algebra.choice(scalar_tensor(test), when_true, when_false, range);
}

Tensor imaginary(double value, const SourceRange& range) {
  const auto part = [&](double x) { return ir::constant(Scalar::kF64, x, range); };
  return scalar_tensor(ir::binary(BinaryOp::kComplex, part(0.0), part(value), range), Weak::kComplex);
}

/// `A'`, the conjugate transpose.
Tensor adjoint(Lowerer& lowerer, const Tensor& t, const SourceRange& range) {
  Tensor result = lowerer.algebra.swapped(t);
  if (ir::is_complex(result.scalar())) result.body = ir::unary(UnaryOp::kConj, result.body, range);
  return result;
}

Tensor lower_cast(Lowerer& lowerer, const ast::Cast& c, const SourceRange& range) {
  return cast_to(lowerer, element_type(lowerer, c.type, c.parameter), lower(lowerer, *c.operand), range);
}

}  // namespace

Tensor cast_to(Lowerer& lowerer, Scalar type, const Tensor& operand, const SourceRange& range) {
  if (ir::is_complex(operand.scalar()) && !ir::is_complex(type))
    lowerer.reports.fail(DiagnosticId::kNarrowing, range,
                         "a complex number does not become " + std::string(ir::name_of(type)) +
                             (type == Scalar::kBool ? "; compare it: z != 0" : "; its real part is real(z)"));
  // Sparse tensors do not hold floats of two bytes.
  const bool becomes_dense = ir::is_half(type) && lowerer.graph.has_sparse();
  return lowerer.algebra.elementwise({operand}, Weak::kNo, range, [&](const std::vector<Expr>& e) {
    const Expr result = converted(e[0], type);
    return becomes_dense ? ir::unary(UnaryOp::kDense, result, range) : result;
  });
}

Tensor lower_plain(Lowerer& lowerer, const ast::Expr& e) {
  const SourceRange& range = e.range;
  Tensor t = match(
      e.node,
      [&](const ast::IntegerLiteral& i) {
        const Scalar type = i.beyond_i64 ? Scalar::kU64 : Scalar::kI64;
        return scalar_tensor(ir::constant(type, i.value, range), Weak::kInteger);
      },
      [&](const ast::FloatLiteral& f) {
        if (f.imaginary) return imaginary(f.value, range);
        return scalar_tensor(ir::constant(Scalar::kF64, f.value, range), Weak::kFloat);
      },
      [&](const ast::BoolLiteral& b) { return scalar_tensor(ir::constant(Scalar::kBool, b.value, range)); },
      [&](const ast::StringLiteral&) -> Tensor {
        lowerer.reports.fail(DiagnosticId::kTypeMismatch, range,
                             "a string stands in print, assert, einsum, import and extern only");
      },
      [&](const ast::Name& n) { return lower_name(lowerer, n.name, range, false); },
      [&](const ast::Unary& u) { return lower_unary(lowerer, u, range); },
      [&](const ast::Binary& b) { return lower_binary(lowerer, b, range); },
      [&](const ast::Transpose& x) { return adjoint(lowerer, lower(lowerer, *x.operand), range); },
      [&](const ast::Conditional& c) { return lower_conditional(lowerer, c, range); },
      [&](const ast::Cast& c) { return lower_cast(lowerer, c, range); },
      [&](const ast::Call& c) { return lower_call(lowerer, c, range); },
      [&](const ast::Tuple&) -> Tensor {
        lowerer.reports.fail(DiagnosticId::kMisplacedTuple, range,
                             "a tuple stands in return, let (a, b) = and (a, b) = only");
      },
      [&](const ast::Lambda&) -> Tensor {
        lowerer.reports.fail(DiagnosticId::kTypeMismatch, range,
                             "a lambda is the argument of a parameter of function type, or its default, only");
      },
      [&](const ast::Subscript& s) { return lower_subscript(lowerer, s, range); },
      [&](const ast::Reduction& r) { return lower_reduction(lowerer, r, range); },
      [&](const ast::ArrayLiteral& a) { return lower_array(lowerer, a, range); });
  constexpr std::size_t kMaxOperations = 50'000;
  if (operations_of(t.body, kMaxOperations + 1) > kMaxOperations) {
    lowerer.reports.fail(
        DiagnosticId::kNestingTooDeep, range,
        "this grows beyond " + std::to_string(kMaxOperations) +
            " operations when functions and their names are put in place; compute a part of it with `let` outside");
  }
  t.range = range;
  return t;
}

Expr integer_scalar(Lowerer& lowerer, const ast::Expr& e, const std::string& what) {
  const Tensor t = lower(lowerer, e);
  if (t.rank() != 0)
    lowerer.reports.fail(DiagnosticId::kNotScalar, e.range,
                         what + " needs an integer scalar, but this is " + lowerer.graph.text(t));
  if (!ir::is_integer(t.scalar())) {
    lowerer.reports.fail(
        DiagnosticId::kTypeMismatch, e.range,
        what + " needs an integer, but this is " + std::string(ir::name_of(t.scalar())) + "; write i64(…)");
  }
  return ir::cast(Scalar::kI64, t.body, t.body->range);
}

Expr condition(Lowerer& lowerer, const ast::Expr& e, const std::string& what) {
  const Tensor t = lower(lowerer, e);
  if (t.rank() != 0) {
    lowerer.reports.fail(
        DiagnosticId::kNotScalar, e.range,
        what + " needs a scalar, but this is " + lowerer.graph.text(t) + "; use any(…), all(…) or where(c, a, b)");
  }
  if (t.scalar() != Scalar::kBool) {
    lowerer.reports.fail(
        DiagnosticId::kTypeMismatch, e.range,
        what + " needs a bool, but this is " + std::string(ir::name_of(t.scalar())) + "; compare it: x != 0");
  }
  return t.body;
}

ValueId condition_value(Lowerer& lowerer, const ast::Expr& e, const std::string& what) {
  return lowerer.values.materialise(scalar_tensor(condition(lowerer, e, what)), lowerer.reports.source_text(e.range),
                                    e.range);
}

}  // namespace tdsl::frontend
