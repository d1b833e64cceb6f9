#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "ir/graph/graph.h"

// Products of matrices in an index graph, and chains of them. A vector at the end counts as a matrix of one column.

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
  std::vector<std::size_t> absorbed;  ///< nodes of the intermediate products, by position in the region
};
/// The chain of at least three factors whose last product is node `k` of the region. Intermediate products have no
/// other use
/// (`uses`: use_counts); nodes that are `removed` are not looked at.
[[nodiscard]] std::optional<ProductChain> chain_at(const ir::Region& region, std::size_t k,
                                                   const std::vector<int>& uses, const std::vector<bool>& removed);
/// Multiplications of the chain as it stands in the region, node `k` being the last product.
[[nodiscard]] ir::Extent written_cost(const ir::Region& region, std::size_t k, const ProductChain& chain);

/// Whether cost `a` is smaller than `b` for all sizes of at least 2 (below that both are small); nothing if sizes
/// decide.
[[nodiscard]] std::optional<bool> cheaper(const ir::Extent& a, const ir::Extent& b);

/// The dynamic program takes time in proportion to the cube of the length.
inline constexpr std::size_t kLongestChain = 250;
/// The same with symbolic sizes, each step of which is a comparison of polynomials: longer chains are ordered at start.
inline constexpr std::size_t kLongestSymbolicChain = 50;

/// Where to split each interval of a chain, by the dynamic program over scalar multiplications.
class ProductOrder {
 public:
  explicit ProductOrder(const ProductChain& chain) : chain_(chain), n_(chain.factors.size()) {}

  /// False if symbolic sizes leave the order open.
  [[nodiscard]] bool solve();
  /// The last factor of the left part of factors first..last.
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
