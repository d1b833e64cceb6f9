#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "passes/product_chain.h"

// Sums of products of several tensors, sum[j, k](A[i, j] * B[j, k] * C[k, l]), and the orders in which they may be contracted.

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
  ir::Scalar type = ir::Scalar::kF64;
};
/// More factors, or labels, are computed as they are written.
inline constexpr std::size_t kMostFactors = 8;

/// Null unless the node is such a sum, of dense float tensors.
[[nodiscard]] std::optional<Einsum> einsum_of(const ir::Program& program, const ir::Compute& c);

/// The factors as a chain of matrices, F0[i, a] F1[a, b] … Fn[z, j], if they are one in some order. `absorbed` is empty.
[[nodiscard]] std::optional<ProductChain> chain_of(const Einsum& einsum);

/// An order of contraction: each entry contracts two operands into one. Operands are numbered factors first, then results of entries.
using ContractionPath = std::vector<std::pair<std::size_t, std::size_t>>;

/// The few paths of which, whatever the sizes, one is about the best; the one that is never far from it first. Sizes are tried:
/// every extent that is no constant is 4, 64 or 1024. Paths that never save anything against the sum as one are left out.
struct PathChoice {
  std::vector<ContractionPath> paths;
  bool as_one = true;  ///< whether the sum as one nest of loops is ever worth considering
};
inline constexpr std::size_t kMostPaths = 3;
[[nodiscard]] PathChoice paths_of(const Einsum& einsum);

/// `(X C) B`, with the source's names.
[[nodiscard]] std::string text_of(const ir::Program& program, const Einsum& einsum, const ContractionPath& path);

/// The path as nodes, the last of which defines `result`.
[[nodiscard]] std::vector<ir::Node> nodes_of(ir::Program& program, const Einsum& einsum, const ContractionPath& path, ir::ValueId result, ir::SourceRange range);

}  // namespace tdsl::passes
