#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include "ir/graph/expr.h"

namespace tdsl::ir {

/// The contribution of one read of a differentiated tensor to the derivative of an expression.
struct Partial {
  Read read;
  Expr condition;  ///< the branches taken on the way to the read; null if it is always evaluated
  Expr value;  ///< upstream times the derivative with respect to the element; may be evaluated only where `condition`
               ///< holds
};

/// Reverse-mode derivatives of one scalar expression.
///
/// At points without a derivative the conventions are those of PyTorch and JAX: `abs`, `sign` and `relu` have slope 0
/// at 0, equal operands of `max` and `min` get one half each, rounding functions, comparisons and integers have slope
/// 0.
class ExprDerivative {
 public:
  using IsActive = std::function<bool(ValueId)>;
  /// Stores an intermediate derivative that two operands need and returns an expression that reads it; or returns its
  /// argument. The value may be evaluated only under the condition, which may be null.
  using Share = std::function<Expr(const Expr& value, const Expr& condition)>;

  /// `own_value`: reads the expression's value where it is stored, or null. `share` may be empty.
  ExprDerivative(IsActive is_active, Expr own_value = {}, Share share = {})
      : is_active_(std::move(is_active)), own_value_(std::move(own_value)), share_(std::move(share)) {}

  /// True if the value of `e`, a float, depends smoothly on an active tensor.
  [[nodiscard]] bool depends(const Expr& e);
  /// The partials of `upstream * e`, one per distinct element read.
  [[nodiscard]] std::vector<Partial> partials(const Expr& e, const Expr& upstream);

 private:
  void visit(const Expr& e, Expr upstream, const Expr& condition);
  void visit_unary(const Expr& e, const Unary& u, const Expr& upstream, const Expr& condition);
  bool visit_part(const Unary& u, const Expr& upstream, const Expr& condition);
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
