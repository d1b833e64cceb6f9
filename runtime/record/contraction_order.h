#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

// Orders in which a sum of products of several tensors, sum[j, k](A[i, j] * B[j, k] * C[k, l]), may be contracted two
// by two.

namespace tdsl::record {

/// The labels of a sum of products, numbered: those of the result first.
struct ProductLabels {
  std::vector<std::vector<int>> factors;  ///< per factor the labels of its dimensions, each once
  std::size_t outs = 0;                   ///< how many labels are of the result
  std::vector<double> sizes;              ///< by label
};
/// Sums of more factors, or of more than twice as many labels, are computed as they are written.
inline constexpr std::size_t kMostFactors = 8;

/// An order of contraction: each entry contracts two operands into one. Operands are numbered factors first, then
/// results of entries.
using ContractionPath = std::vector<std::pair<std::size_t, std::size_t>>;

/// What contracting costs.
struct ContractionCost {
  double operations = 0;
  double elements = 0;  ///< of all intermediate results
  friend bool operator==(const ContractionCost&, const ContractionCost&) = default;
};

/// What contracting subsets of the factors leaves and costs. Sets of factors and of labels are bits. A factor whose
/// label no other factor and not the result has is summed over it by itself, before all else.
class Contractions {
 public:
  using Set = std::size_t;
  using Labels = std::uint64_t;
  enum class Least : std::uint8_t { kOperations, kElements };

  /// At least one factor, at most kMostFactors.
  explicit Contractions(const ProductLabels& labels);

  [[nodiscard]] std::size_t factors() const { return factors_.size(); }
  /// The labels that are left when the factors in the set have been contracted.
  [[nodiscard]] Labels kept(Set set) const { return kept_[set]; }
  /// The labels of one factor as it is.
  [[nodiscard]] Labels labels_of(std::size_t factor) const { return factors_[factor]; }

  /// Of the sum as one nest of loops.
  [[nodiscard]] double operations_as_one() const;
  [[nodiscard]] ContractionCost cost(const ContractionPath& path) const;
  /// The path with the fewest operations, of those the one with the smallest intermediate results; or the other way
  /// round. Outer products are allowed, intermediate results of more dimensions than tensors have are not; empty if
  /// there is no other path. Dynamic program over subsets.
  [[nodiscard]] ContractionPath best(Least least) const;
  /// All paths of three factors, best first.
  [[nodiscard]] std::vector<ContractionPath> of_three() const;

 private:
  struct Choice {
    ContractionCost cost;
    bool possible = false;
    Set part = 0;
  };
  [[nodiscard]] double points(Labels labels) const;
  [[nodiscard]] bool fits(Set a, Set b) const;
  [[nodiscard]] ContractionCost join(Set a, Set b) const;
  std::size_t collect(Set set, const std::vector<Choice>& choices, ContractionPath& path) const;

  std::vector<double> sizes_;
  std::vector<Labels> factors_;
  Labels result_;
  std::vector<Labels> kept_;
};

/// The number of a contraction of two disjoint sets of n factors among all of them, and how many there are. Whatever
/// the order, what is contracted there has the same labels.
[[nodiscard]] int contraction_number(std::size_t n, Contractions::Set a, Contractions::Set b);
[[nodiscard]] int contraction_count(std::size_t n);

}  // namespace tdsl::record
