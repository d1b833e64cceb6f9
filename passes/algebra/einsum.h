#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "ir/graph/graph.h"
#include "passes/algebra/product_chain.h"

// Sums of products of several tensors, sum[j, k](A[i, j] * B[j, k] * C[k, l]).

namespace tdsl::passes {

/// One sum of products of three tensors or more, each subscripted by different index variables that count from 0.
struct Einsum {
  struct Factor {
    ir::ValueId tensor;
    std::vector<std::int32_t> labels;  ///< per dimension
  };
  std::vector<Factor> factors;
  std::vector<ir::Label> labels;  ///< of the result, then summed ones
  std::size_t outs = 0;           ///< how many are of the result
};

/// Null unless the node is such a sum, of dense float tensors, and not too long (record::kMostFactors).
[[nodiscard]] std::optional<Einsum> einsum_of(const ir::Program& program, const ir::Compute& c);

/// The factors as a chain of matrices, F0[i, a] F1[a, b] … Fn[z, j], if they are one in some order. `absorbed` is
/// empty.
[[nodiscard]] std::optional<ProductChain> chain_of(const Einsum& einsum);

/// Whether contracting the factors two by two takes fewer operations than the sum as one nest of loops, for some sizes.
/// Tried are: every extent that is no constant is 4, 64 or 1024.
[[nodiscard]] bool gains_by_order(const Einsum& einsum);

}  // namespace tdsl::passes
