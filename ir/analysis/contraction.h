#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "ir/graph/graph.h"

// Sums of products as contractions: what a term is a product of, grouped by index variables. The one place that says
// what a contraction is.

namespace tdsl::ir {

/// Index variables as bits.
using LabelSet = std::uint64_t;
[[nodiscard]] LabelSet label_set(const Expr& e);

/// Factors of a product that belong together: a product over a product, with the sign in front.
struct FactorGroup {
  LabelSet labels = 0;
  std::vector<Expr> factors;  ///< never empty
  std::vector<Expr> divisors;
  bool negative = false;

  /// `-(f0 * f1) / d0 / d1`.
  [[nodiscard]] Expr expression() const;
};

/// The factors of a float expression in groups: one for each set of index variables that is no part of another
/// factor's. Other factors are in a group that has their index variables: of several, one that is an expression
/// already, else the last. Empty if a group has divisors alone.
///
///     2.0 * (X[k, i] - m[i]) * X[k, j] / w[k]       {k, i}  2.0 * (X[k, i] - m[i]) / w[k]       {k, j}  X[k, j]
[[nodiscard]] std::vector<FactorGroup> factor_groups(const Expr& e);

/// The index variables at which an element is read, each once; nothing if the reader has no use for such a read.
using OperandLabels = std::function<std::optional<LabelSet>(const Read&)>;
/// Of a read at nothing but index variables: `A[i, k]`.
[[nodiscard]] std::optional<LabelSet> bare_labels(const Read& r);

/// Of a read at index variables, each perhaps moved by a number, and numbers: `A[i + 1, k, 0]`.
[[nodiscard]] std::optional<LabelSet> shifted_labels(const Read& r);

/// A float sum of products of two elements without a condition: `sum[k](A[b, i, k] * B[b, k, j])`.
struct Contraction {
  Expr left;  ///< a read, as the other one
  Expr right;
  LabelSet rows = 0;     ///< index variables of the result that the left factor alone has
  LabelSet columns = 0;  ///< those of the right one
  LabelSet batch = 0;    ///< those of both
  LabelSet inner = 0;    ///< what is summed over: both have it
};
/// Nothing for what no product of matrices computes: every index variable of the result stands in a factor or has one
/// value, those summed over in both factors, and some index variable in one factor alone (else it is a batch of inner
/// products, which a loop does better).
[[nodiscard]] std::optional<Contraction> contraction_of(const Compute& c, const OperandLabels& labels = bare_labels);

/// Whether the sum over products of these groups is what a product of matrices computes: two groups, each with an index
/// variable of the result of its own, and with all that are summed over.
[[nodiscard]] bool is_matrix_product(const std::vector<FactorGroup>& groups, std::size_t outs, std::size_t reduces);

}  // namespace tdsl::ir
