#include "frontend/lower/builtins.h"
#include "frontend/lower/lowering.h"
#include "frontend/sema/types.h"
#include "ir/graph/expr_build.h"

// Complex numbers from their parts, and parts of reals.

namespace tdsl::frontend {

void require_ordered(Reports& reports, const std::string& what, Scalar type, const SourceRange& range) {
  if (!ir::is_complex(type)) return;
  reports.fail(
      DiagnosticId::kTypeMismatch, range,
      what + " is not defined on complex numbers, which have no order; take reals, such as abs(z) and real(z)");
}

Tensor Algebra::complex_number(const Tensor& re, const Tensor& im, const SourceRange& range) {
  const Common common = common_type(re.scalar(), re.weak, im.scalar(), im.weak);
  for (const Tensor& part : {re, im}) {
    if (ir::is_complex(part.scalar()))
      reports_.fail(DiagnosticId::kTypeMismatch, part.range,
                    "the parts of a complex number are real, but this is " + graph_.text(part));
  }
  const Scalar type = ir::is_real(common.type) ? common.type : Scalar::kF64;
  return elementwise({re, im}, common.weak == Weak::kNo ? Weak::kNo : Weak::kComplex, range,
                     [&](const std::vector<Expr>& e) {
                       return ir::binary(BinaryOp::kComplex, converted(e[0], type), converted(e[1], type), range);
                     });
}

Tensor Algebra::real_part(UnaryOp op, const Tensor& t, const SourceRange& range) {
  const Scalar type = t.scalar() == Scalar::kBool ? Scalar::kI64 : t.scalar();
  if (op == UnaryOp::kArg) {
    const Tensor zero = scalar_tensor(ir::constant(Scalar::kF64, 0.0, range), Weak::kFloat);
    return float_function(BinaryOp::kAtan2, zero, t, range);
  }
  return elementwise({t}, t.weak, range, [&](const std::vector<Expr>& e) {
    return op == UnaryOp::kImag ? ir::zero_of(type) : converted(e[0], type);
  });
}

Expr squared_abs(const Expr& e, const SourceRange& range) {
  if (!ir::is_complex(e->type)) return mul(e, e);
  const auto square = [&](const Expr& x) { return ir::binary(BinaryOp::kMul, x, x, range); };
  return ir::binary(BinaryOp::kAdd, square(ir::unary(UnaryOp::kReal, e, range)),
                    square(ir::unary(UnaryOp::kImag, e, range)), range);
}

/// `c128(re, im)`, `c64(re, im)`.
Tensor call_complex(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  const std::vector<Tensor> args = positional(lowerer, call, 2, 2, range);
  Tensor z = lowerer.algebra.complex_number(args[0], args[1], range);
  const Scalar type = call.callee.name == "c64" ? Scalar::kC64 : Scalar::kC128;
  z.body = converted(z.body, type);
  z.weak = Weak::kNo;
  return z;
}

/// `polar(r, t)`: r (cos t + i sin t).
Tensor call_polar(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  const std::vector<Tensor> args = positional(lowerer, call, 2, 2, range);
  Algebra& algebra = lowerer.algebra;
  const auto part = [&](UnaryOp op) {
    require_ordered(lowerer.reports, "`polar`", args[0].scalar(), args[0].range);
    require_ordered(lowerer.reports, "`polar`", args[1].scalar(), args[1].range);
    return algebra.arithmetic(BinaryOp::kMul, args[0], algebra.apply_unary(op, args[1], range), range);
  };
  return algebra.complex_number(part(UnaryOp::kCos), part(UnaryOp::kSin), range);
}

}  // namespace tdsl::frontend
