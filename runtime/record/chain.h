#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/plan/op_builder.h"
#include "runtime/record/recorder.h"

namespace tdsl::record {

/// A factor of a chain of matrix products: a matrix, possibly transposed, or, as the last factor, a vector.
struct ChainFactor {
  ChainFactor(const TensorHandle& handle, bool is_transposed) : tensor(&handle), transposed(is_transposed) {}

  const TensorHandle* tensor;  ///< must outlive the call it is passed to
  bool transposed;
};

/// F0 F1 …, where factor f is a matrix of sizes[f] x sizes[f + 1] (a vector: sizes[f]).
struct ProductChain {
  std::string_view name;  ///< of the result
  std::vector<ChainFactor> factors;
  std::vector<Index> sizes;
  std::vector<Index> tile;  ///< annotation of the result; may be empty
  Place place;  ///< the product that joins the factors before and from factor k + 1 on has site place.site + k
};

/// Split positions that minimise the multiplications of the chain: with n factors, entry first * n + last is the last
/// factor of the left part of factors first..last. Ties go to the left-to-right order. Matrix-chain dynamic program
/// (Cormen et al., section 14.2), in floating point, equal on every rank.
[[nodiscard]] std::vector<std::size_t> chain_splits(std::span<const Index> sizes);

/// Records the products in that order, with two operations per multiplication. `contraction` records one product. At
/// least two factors.
[[nodiscard]] TensorHandle record_chain(const ProductChain& chain,
                                        const std::function<TensorHandle(plan::OpBuilder&)>& contraction);

}  // namespace tdsl::record
