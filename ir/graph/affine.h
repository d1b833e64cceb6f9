#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "ir/graph/graph.h"

namespace tdsl::ir {

/// The polynomial a label-free i64 expression computes: constants, rank-0 reads, + - * and negation. Nothing otherwise.
[[nodiscard]] std::optional<Extent> extent_of(const Expr& e);

/// Like extent_of, with index variables: label k is represented by the pseudo value label_value(k).
[[nodiscard]] std::optional<Extent> polynomial_of(const Expr& e);
[[nodiscard]] constexpr ValueId label_value(std::int32_t label) { return {-2 - label}; }
/// Like polynomial_of; quotients and remainders of sizes count as sizes.
[[nodiscard]] std::optional<Extent> subscript_polynomial(const Expr& e);
/// True if no term is a product of atoms.
[[nodiscard]] bool is_linear(const Extent& e);

/// An i64 expression with the value of `e`; its atoms become rank-0 reads, pseudo values index variables. The constant
/// comes last.
[[nodiscard]] Expr expr_of_polynomial(const Extent& e);

/// `coefficient * v + rest`, where `rest` does not contain v.
struct LinearForm {
  std::int64_t coefficient = 0;
  Extent rest;
};
/// Splits `e` accordingly; nothing if v occurs in a product with another atom, a quotient or a remainder.
[[nodiscard]] std::optional<LinearForm> linear_in(const Extent& e, ValueId v);

[[nodiscard]] bool mentions(const Extent& e, ValueId v);

/// `coefficient * label`.
struct Term {
  int label = 0;
  Extent coefficient{1};
  friend bool operator==(const Term& a, const Term& b) { return a.label == b.label && a.coefficient == b.coefficient; }
};
/// A subscript that is affine in the labels: sum of terms (each label at most once, ordered by label) + constant.
struct Affine {
  std::vector<Term> terms;
  Extent constant;
  friend bool operator==(const Affine& a, const Affine& b) { return a.terms == b.terms && a.constant == b.constant; }
};

/// The value of a label-free i64 expression that is not a polynomial of values; nothing if there is none (it reads
/// data, or computing it could fail where the program does not).
using Hoist = std::function<std::optional<ValueId>(const Expr&)>;
/// A Hoist for programs: accepts only reads of integer scalars; other expressions have no value.
[[nodiscard]] std::optional<ValueId> read_scalar(const Expr& e);

/// The subscript as an affine form over the labels, or nothing.
[[nodiscard]] std::optional<Affine> affine_of(const Expr& e, const Hoist& hoist);

/// `(i * m + j) / m`: an affine form with labels divided by a label-free expression.
struct QuotientForm {
  Affine numerator;
  Extent divisor;
};
[[nodiscard]] std::optional<QuotientForm> quotient_of(const Expr& e, const Hoist& hoist);
/// True if dimension `d` of the read has a data-dependent subscript: neither affine, the image of an affine position
/// (`edge(i - 1, n)`), nor a quotient, nor the remainder that matches a quotient in an earlier dimension (a reshape).
[[nodiscard]] bool is_data_subscript(const Read& read, std::size_t d, const Hoist& hoist);

/// True if evaluating the expression can stop the run (integer division, narrowing casts, negative powers).
[[nodiscard]] bool may_fail(const Expr& e);

/// Smallest and largest value of an affine form, provided every label has at least one value.
struct AffineHull {
  Extent low;
  Extent high;  ///< inclusive
};
/// `labels` have `begin` and `end`. Nothing if the sign of a coefficient is unknown at compile time.
template <class Labels>
[[nodiscard]] std::optional<AffineHull> hull_of(const Affine& form, const Labels& labels) {
  AffineHull hull{form.constant, form.constant};
  for (const Term& t : form.terms) {
    const auto c = t.coefficient.constant();
    if (!c) return std::nullopt;
    const auto& label = labels[static_cast<std::size_t>(t.label)];
    const Extent first = label.begin * Extent(*c);
    const Extent last = (label.end - Extent(1)) * Extent(*c);
    hull.low = hull.low + (*c > 0 ? first : last);
    hull.high = hull.high + (*c > 0 ? last : first);
  }
  return hull;
}

/// True if 0 <= form < extent for all values of the labels is provable at compile time.
template <class Labels>
[[nodiscard]] bool provably_inside(const Affine& form, const Labels& labels, const Extent& extent) {
  const std::optional<AffineHull> hull = hull_of(form, labels);
  if (!hull) return false;
  const auto low = hull->low.constant();
  const auto room = (extent - Extent(1) - hull->high).constant();
  return low && *low >= 0 && room && *room >= 0;
}
/// The same for 0 <= numerator / divisor < extent.
template <class Labels>
[[nodiscard]] bool provably_inside(const QuotientForm& form, const Labels& labels, const Extent& extent) {
  return provably_inside(form.numerator, labels, extent * form.divisor);
}

/// True if the subscripts are sums of index variables, each times a positive number or sizes, and of sizes, and no
/// index variable occurs twice.
[[nodiscard]] bool reads_each_label_once(const Read& r);

}  // namespace tdsl::ir
