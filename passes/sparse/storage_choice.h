#pragma once

#include <map>
#include <set>
#include <string>

#include "ir/graph/graph.h"

namespace tdsl::passes {

/// How the values that have sparse dimensions are stored.
struct StorageChoice {
  std::map<ir::ValueId, int> compressed;     ///< with the number of operations that read stored elements alone
  std::map<ir::ValueId, std::string> dense;  ///< the others, and why
};

enum class Candidates : unsigned char { kAll, kMarked };

/// Compressed are the matrices that at least one operation walks (ir/analysis/stored_walk.h), or reads at the row and
/// column that it walks: inputs, and results of walks that have the walked coordinates or accumulate their rows, of
/// rearrangements (ir/analysis/rearrangement.h), and of what is computed at all points if something walks these
/// results. What a loop or branch carries is compressed if all that is assigned to it is. With kMarked only values that
/// are marked already can be. Loops that run as one task and nests of operators walk nothing.
[[nodiscard]] StorageChoice choose_storage(const ir::Program& program, Candidates candidates);

/// The node `copy[i, j] = v[i, j]`, for values of any rank.
[[nodiscard]] ir::Node copying(const ir::Program& program, ir::ValueId v, ir::ValueId copy,
                               const ir::SourceRange& range);
/// Whether the Compute is `D[i, j] = A[i, j]`; then A.
[[nodiscard]] ir::ValueId copied_matrix(const ir::Compute& c);

}  // namespace tdsl::passes
