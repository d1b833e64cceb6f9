#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "ir/graph/graph.h"

// Matrix products in an index graph, and chains of them. A vector at the end counts as a matrix with one column.

namespace tdsl::passes {

/// One factor: a matrix read as [row, column] or [column, row], or a vector.
struct Factor {
  ir::ValueId tensor;
  bool transposed = false;
  bool vector = false;
};

/// `left[row, inner] * right[inner, column]` summed over inner.
struct Product {
  Factor left;
  Factor right;
  ir::Extent rows;
  ir::Extent inner;
  ir::Extent columns;  ///< 1 for a vector
};
[[nodiscard]] std::optional<Product> product_of(const ir::Compute& c);

/// A chain F0 F1 … Fn-1 with sizes d0 x d1, d1 x d2, …
struct ProductChain {
  std::vector<Factor> factors;
  std::vector<ir::Extent> sizes;
  std::vector<std::size_t> absorbed;  ///< nodes of the intermediate products, as positions in the region
};
/// The chain of at least three factors whose last product is node `k` of the region. Intermediate products have no
/// other use (`uses`: use_counts); nodes marked `removed` are skipped.
[[nodiscard]] std::optional<ProductChain> chain_at(const ir::Region& region, std::size_t k,
                                                   const std::vector<int>& uses, const std::vector<bool>& removed);
/// Number of multiplications of the chain in the order written, with node `k` as the last product.
[[nodiscard]] ir::Extent written_cost(const ir::Region& region, std::size_t k, const ProductChain& chain);

/// Length limit with constant sizes: the dynamic program takes time cubic in the length.
inline constexpr std::size_t kLongestChain = 250;
/// Length limit with symbolic sizes, where each step compares polynomials; longer chains are ordered at start.
inline constexpr std::size_t kLongestSymbolicChain = 50;

/// The optimal split of each interval of a chain, by the dynamic program over scalar multiplications.
class ProductOrder {
 public:
  explicit ProductOrder(const ProductChain& chain) : chain_(chain), n_(chain.factors.size()) {}

  /// False if the order depends on symbolic sizes.
  [[nodiscard]] bool solve();
  /// The last factor of the left half of factors first..last.
  [[nodiscard]] std::size_t split(std::size_t first, std::size_t last) const { return splits_.at({first, last}); }
  [[nodiscard]] ir::Extent cost() const { return cost(0, n_ - 1); }

 private:
  [[nodiscard]] ir::Extent cost(std::size_t first, std::size_t last) const;
  [[nodiscard]] bool solve(std::size_t first, std::size_t last);

  const ProductChain& chain_;
  std::size_t n_;
  std::map<std::pair<std::size_t, std::size_t>, ir::Extent> costs_;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> splits_;
};

}  // namespace tdsl::passes
