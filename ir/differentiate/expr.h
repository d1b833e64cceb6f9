#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include "ir/graph/expr.h"

namespace tdsl::ir {

/// How one read of a differentiated tensor contributes to the derivative of an expression.
struct Partial {
  Read read;
  Expr condition;  ///< the branches taken on the way to the read; null if it is always evaluated
  Expr value;      ///< upstream times the derivative by the element read; may be evaluated where `condition` holds only
};

/// Reverse-mode derivatives of one scalar expression.
///
/// The conventions where a function has no derivative are those of PyTorch and JAX: `abs`, `sign` and `relu` have slope
/// 0 at 0, equal operands of `max` and `min` get one half each, rounding functions, comparisons and integers have slope
/// 0.
class ExprDerivative {
 public:
  using IsActive = std::function<bool(ValueId)>;
  /// Stores an intermediate derivative that two operands need and gives an expression that reads it back; or gives
  /// back its argument. The condition is the one under which the value may be evaluated; may be null.
  using Share = std::function<Expr(const Expr& value, const Expr& condition)>;

  /// `own_value`: reads the expression's value where it is stored, or null. `share` may be empty.
  ExprDerivative(IsActive is_active, Expr own_value = {}, Share share = {})
      : is_active_(std::move(is_active)), own_value_(std::move(own_value)), share_(std::move(share)) {}

  /// Whether the value of `e`, a float, depends smoothly on an active tensor.
  [[nodiscard]] bool depends(const Expr& e);
  /// The partials of `upstream * e`, one per different element read.
  [[nodiscard]] std::vector<Partial> partials(const Expr& e, const Expr& upstream);

 private:
  void visit(const Expr& e, Expr upstream, const Expr& condition);
  void visit_unary(const Expr& e, const Unary& u, const Expr& upstream, const Expr& condition);
  void visit_binary(const Expr& e, const Binary& b, const Expr& upstream, const Expr& condition);
  void visit_power(const Expr& e, const Binary& b, const Expr& upstream, const Expr& condition);
  void visit_extremum(const Binary& b, const Expr& upstream, const Expr& condition);
  void add(const Read& read, const Expr& value, const Expr& condition);
  [[nodiscard]] Expr own(const Expr& e) const;

  IsActive is_active_;
  Expr own_value_;
  Share share_;
  Expr root_;
  std::vector<Partial> partials_;
  std::unordered_map<const ExprNode*, bool> depends_;
};

}  // namespace tdsl::ir
