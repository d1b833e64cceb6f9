#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "ir/graph/graph.h"

// Sums of products as contractions: the factors of a term, grouped by index variables. The single definition of a
// contraction.

namespace tdsl::ir {

/// Index variables as bits.
using LabelSet = std::uint64_t;
[[nodiscard]] LabelSet label_set(const Expr& e);

/// A group of factors of a product: a quotient of products with a sign.
struct FactorGroup {
  LabelSet labels = 0;
  std::vector<Expr> factors;  ///< never empty
  std::vector<Expr> divisors;
  bool negative = false;

  /// `-(f0 * f1) / d0 / d1`.
  [[nodiscard]] Expr expression() const;
};

/// The factors of a float expression in groups, one per maximal set of index variables among the factors. Other factors
/// join a group that covers their index variables: if there are several, one that already is an expression, else the
/// last. Empty if a group has only divisors.
///
///     2.0 * (X[k, i] - m[i]) * X[k, j] / w[k]       {k, i}  2.0 * (X[k, i] - m[i]) / w[k]       {k, j}  X[k, j]
[[nodiscard]] std::vector<FactorGroup> factor_groups(const Expr& e);

/// The index variables of a read element, each once; nothing if the caller cannot use such a read.
using OperandLabels = std::function<std::optional<LabelSet>(const Read&)>;
/// For a read subscripted by plain index variables: `A[i, k]`.
[[nodiscard]] std::optional<LabelSet> bare_labels(const Read& r);

/// For a read subscripted by numbers and by index variables, possibly with a constant offset: `A[i + 1, k, 0]`.
[[nodiscard]] std::optional<LabelSet> shifted_labels(const Read& r);

/// An unconditional float sum of products of two elements: `sum[k](A[b, i, k] * B[b, k, j])`.
struct Contraction {
  Expr left;  ///< a read, like `right`
  Expr right;
  LabelSet rows = 0;     ///< index variables of the result that occur only in the left factor
  LabelSet columns = 0;  ///< those that occur only in the right one
  LabelSet batch = 0;    ///< those that occur in both
  LabelSet inner = 0;    ///< summed index variables, which occur in both
};
/// Nothing unless a matrix product computes it: every index variable of the result occurs in a factor or has one value,
/// summed ones occur in both factors, and some index variable occurs in one factor alone (otherwise it is a batch of
/// inner products, for which a loop is faster).
[[nodiscard]] std::optional<Contraction> contraction_of(const Compute& c, const OperandLabels& labels = bare_labels);

/// True if a matrix product computes the sum over products of these groups: two groups, each with an index variable of
/// the result of its own, and with all summed ones.
[[nodiscard]] bool is_matrix_product(const std::vector<FactorGroup>& groups, std::size_t outs, std::size_t reduces);

}  // namespace tdsl::ir
