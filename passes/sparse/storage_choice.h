#pragma once

#include <map>
#include <set>
#include <string>

#include "passes/rewriting.h"

namespace tdsl::passes {

/// The storage of values with sparse dimensions.
struct StorageChoice {
  ir::Program program;                       ///< with the chosen formats
  std::map<ir::ValueId, int> compressed;     ///< with the number of operations that read only stored elements
  std::map<ir::ValueId, std::string> dense;  ///< the other values, with the reason
};

enum class Candidates : unsigned char { kAll, kMarked };

/// Compresses the matrices over which at least one operation iterates (passes/sparse/iteration.h), or that it reads at
/// the row and column of its sparse iteration: inputs; results of sparse iterations that have the same coordinates or
/// accumulate their rows; rearrangements (ir/analysis/rearrangement.h); and results computed at all points, if an
/// operation iterates over them. A loop- or branch-carried variable is compressed if all values assigned to it are.
/// With kMarked, only values already marked are candidates. Loops that run as one task and fused nests have no sparse
/// iteration.
[[nodiscard]] StorageChoice choose_storage(ir::Program program, Candidates candidates);

/// Calls `f` with every Compute that is an operation: its node, the Compute, and the number of enclosing loops.
template <class Nodes, class F>
void for_each_operation(Nodes& nodes, int loops, const F& f) {
  for (auto& n : nodes) {
    if (auto* c = std::get_if<ir::Compute>(&n.op)) f(n, *c, loops);
    if (!holds_operations(n)) continue;
    const bool loop = std::holds_alternative<ir::For>(n.op) || std::holds_alternative<ir::While>(n.op);
    for (auto* inner : regions_in(n)) for_each_operation(inner->nodes, loops + (loop ? 1 : 0), f);
  }
}

/// True where the element is not 0.
[[nodiscard]] ir::Expr is_present(const ir::Expr& element);
/// The node `copy[i, j] = v[i, j]`, for values of any rank.
[[nodiscard]] ir::Node copying(const ir::Program& program, ir::ValueId v, ir::ValueId copy,
                               const ir::SourceRange& range);
/// The matrix A if the node is a Compute `D[i, j] = A[i, j]`, else an invalid id.
[[nodiscard]] ir::ValueId copied_matrix(const ir::Node& node);

}  // namespace tdsl::passes
