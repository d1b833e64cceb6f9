#include "codegen/print/nests/named_joins.h"

#include <variant>

#include "ir/analysis/vector_form.h"

namespace tdsl::nest {

namespace {

using ir::BinaryOp;
using ir::Monoid;

/// An expression of one value of x and one of y.
class Term {
 public:
  Term(const BlockedReduction& b) : x_(b.x.front().local), y_(b.y.front().local) {}

  /// op(x, y); also op(y, x) if both have the same bits.
  [[nodiscard]] bool is(const Expr& e, BinaryOp op) const {
    const auto* b = std::get_if<ir::Binary>(&e->op);
    if (b == nullptr || b->op != op) return false;
    const bool commutes = op == BinaryOp::kAdd || op == BinaryOp::kMul;
    return (is_read(b->left, x_) && is_read(b->right, y_)) ||
           (commutes && is_read(b->left, y_) && is_read(b->right, x_));
  }
  /// x - y or y - x
  [[nodiscard]] bool is_difference(const Expr& e) const {
    const auto* b = std::get_if<ir::Binary>(&e->op);
    return b != nullptr && b->op == BinaryOp::kSub &&
           ((is_read(b->left, x_) && is_read(b->right, y_)) || (is_read(b->left, y_) && is_read(b->right, x_)));
  }
  [[nodiscard]] bool is_square(const Expr& e) const {
    const auto* b = std::get_if<ir::Binary>(&e->op);
    return b != nullptr && ir::is_square(*b) && is_difference(b->left);
  }
  [[nodiscard]] bool is_distance(const Expr& e) const {
    const auto* u = std::get_if<ir::Unary>(&e->op);
    return u != nullptr && u->op == ir::UnaryOp::kAbs && is_difference(u->operand);
  }

 private:
  [[nodiscard]] static bool is_read(const Expr& e, ValueId v) {
    const auto* r = std::get_if<ir::Read>(&e->op);
    return r != nullptr && r->tensor == v;
  }

  ValueId x_, y_;
};

std::string of_sum(const Term& term, const Expr& value, bool real) {
  if (term.is(value, BinaryOp::kMul)) return "sum_of_products";
  if (real && term.is_square(value)) return "sum_of_squares";
  if (real && term.is_distance(value)) return "sum_of_distances";
  return "";
}

std::string of_extreme(const Term& term, const Expr& value, bool real, bool least) {
  if (term.is(value, BinaryOp::kAdd)) return least ? "min_of_sums" : "max_of_sums";
  if (real && least && term.is(value, BinaryOp::kMax)) return "min_of_maxima";
  if (real && !least && term.is(value, BinaryOp::kMul)) return "max_of_products";
  if (real && !least && term.is(value, BinaryOp::kMin)) return "max_of_minima";
  if (real && !least && term.is_distance(value)) return "max_of_distances";
  return "";
}

}  // namespace

std::string named_join(const BlockedReduction& b, ir::Scalar type) {
  const auto single = [&](const std::vector<Let>& values) {
    return values.size() == 1 && values.front().value->type == type;
  };
  if (b.guard || !single(b.x) || !single(b.y) || b.value->type != type) return "";
  if (ir::is_complex(type)) return "";
  const Term term(b);
  const bool real = ir::is_float(type);
  switch (b.with.kind) {
    case Monoid::Kind::kSum: return type == ir::Scalar::kBool ? "" : of_sum(term, b.value, real);
    case Monoid::Kind::kMin:
    case Monoid::Kind::kMax:
      // The library's loops for floats come with those for numbers.
      if (type == ir::Scalar::kBool || b.numbers != real) return "";
      return of_extreme(term, b.value, real, b.with.kind == Monoid::Kind::kMin);
    case Monoid::Kind::kAny: return term.is(b.value, BinaryOp::kAnd) ? "any_of_both" : "";
    default: return "";
  }
}

}  // namespace tdsl::nest
