#include <algorithm>

#include "frontend/lower/lowerer.h"
#include "ir/graph/check.h"

namespace tdsl::frontend {

using ir::BinaryOp;
using ir::Expr;
using ir::match;
using ir::Scalar;
using ir::UnaryOp;

namespace {

BinaryOp ir_op(ast::BinaryOp op) {
  switch (op) {
    case ast::BinaryOp::kAdd: return BinaryOp::kAdd;
    case ast::BinaryOp::kSub: return BinaryOp::kSub;
    case ast::BinaryOp::kMul: return BinaryOp::kMul;
    case ast::BinaryOp::kDiv: return BinaryOp::kDiv;
    case ast::BinaryOp::kMod: return BinaryOp::kRem;
    case ast::BinaryOp::kPow: return BinaryOp::kPow;
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

Tensor Lowerer::lower(const ast::Expr& e) {
  Tensor t = lower_plain(e);
  values_.require_not_padded(t);
  return t;
}

Tensor Lowerer::lower_plain(const ast::Expr& e) {
  const SourceRange& range = e.range;
  Tensor t = match(
      e.node,
      [&](const ast::IntegerLiteral& i) { return scalar_tensor(ir::constant_i64(i.value, range), Weak::kInteger); },
      [&](const ast::FloatLiteral& f) {
        return scalar_tensor(ir::constant(Scalar::kF64, f.value, range), Weak::kFloat);
      },
      [&](const ast::BoolLiteral& b) { return scalar_tensor(ir::constant(Scalar::kBool, b.value, range)); },
      [&](const ast::StringLiteral&) -> Tensor {
        reports_.fail(DiagnosticId::kTypeMismatch, range,
                      "a string stands in print, assert, einsum, import and extern only");
      },
      [&](const ast::Name& n) { return lower_name(n.name, range, false); },
      [&](const ast::Unary& u) { return lower_unary(u, range); },
      [&](const ast::Binary& b) { return lower_binary(b, range); },
      [&](const ast::Transpose& x) { return transpose(lower(*x.operand), range); },
      [&](const ast::Conditional& c) { return lower_conditional(c, range); },
      [&](const ast::Cast& c) { return lower_cast(c, range); },
      [&](const ast::Call& c) { return lower_call(c, range); },
      [&](const ast::Tuple&) -> Tensor {
        reports_.fail(DiagnosticId::kMisplacedTuple, range, "a tuple stands in return, let (a, b) = and (a, b) = only");
      },
      [&](const ast::Subscript& s) { return lower_subscript(s, range); },
      [&](const ast::Reduction& r) { return lower_reduction(r, range); });
  constexpr std::size_t kMaxOperations = 50'000;
  if (operations_of(t.body, kMaxOperations + 1) > kMaxOperations) {
    reports_.fail(
        DiagnosticId::kNestingTooDeep, range,
        "this grows beyond " + std::to_string(kMaxOperations) +
            " operations when functions and their names are put in place; compute a part of it with `let` outside");
  }
  t.range = range;
  return t;
}

Tensor Lowerer::lower_unary(const ast::Unary& u, const SourceRange& range) {
  const Tensor t = lower(*u.operand);
  if (u.op == ast::UnaryOp::kNegate) return apply_unary(UnaryOp::kNeg, false, t, range);
  if (t.scalar() != Scalar::kBool) {
    reports_.fail(DiagnosticId::kTypeMismatch, range,
                  "! needs a bool, but this is " + graph_.text(t) + "; compare it: x == 0");
  }
  return elementwise({t}, Weak::kNo, range,
                     [&](const std::vector<Expr>& e) { return ir::unary(UnaryOp::kNot, e[0], range); });
}

Tensor Lowerer::apply_unary(UnaryOp op, bool needs_float, const Tensor& t, const SourceRange& range) {
  Scalar type = t.scalar() == Scalar::kBool ? Scalar::kI64 : t.scalar();
  Weak weak = t.weak;
  if (needs_float && !ir::is_float(type)) {
    type = Scalar::kF64;
    if (weak == Weak::kInteger) weak = Weak::kFloat;
  }
  if (needs_float && weak == Weak::kAny) weak = Weak::kFloat;
  const bool test = op == UnaryOp::kIsNan || op == UnaryOp::kIsInf;
  return elementwise({t}, test ? Weak::kNo : weak, range,
                     [&](const std::vector<Expr>& e) { return ir::unary(op, converted(e[0], type), range); });
}

Tensor Lowerer::lower_binary(const ast::Binary& b, const SourceRange& range) {
  if (b.op == ast::BinaryOp::kAnd || b.op == ast::BinaryOp::kOr) return lower_logical(b, range);
  const Tensor left = lower(*b.lhs);
  const Tensor right = lower(*b.rhs);
  if (b.op == ast::BinaryOp::kMatMul) return matmul(left, right, range);
  if (b.op == ast::BinaryOp::kPow) return power(left, right, range);
  return arithmetic(ir_op(b.op), left, right, range);
}

Tensor Lowerer::lower_logical(const ast::Binary& b, const SourceRange& range) {
  const Tensor left = lower(*b.lhs);
  const bool conjunction = b.op == ast::BinaryOp::kAnd;
  const auto require_bool = [&](const Tensor& t) {
    if (t.scalar() == Scalar::kBool) return;
    reports_.fail(DiagnosticId::kTypeMismatch, t.range,
                  std::string(conjunction ? "&&" : "||") + " needs bools, but this is " + graph_.text(t) +
                      "; compare it: x != 0");
  };
  require_bool(left);
  const bool protects = left.rank() == 0;
  if (protects) guards_.add(conjunction ? left.body : ir::unary(UnaryOp::kNot, left.body));
  const Tensor right = lower(*b.rhs);
  if (protects) guards_.drop();
  require_bool(right);
  return elementwise({left, right}, Weak::kNo, range,
                     [&](const std::vector<Expr>& e) { return ir::binary(ir_op(b.op), e[0], e[1], range); });
}

Tensor Lowerer::lower_conditional(const ast::Conditional& c, const SourceRange& range) {
  const Expr test = condition(*c.condition, "if");
  guards_.add(test);
  const Tensor when_true = lower(*c.then_value);
  guards_.drop();
  guards_.add(ir::unary(UnaryOp::kNot, test));
  const Tensor when_false = lower(*c.else_value);
  guards_.drop();
  return choice(scalar_tensor(test), when_true, when_false, range);
}

Tensor Lowerer::choice(const Tensor& c, const Tensor& a, const Tensor& b, const SourceRange& range) {
  const Common common = common_type(a.scalar(), a.weak, b.scalar(), b.weak);
  return elementwise({c, a, b}, common.weak, range, [&](const std::vector<Expr>& e) {
    return ir::select(e[0], converted(e[1], common.type), converted(e[2], common.type), range);
  });
}

Tensor Lowerer::lower_cast(const ast::Cast& c, const SourceRange& range) {
  const Scalar type = reports_.scalar_of(c.type, range);
  return elementwise({lower(*c.operand)}, Weak::kNo, range,
                     [&](const std::vector<Expr>& e) { return converted(e[0], type); });
}

Tensor Lowerer::arithmetic(BinaryOp op, const Tensor& a, const Tensor& b, const SourceRange& range) {
  Common common = common_type(a.scalar(), a.weak, b.scalar(), b.weak);
  values_.require_fits(a, common.type, a.range);
  values_.require_fits(b, common.type, b.range);
  if (ir::is_comparison(op)) {
    common.weak = Weak::kNo;
  } else if (common.type == Scalar::kBool) {
    common.type = Scalar::kI64;
  }
  const auto make = [&](const std::vector<Expr>& e) {
    return ir::binary(op, converted(e[0], common.type), converted(e[1], common.type), range);
  };
  // `x' * A` of other languages: sizes that a matrix product wants.
  const bool multiplies = op == BinaryOp::kMul && a.rank() > 0 && b.rank() > 0 && a.rank() + b.rank() > 2 &&
                          a.shape.back().extent == b.shape[b.rank() > 1 ? b.rank() - 2 : 0].extent;
  return elementwise(
      {a, b}, common.weak, range, make,
      multiplies ? "; `*` works element by element, and the product of matrices and vectors is `@`" : "");
}

Tensor Lowerer::power(const Tensor& a, const Tensor& b, const SourceRange& range) {
  const bool whole_exponent = ir::is_integer(b.scalar()) && (b.weak == Weak::kNo || b.weak == Weak::kInteger);
  if (!ir::is_float(a.scalar()) || !whole_exponent) return arithmetic(BinaryOp::kPow, a, b, range);
  const Common common = common_type(a.scalar(), a.weak, b.scalar(), b.weak);
  return elementwise({a, b}, a.weak == Weak::kAny ? Weak::kFloat : common.weak, range, [&](const std::vector<Expr>& e) {
    return ir::binary(BinaryOp::kPow, converted(e[0], common.type), converted(e[1], Scalar::kI64), range);
  });
}

Tensor Lowerer::transpose(const Tensor& t, const SourceRange& range) {
  if (t.rank() > 2) {
    reports_.fail(DiagnosticId::kRankMismatch, range,
                  "only a matrix can be transposed without an order of dimensions, but this is " + graph_.text(t) +
                      "; write transpose(A, 0, 2, 1)");
  }
  Tensor result = t;
  std::reverse(result.labels.begin(), result.labels.end());
  std::reverse(result.shape.begin(), result.shape.end());
  return result;
}

Tensor Lowerer::elementwise(const std::vector<Tensor>& args, Weak weak, const SourceRange& range,
                            const std::function<Expr(const std::vector<Expr>&)>& make, const std::string& hint) {
  Tensor result;
  result.range = range;
  result.weak = weak;
  for (const Tensor& a : args) {
    if (a.rank() > result.rank()) {
      result.labels = a.labels;
      result.shape = a.shape;
    }
  }
  const std::size_t rank = result.rank();
  for (const Tensor& a : args) {
    values_.require_not_padded(a);
    for (std::size_t d = 0; d < a.rank(); ++d) {
      Dim& dim = result.shape[rank - a.rank() + d];
      dim = shapes_.broadcast(dim, a.shape[d], range, "in dimension " + std::to_string(rank - a.rank() + d), hint);
    }
  }
  std::vector<Expr> elements;
  for (const Tensor& a : args) {
    std::vector<Expr> subscripts;
    for (std::size_t d = 0; d < a.rank(); ++d) {
      const std::size_t at = rank - a.rank() + d;
      const bool stretches = a.shape[d].extent.constant() == 1 && !(result.shape[at].extent == a.shape[d].extent);
      subscripts.push_back(stretches ? ir::constant_i64(0) : ir::index_ref(result.labels[at]));
    }
    elements.push_back(element(a, subscripts));
  }
  result.body = make(elements);
  return result;
}

Expr Lowerer::integer_scalar(const ast::Expr& e, const std::string& what) {
  const Tensor t = lower(e);
  if (t.rank() != 0)
    reports_.fail(DiagnosticId::kNotScalar, e.range, what + " needs an integer scalar, but this is " + graph_.text(t));
  if (!ir::is_integer(t.scalar())) {
    reports_.fail(DiagnosticId::kTypeMismatch, e.range,
                  what + " needs an integer, but this is " + std::string(ir::name_of(t.scalar())) + "; write i64(…)");
  }
  return ir::cast(Scalar::kI64, t.body, t.body->range);
}

Expr Lowerer::condition(const ast::Expr& e, const std::string& what) {
  const Tensor t = lower(e);
  if (t.rank() != 0) {
    reports_.fail(DiagnosticId::kNotScalar, e.range,
                  what + " needs a scalar, but this is " + graph_.text(t) + "; use any(…), all(…) or where(c, a, b)");
  }
  if (t.scalar() != Scalar::kBool) {
    reports_.fail(DiagnosticId::kTypeMismatch, e.range,
                  what + " needs a bool, but this is " + std::string(ir::name_of(t.scalar())) + "; compare it: x != 0");
  }
  return t.body;
}

ValueId Lowerer::condition_value(const ast::Expr& e, const std::string& what) {
  return values_.materialise(scalar_tensor(condition(e, what)), reports_.source_text(e.range), e.range);
}

}  // namespace tdsl::frontend
