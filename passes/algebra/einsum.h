#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "ir/graph/graph.h"
#include "passes/algebra/product_chain.h"

// Sums of products of several tensors: sum[j, k](A[i, j] * B[j, k] * C[k, l]).

namespace tdsl::passes {

/// A sum of products of three or more tensors, each subscripted by distinct index variables that start at 0.
struct Einsum {
  struct Factor {
    ir::ValueId tensor;
    std::vector<std::int32_t> labels;  ///< per dimension
  };
  std::vector<Factor> factors;
  std::vector<ir::Label> labels;  ///< out labels, then reduce labels
  std::size_t outs = 0;           ///< number of out labels
};

/// The node as an einsum; null unless it is one of dense float tensors with at most record::kMostFactors factors.
[[nodiscard]] std::optional<Einsum> einsum_of(const ir::Program& program, const ir::Compute& c);

/// The factors as a chain of matrices, F0[i, a] F1[a, b] … Fn[z, j], if some order makes them one. `absorbed` is empty.
[[nodiscard]] std::optional<ProductChain> chain_of(const Einsum& einsum);

/// True if, for some sizes, pairwise contraction takes fewer operations than one loop nest over all labels. Tries 4, 64
/// and 1024 for every non-constant extent.
[[nodiscard]] bool gains_by_order(const Einsum& einsum);

}  // namespace tdsl::passes
