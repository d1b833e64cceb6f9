#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

// Pairwise contraction orders of a sum of products of several tensors, such as sum[j, k](A[i, j] * B[j, k] * C[k, l]).

namespace tdsl::record {

/// The labels of a sum of products, numbered: those of the result first.
struct ProductLabels {
  std::vector<std::vector<int>> factors;  ///< per factor: the labels of its dimensions, each once
  std::size_t outs = 0;                   ///< number of labels of the result
  std::vector<double> sizes;              ///< by label
};
/// Sums with more factors, or more than twice as many labels, are computed as written.
inline constexpr std::size_t kMostFactors = 8;

/// A contraction order: each entry contracts two operands into one. Operands are numbered factors first, then results
/// of entries.
using ContractionPath = std::vector<std::pair<std::size_t, std::size_t>>;

/// The cost of a contraction order.
struct ContractionCost {
  double operations = 0;
  double elements = 0;  ///< of all intermediate results
  friend bool operator==(const ContractionCost&, const ContractionCost&) = default;
};

/// Results and costs of contracting subsets of the factors. Sets of factors and of labels are bit sets. A label of a
/// factor that occurs in no other factor and not in the result is summed first, within that factor.
class Contractions {
 public:
  using Set = std::size_t;
  using Labels = std::uint64_t;
  enum class Least : std::uint8_t { kOperations, kElements };

  /// At least one factor, at most kMostFactors.
  explicit Contractions(const ProductLabels& labels);

  [[nodiscard]] std::size_t factors() const { return factors_.size(); }
  /// The labels that remain after the factors in the set have been contracted.
  [[nodiscard]] Labels kept(Set set) const { return kept_[set]; }
  /// The labels of one uncontracted factor.
  [[nodiscard]] Labels labels_of(std::size_t factor) const { return factors_[factor]; }

  /// Operations of the sum as a single loop nest.
  [[nodiscard]] double operations_as_one() const;
  [[nodiscard]] ContractionCost cost(const ContractionPath& path) const;
  /// The path with the fewest operations, ties broken by the smallest intermediate results; or vice versa. Outer
  /// products are allowed, intermediate results with more dimensions than tensors can have are not; empty if there is
  /// no legal path. Dynamic program over subsets.
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

/// The number of a contraction of two disjoint sets among all contractions of n factors, and their total. Its labels
/// are independent of the order.
[[nodiscard]] int contraction_number(std::size_t n, Contractions::Set a, Contractions::Set b);
[[nodiscard]] int contraction_count(std::size_t n);

}  // namespace tdsl::record
