#pragma once

#include <map>
#include <set>
#include <string>

#include "ir/graph/graph.h"

namespace tdsl::passes {

/// The storage of values with sparse dimensions.
struct StorageChoice {
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
[[nodiscard]] StorageChoice choose_storage(const ir::Program& program, Candidates candidates);

/// The node `copy[i, j] = v[i, j]`, for values of any rank.
[[nodiscard]] ir::Node copying(const ir::Program& program, ir::ValueId v, ir::ValueId copy,
                               const ir::SourceRange& range);
/// The matrix A if the Compute is `D[i, j] = A[i, j]`, else an invalid id.
[[nodiscard]] ir::ValueId copied_matrix(const ir::Compute& c);

}  // namespace tdsl::passes
