#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <vector>

#include "ir/graph/expr.h"
#include "ir/graph/extent.h"

// Expression constructors with the obvious simplifications, for code that builds index graphs.

namespace tdsl::ir {

// Float arithmetic for derivatives: 0 and 1 are folded, so `0 * inf` is 0 here.
[[nodiscard]] Expr float_constant(Scalar type, double value);
[[nodiscard]] bool is_float_constant(const Expr& e, double value);
[[nodiscard]] Expr sum_of(const Expr& a, const Expr& b);
[[nodiscard]] Expr product_of(const Expr& a, const Expr& b);
[[nodiscard]] Expr quotient_of(const Expr& a, const Expr& b);
[[nodiscard]] Expr negation_of(const Expr& a);
/// The conjugate of a complex number, else `a`.
[[nodiscard]] Expr conjugated(const Expr& a);
/// `select(condition, value, 0)`; a null condition always holds.
[[nodiscard]] Expr where(const Expr& condition, const Expr& value);

/// 0, 0.0 or false.
[[nodiscard]] Expr zero_of(Scalar type);
/// True for the constants 0, 0.0, -0.0 and false.
[[nodiscard]] bool is_zero(const Expr& e);

/// `a && b`; a null operand counts as true.
[[nodiscard]] Expr conjunction_of(const Expr& a, const Expr& b);
/// An extent as an i64 expression.
[[nodiscard]] Expr expr_of(const Extent& e);
/// `a + b`, `a - b`, `c * a` of i64 expressions; zeros and ones are folded.
[[nodiscard]] Expr index_sum(const Expr& a, const Expr& b);
[[nodiscard]] Expr index_difference(const Expr& a, const Expr& b);
[[nodiscard]] Expr index_product(std::int64_t c, const Expr& a);

/// The label if `e` is a bare index variable, otherwise -1.
[[nodiscard]] std::int32_t bare_label(const Expr& e);
/// True if `e` is the bare index variable `label`; a negative label matches nothing.
[[nodiscard]] inline bool is_label(const Expr& e, std::int32_t label) { return label >= 0 && bare_label(e) == label; }
/// The labels that occur in `e`.
[[nodiscard]] std::set<std::int32_t> labels_in(const Expr& e);
/// Replaces label `i` by `replacements[i]`.
[[nodiscard]] Expr with_labels(const Expr& e, const std::vector<Expr>& replacements);
/// True if `e` uses the label, or one from `first` on. False for a null expression.
[[nodiscard]] bool mentions_label(const Expr& e, std::int32_t label);
[[nodiscard]] bool mentions_labels(const Expr& e, std::size_t first = 0);

}  // namespace tdsl::ir
