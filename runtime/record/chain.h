#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/op_builder.h"
#include "runtime/record/recorder.h"

namespace tdsl::record {

/// A factor of a chain of matrix products: a matrix as it is or transposed, or, as the last one, a vector.
struct ChainFactor {
  ChainFactor(const TensorHandle& handle, bool is_transposed) : tensor(&handle), transposed(is_transposed) {}

  const TensorHandle* tensor;  ///< lives as long as the call that lists it
  bool transposed;
};

/// F0 F1 …, where factor f has sizes[f] x sizes[f + 1] elements (a vector: sizes[f]).
struct ProductChain {
  std::string_view name;  ///< of the result
  std::vector<ChainFactor> factors;
  std::vector<Index> sizes;
  std::vector<Index> tile;  ///< annotation of the result; or empty
  Place place;  ///< the product of what is left and what is right of factor k + 1 has the site place.site + k
};

/// Where to split the chain so that the products take the fewest multiplications: entry first * n + last, n factors, is
/// the last factor of the left part of factors first..last. Of equally good orders the one that goes from left to
/// right. Matrix-chain dynamic program (Cormen et al., section 14.2), in floating point, the same on every rank.
[[nodiscard]] std::vector<std::size_t> chain_splits(std::span<const Index> sizes);
/// Multiplications of that order.
[[nodiscard]] double chain_multiplications(std::span<const Index> sizes);

/// Records the products in that order, with two operations per multiplication. `contraction` records one of them. At
/// least two factors.
[[nodiscard]] TensorHandle record_chain(const ProductChain& chain,
                                        const std::function<TensorHandle(plan::OpBuilder&)>& contraction);

}  // namespace tdsl::record
