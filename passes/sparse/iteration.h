#pragma once

#include <optional>

#include "ir/graph/graph.h"

namespace tdsl::passes {

/// The sparse iteration that visits every point which can change the Compute's result (ir/analysis/iteration_rules.h);
/// nothing if there is none and the result is dense, or nothing makes such a compressed result. Among several possible
/// drivers, the one whose iteration covers the most other operands; if there is none, the smallest sufficient set of
/// operands with the same subscripts is co-iterated. A compressed result that its loops cannot make has kDense as
/// `result` unless it is moved or computed at all points.
[[nodiscard]] std::optional<ir::SparseIteration> sparse_iteration(const ir::Program& program,
                                                                  const ir::Compute& compute, bool compressed_result);
/// The same for a node; nothing unless it is a Compute.
[[nodiscard]] std::optional<ir::SparseIteration> sparse_iteration(const ir::Program& program, const ir::Node& node);
/// True if the node reads only stored elements of the compressed tensor: its sparse iteration visits them.
[[nodiscard]] bool reads_stored(const ir::Program& program, const ir::Node& node, ir::ValueId tensor);
/// True if the node only moves elements of compressed matrices into another one (ir/analysis/rearrangement.h).
[[nodiscard]] bool moves_elements(const ir::Program& program, const ir::Node& node);

}  // namespace tdsl::passes
