#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "ir/graph/extent_facts.h"
#include "ir/graph/graph.h"

// Affine inequalities on index variables implied by conditions.

namespace tdsl::ir {

/// `form <= 0`.
using Inequality = AffineExpr;

/// The form times a number.
[[nodiscard]] AffineExpr scaled(AffineExpr a, std::int64_t by);
/// The form plus an extent.
[[nodiscard]] AffineExpr plus(AffineExpr a, const Extent& e);

/// The conjuncts of a condition in evaluation order; empty for a null condition.
[[nodiscard]] std::vector<Expr> conjuncts(const Expr& e);

/// Extracts inequalities from comparisons of sizes and index variables.
class Inequalities {
 public:
  /// Which conditions are considered.
  enum class Of : std::uint8_t {
    kOrder,    ///< `<`, `<=`, `>`, `>=`
    kEquality  ///< also `==`, and comparisons whose truth value is used as a number or an element
  };
  /// The affine form of an i64 expression, or nothing.
  using Form = std::function<std::optional<AffineExpr>(const Expr&)>;
  Inequalities(Form form, Of which) : form_(std::move(form)), which_(which) {}

  /// The condition as an equivalent set of inequalities; empty if it cannot be expressed so. `abs(i - j) <= b`: `i - j
  /// - b <= 0` and `j - i - b <= 0`.
  [[nodiscard]] std::vector<Inequality> of(const Expr& condition) const;
  /// Conditions that hold wherever the expression is not 0, as far as `of` can express them.
  [[nodiscard]] std::vector<Expr> around(const Expr& e) const;

 private:
  [[nodiscard]] std::vector<Expr> around(const ExprNode& e, const Binary& b) const;
  [[nodiscard]] std::vector<Expr> known(const Expr& condition) const;
  [[nodiscard]] std::vector<Inequality> at_most(const Expr& a, const Expr& b, std::int64_t more) const;
  [[nodiscard]] std::vector<Inequality> simple(const Expr& a, const Expr& b, std::int64_t more,
                                               std::int64_t sign) const;

  Form form_;
  Of which_;
};

}  // namespace tdsl::ir
