#pragma once

#include "ir/graph/extent_facts.h"
#include "passes/schedule/scop.h"

namespace tdsl::passes {

/// Separates sums of products over a triangle from their stores: `C[i, j] += sum[k](A[i, k] * B[k, j])` for j in i..n
/// becomes `t = sum[k](A[i, k] * B[k, j]); C[i, j] += t`. With copies of t for all i and j its range may become a
/// rectangle, and the sum a product of matrices. Returns the number of separated sums; each `t` is a new array. Adds
/// values to `program`.
[[nodiscard]] std::size_t separate_products(ir::Program& program, Scop& scop, const ir::ExtentFacts& facts);

/// The Compute at all values of the statement's loops, which become labels in front of its own; nothing if ranges are
/// unknown. For questions about the expressions: it stores nothing.
[[nodiscard]] std::optional<ir::Compute> over_all_loops(const Scop& scop, const ScopStatement& s);

}  // namespace tdsl::passes
