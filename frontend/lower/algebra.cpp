#include "frontend/lower/algebra.h"

#include <algorithm>
#include <set>

#include "frontend/sema/types.h"
#include "ir/analysis/diagonal.h"
#include "ir/analysis/support.h"
#include "ir/graph/expr_build.h"

namespace tdsl::frontend {

namespace {

/// The operator as programs write it.
std::string_view spelling(BinaryOp op) {
  switch (op) {
    case BinaryOp::kLt: return "<";
    case BinaryOp::kLe: return "<=";
    case BinaryOp::kGt: return ">";
    case BinaryOp::kGe: return ">=";
    case BinaryOp::kRem: return "%";
    default: return ir::name_of(op);
  }
}

/// True if the function converts integers to float.
bool needs_float(UnaryOp op) {
  static const std::set<UnaryOp> of_integers = {UnaryOp::kNeg,   UnaryOp::kAbs,  UnaryOp::kFloor, UnaryOp::kCeil,
                                                UnaryOp::kTrunc, UnaryOp::kSign, UnaryOp::kRound, UnaryOp::kRelu};
  return !of_integers.contains(op);
}

/// `f` of a marked diagonal, applied to its value on the diagonal; f(0) is 0.
template <class F>
Expr on_diagonal(const Expr& marked, const F& f) {
  const auto* u = std::get_if<ir::Unary>(&marked->op);
  const auto* s = u == nullptr || u->op != UnaryOp::kSparse ? nullptr : std::get_if<ir::Select>(&u->operand->op);
  if (s == nullptr || !ir::is_zero(s->when_false)) return f(marked);
  const Expr value = f(s->when_true);
  return ir::unary(UnaryOp::kSparse, ir::select(s->condition, value, ir::zero_of(value->type), u->operand->range),
                   marked->range);
}

/// The expression with its diagonals marked `sparse` if they make it carry absence; null if it has other terms.
Expr with_sparse_diagonals(const Expr& e) {
  if (ir::diagonal_of(e)) return ir::unary(UnaryOp::kSparse, e, e->range);
  if (const auto* u = std::get_if<ir::Unary>(&e->op)) {
    const Expr of = u->op == UnaryOp::kNeg ? with_sparse_diagonals(u->operand) : Expr();
    return of ? on_diagonal(of, [&](const Expr& x) { return ir::unary(u->op, x, e->range); }) : Expr();
  }
  if (const auto* c = std::get_if<ir::Cast>(&e->op)) {
    const Expr of = with_sparse_diagonals(c->operand);
    return of ? on_diagonal(of, [&](const Expr& x) { return ir::cast(e->type, x, e->range); }) : Expr();
  }
  const auto* b = std::get_if<ir::Binary>(&e->op);
  if (b == nullptr) return {};
  const auto with = [&](const Expr& left, const Expr& right) { return ir::binary(b->op, left, right, e->range); };
  const bool adds = b->op == BinaryOp::kAdd || b->op == BinaryOp::kSub;
  if (!adds && b->op != BinaryOp::kMul && b->op != BinaryOp::kDiv) return {};
  // The last term of a long sum first.
  const Expr right = b->op == BinaryOp::kDiv ? Expr() : with_sparse_diagonals(b->right);
  if (adds && !right) return {};
  if (!adds && right) {
    // `2 * eye(n)`, which is converted to the other operand's type.
    if (literal_of(b->left) != nullptr) return on_diagonal(right, [&](const Expr& x) { return with(b->left, x); });
    return with(b->left, right);
  }
  const Expr left = with_sparse_diagonals(b->left);
  return left ? with(left, adds ? right : b->right) : Expr();
}

/// The vector v if the matrix is `diag(v)`, or `eye(n)`.
std::optional<Tensor> diagonal_vector(const Tensor& t) {
  if (t.rank() != 2 || t.padded || !(t.shape[0].extent == t.shape[1].extent)) return std::nullopt;
  const auto* s = std::get_if<ir::Select>(&t.body->op);
  const auto* equal = s == nullptr ? nullptr : std::get_if<ir::Binary>(&s->condition->op);
  if (equal == nullptr || equal->op != BinaryOp::kEq || !ir::is_zero(s->when_false)) return std::nullopt;
  const auto are = [&](std::size_t left, std::size_t right) {
    return ir::is_label(equal->left, t.labels[left]) && ir::is_label(equal->right, t.labels[right]);
  };
  if (!are(0, 1) && !are(1, 0)) return std::nullopt;
  Tensor vector = t;
  vector.labels.pop_back();
  vector.shape.pop_back();
  vector.body = substitute(s->when_true, {{t.labels[1], ir::index_ref(t.labels[0])}});
  return vector;
}

}  // namespace

Tensor Algebra::elementwise(const std::vector<Tensor>& args, Weak weak, const SourceRange& range,
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

Tensor Algebra::arithmetic(BinaryOp op, const Tensor& left, const Tensor& right, const SourceRange& range) {
  const Tensor a = as_operand(left);
  const Tensor b = as_operand(right);
  if (ir::is_bitwise(op)) {
    for (const Tensor* t : {&a, &b}) require_bits(op, *t, range);
  }
  Common common = values_.common_type(a, b, range);
  if (ir::is_bitwise(op) && ir::is_float(common.type)) {
    // `zeros(n) | ones(n)`, with no operand that has a type.
    common = {Scalar::kI64, Weak::kNo};
  }
  if (!ir::result_type(op, common.type, common.type))
    require_ordered(reports_, "`" + std::string(spelling(op)) + "`", common.type, range);
  values_.require_fits(a, common.type, a.range);
  values_.require_fits(b, common.type, b.range);
  if (ir::is_comparison(op)) {
    common.weak = Weak::kNo;
  } else if (common.type == Scalar::kBool && !ir::result_type(op, Scalar::kBool, Scalar::kBool)) {
    common.type = Scalar::kI64;
  }
  const bool adds = op == BinaryOp::kAdd || op == BinaryOp::kSub;
  const auto make = [&](const std::vector<Expr>& e) {
    Expr x = converted(e[0], common.type);
    Expr y = converted(e[1], common.type);
    if (adds && graph_.has_sparse()) meet(x, y);
    return ir::binary(op, x, y, range);
  };
  // `x' * A` as in other languages: the sizes fit a matrix product.
  const bool multiplies = op == BinaryOp::kMul && a.rank() > 0 && b.rank() > 0 && a.rank() + b.rank() > 2 &&
                          a.shape.back().extent == b.shape[b.rank() > 1 ? b.rank() - 2 : 0].extent;
  return elementwise(
      {a, b}, common.weak, range, make,
      multiplies ? "; `*` works element by element, and the product of matrices and vectors is `@`" : "");
}

// Note [Diagonals beside sparse operands]
// `eye(n)` and `diag(v)` take the storage that they meet in sums and differences: beside an operand that carries
// absence they carry it, too, so that `eye(n) + A` has the storage of A. Any conditional expression that is 0 off a
// diagonal does, with any factor: `A - dt * diag(v)`, `(if i == j then d[i] else 0.0) - A[i, j]`. In a product of
// matrices a diagonal matrix is a scaling, so that its zeros meet no elements of the other operand.

void Algebra::meet(Expr& a, Expr& b) const {
  ir::SupportFinder finder(graph_.program(), ir::Products::kImplied);
  const auto carries = [&](const Expr& e) { return ir::carries_absence(finder.of(e)); };
  const auto mark = [&](Expr& e, const Expr& other) {
    const Expr marked = with_sparse_diagonals(e);
    if (marked && carries(other) && !carries(e)) e = marked;
  };
  mark(a, b);
  mark(b, a);
}

std::optional<Tensor> Algebra::scaling(const Tensor& a, const Tensor& b, const SourceRange& range) {
  if (a.rank() > 2 || b.rank() > 2) return std::nullopt;
  const std::optional<Tensor> columns = diagonal_vector(b);
  std::optional<Tensor> rows = columns ? std::nullopt : diagonal_vector(a);
  if (!columns && !rows) return std::nullopt;
  shapes_.agree(a.shape.back(), b.shape[0], range, "in this product");
  if (columns) return arithmetic(BinaryOp::kMul, a, *columns, range);
  if (b.rank() == 2) {
    rows->labels.push_back(graph_.new_label());
    rows->shape.push_back({1, "a column", range});
  }
  return arithmetic(BinaryOp::kMul, b, *rows, range);
}

Tensor Algebra::power(const Tensor& base, const Tensor& b, const SourceRange& range) {
  const Tensor a = as_operand(base);
  const bool whole_exponent = ir::is_integer(b.scalar()) && (b.weak == Weak::kNo || b.weak == Weak::kInteger);
  if (!ir::is_float(a.scalar()) || !whole_exponent) return arithmetic(BinaryOp::kPow, a, b, range);
  const Common common = common_type(a.scalar(), a.weak, b.scalar(), b.weak);
  return elementwise({a, b}, a.weak == Weak::kAny ? Weak::kFloat : common.weak, range, [&](const std::vector<Expr>& e) {
    return ir::binary(BinaryOp::kPow, converted(e[0], common.type), converted(e[1], Scalar::kI64), range);
  });
}

Tensor Algebra::choice(const Tensor& c, const Tensor& a, const Tensor& b, const SourceRange& range) {
  const Common common = values_.common_type(a, b, range);
  for (const Tensor* t : {&a, &b}) values_.require_fits(*t, common.type, t->range);
  return elementwise({c, a, b}, common.weak, range, [&](const std::vector<Expr>& e) {
    return ir::select(e[0], converted(e[1], common.type), converted(e[2], common.type), range);
  });
}

Tensor Algebra::apply_unary(UnaryOp op, const Tensor& operand, const SourceRange& range) {
  const Tensor t = as_operand(operand);
  if (ir::is_part(op) && !ir::is_complex(t.scalar())) return real_part(op, t, range);
  if (op == UnaryOp::kBitNot || op == UnaryOp::kPopcount) return of_bits(op, t, range);
  if (!ir::result_type(op, t.scalar()))
    require_ordered(reports_, "`" + std::string(ir::name_of(op)) + "`", t.scalar(), range);
  Scalar type = t.scalar() == Scalar::kBool ? Scalar::kI64 : t.scalar();
  Weak weak = t.weak;
  if (needs_float(op) && !ir::is_float(type)) {
    type = Scalar::kF64;
    if (weak == Weak::kInteger) weak = Weak::kFloat;
  }
  if (needs_float(op) && weak == Weak::kAny) weak = Weak::kFloat;
  if (weak == Weak::kComplex && !ir::is_complex(ir::result_type(op, type).value_or(type))) weak = Weak::kFloat;
  const bool test = op == UnaryOp::kIsNan || op == UnaryOp::kIsInf;
  return elementwise({t}, test ? Weak::kNo : weak, range,
                     [&](const std::vector<Expr>& e) { return ir::unary(op, converted(e[0], type), range); });
}

Tensor Algebra::swapped(const Tensor& t) {
  Tensor result = t;
  if (t.rank() < 2) return result;
  std::swap(result.labels[t.rank() - 2], result.labels[t.rank() - 1]);
  std::swap(result.shape[t.rank() - 2], result.shape[t.rank() - 1]);
  return result;
}

Tensor Algebra::float_function(BinaryOp op, const Tensor& left, const Tensor& right, const SourceRange& range) {
  const Tensor a = as_operand(left);
  const Tensor b = as_operand(right);
  Common common = common_type(a.scalar(), a.weak, b.scalar(), b.weak);
  require_ordered(reports_, "`" + std::string(ir::name_of(op)) + "`", common.type, range);
  if (!ir::is_float(common.type)) {
    common.type = Scalar::kF64;
    if (common.weak == Weak::kInteger) common.weak = Weak::kFloat;
  }
  if (common.weak == Weak::kAny) common.weak = Weak::kFloat;
  return elementwise({a, b}, common.weak, range, [&](const std::vector<Expr>& e) {
    return ir::binary(op, converted(e[0], common.type), converted(e[1], common.type), range);
  });
}

Tensor Algebra::transpose(const Tensor& t, const SourceRange& range) {
  if (t.rank() > 2) {
    reports_.fail(DiagnosticId::kRankMismatch, range,
                  "only a matrix can be transposed without an order of dimensions, but this is " + graph_.text(t) +
                      "; write transpose(A, 0, 2, 1), or A' to swap the last two");
  }
  return swapped(t);
}

Tensor Algebra::fresh(const Tensor& t) {
  Tensor result = t;
  std::vector<Expr> subscripts;
  for (std::int32_t& id : result.labels) {
    id = graph_.new_label();
    subscripts.push_back(ir::index_ref(id));
  }
  result.body = element(t, subscripts);
  return result;
}

Tensor Algebra::joined(const Tensor& a, const Tensor& b, std::size_t axis, const SourceRange& range) {
  Tensor result = fresh(a);
  Extent& length = result.shape[axis].extent;
  length = shapes_.length_of(length);
  std::vector<Expr> subscripts;
  for (std::size_t d = 0; d < a.rank(); ++d) {
    const Expr own = ir::index_ref(result.labels[d]);
    if (d != axis) shapes_.agree(result.shape[d], b.shape[d], range, "in dimension " + std::to_string(d));
    subscripts.push_back(d == axis ? sub(own, expr_of(graph_.program(), length)) : own);
  }
  const Common common = values_.common_type(a, b, range);
  for (const Tensor* t : {&a, &b}) values_.require_fits(*t, common.type, t->range);
  const Expr before =
      ir::binary(BinaryOp::kLt, ir::index_ref(result.labels[axis]), expr_of(graph_.program(), length), range);
  result.body =
      ir::select(before, converted(result.body, common.type), converted(element(b, subscripts), common.type), range);
  result.weak = common.weak;
  result.shape[axis] = {length + shapes_.length_of(b.shape[axis].extent),
                        "the length of " + reports_.source_text(range), range};
  return result;
}

Tensor Algebra::filled(const Expr& value, Weak weak, std::vector<Dim> shape) {
  Tensor t = scalar_tensor(value, weak);
  t.shape = std::move(shape);
  for (std::size_t d = 0; d < t.shape.size(); ++d) t.labels.push_back(graph_.new_label());
  return t;
}

Expr Algebra::row_major(const Tensor& t) const { return row_major(t, 0, t.rank()); }

Expr Algebra::row_major(const Tensor& t, std::size_t first, std::size_t count) const {
  Expr flat;
  for (std::size_t d = first; d < first + count; ++d) {
    const Expr own = ir::index_ref(t.labels[d]);
    flat = flat ? add(mul(flat, expr_of(graph_.program(), t.shape[d].extent)), own) : own;
  }
  return flat ? flat : ir::constant_i64(0);
}

std::vector<Expr> Algebra::split(Expr flat, const std::vector<Dim>& shape, const SourceRange& range) const {
  std::vector<Expr> subscripts(shape.size());
  for (std::size_t d = shape.size(); d-- > 0;) {
    const Expr extent = expr_of(graph_.program(), shape[d].extent);
    subscripts[d] = d == 0 ? flat : ir::binary(BinaryOp::kRem, flat, extent, range);
    flat = ir::binary(BinaryOp::kDiv, flat, extent, range);
  }
  return subscripts;
}

Tensor Algebra::flattened(const Tensor& t, const SourceRange& range) {
  Dim size{1, "the number of elements of " + reports_.source_text(range), range};
  for (const Dim& d : t.shape) size.extent = size.extent * d.extent;
  Tensor result;
  result.weak = t.weak;
  result.range = t.range;
  result.shape = {size};
  result.labels = {graph_.new_label(size.extent)};
  result.body = element(t, split(ir::index_ref(result.labels[0]), t.shape, {}));
  return result;
}

}  // namespace tdsl::frontend
