#pragma once

#include <optional>
#include <vector>

#include "ir/analysis/contraction.h"
#include "ir/graph/graph.h"

// Sums of products in which a factor can be summed ahead: sum[i, j, k](X[i, k] * Y[k, j]) is
// sum[k](sum[i](X[i, k]) * sum[j](Y[k, j])).

namespace tdsl::passes {

/// The factors of such a sum, and per factor the summed index variables that no other factor has.
struct PushedSums {
  std::vector<ir::FactorGroup> factors;
  std::vector<ir::LabelSet> own;
};

/// Nothing unless the Compute is an unconditional float sum of products of dense tensors that cannot stop the run, and
/// the separate sums take far fewer operations for all but small sizes.
[[nodiscard]] std::optional<PushedSums> pushed_sums(const ir::Program& program, const ir::Compute& c);

/// Sums the factors ahead, in Computes appended to `before`.
void push_sums(ir::Program& program, ir::Compute& c, const PushedSums& sums, ir::SourceRange range,
               std::vector<ir::Node>& before);

}  // namespace tdsl::passes
