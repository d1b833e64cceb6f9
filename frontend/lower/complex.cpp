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

// Note [Complex matrices as real ones] With a + bi as the block [a, -b; b, a] a complex matrix is a real one of twice
// the size, products are products, and the adjoint is the transpose. So the inverse, solutions and least squares of the
// real matrix are those of the complex one. Its Cholesky and QR factors are unique, and since the blocks of real
// positive numbers on their diagonals are diagonal, they are those of the complex matrix, too. A column of the result
// is every other one of the real form. This costs twice the operations of complex arithmetic.

namespace {

/// Row or column number `at` of the real form: the one of the complex matrix, and whether it is the second of two.
struct Half {
  Expr number;
  Expr is_second;
};
Half half_of(std::int32_t label) {
  const Expr at = ir::index_ref(label), two = ir::constant_i64(2);
  return {ir::binary(BinaryOp::kDiv, at, two),
          ir::binary(BinaryOp::kEq, ir::binary(BinaryOp::kRem, at, two), ir::constant_i64(1))};
}

}  // namespace

Tensor real_form(Lowerer& lowerer, const Tensor& given, bool is_matrix, bool hermitian, std::size_t batch) {
  const Tensor a = lowerer.values.operand(given);
  Tensor form;
  form.range = given.range;
  std::vector<Expr> subscripts;
  std::vector<Half> halves;
  for (std::size_t d = 0; d < a.rank(); ++d) {
    Dim dim = a.shape[d];
    const bool doubled = d == batch || (is_matrix && d > batch);
    if (doubled) dim.extent = dim.extent + dim.extent;
    form.labels.push_back(lowerer.graph.new_label(dim.extent));
    form.shape.push_back(dim);
    if (doubled) halves.push_back(half_of(form.labels.back()));
    subscripts.push_back(doubled ? halves.back().number : ir::index_ref(form.labels.back()));
  }
  const Expr e = element(a, subscripts);
  const Expr re = ir::unary(UnaryOp::kReal, e, given.range);
  Expr im = ir::unary(UnaryOp::kImag, e, given.range);
  if (!is_matrix) {
    form.body = ir::select(halves[0].is_second, im, re, given.range);
    return form;
  }
  if (hermitian) {
    const Expr on_diagonal = ir::binary(BinaryOp::kEq, halves[0].number, halves[1].number);
    im = ir::select(on_diagonal, ir::zero_of(im->type), im, given.range);
  }
  const Expr below = ir::select(halves[1].is_second, re, im, given.range);
  const Expr above = ir::select(halves[1].is_second, ir::unary(UnaryOp::kNeg, im, given.range), re, given.range);
  form.body = ir::select(halves[0].is_second, below, above, given.range);
  return form;
}

Tensor complex_form(Lowerer& lowerer, const Tensor& form, const std::vector<Dim>& shape, bool is_matrix, bool hermitian,
                    std::size_t batch) {
  Tensor z;
  z.range = form.range;
  z.shape = shape;
  std::vector<Expr> first, second;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    z.labels.push_back(lowerer.graph.new_label(shape[d].extent));
    const Expr at = ir::index_ref(z.labels.back());
    const Expr twice = d == batch || (is_matrix && d > batch) ? mul(ir::constant_i64(2), at) : at;
    first.push_back(twice);
    second.push_back(d == batch ? add(twice, ir::constant_i64(1)) : twice);
  }
  Expr im = element(form, second);
  if (hermitian) {
    const Expr on_diagonal =
        ir::binary(BinaryOp::kEq, ir::index_ref(z.labels[batch]), ir::index_ref(z.labels[batch + 1]));
    im = ir::select(on_diagonal, ir::zero_of(im->type), im, form.range);
  }
  z.body = ir::binary(BinaryOp::kComplex, element(form, first), im, form.range);
  return z;
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
