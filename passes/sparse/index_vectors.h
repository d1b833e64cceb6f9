#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/graph/graph.h"
#include "passes/sparse/separated_reads.h"

namespace tdsl::passes {

/// True if a vector can hold the subscript's values: it has at most one index variable, and reads no compressed tensor.
[[nodiscard]] bool fits_in_vector(const ir::Program& program, const ir::Expr& subscript);

/// The index variable of such a subscript, or of an affine one; -1 if it has none.
[[nodiscard]] std::int32_t label_in(const ir::Expr& subscript);

/// The read of a matrix in a Compute over `labels`, which start at 0, with vectors for subscripts that are neither
/// affine nor periodic nor elements of vectors, so that the Compute moves elements (ir/analysis/rearrangement.h):
///
///     %1[add(%2[i], 1), j]     becomes     %1[%4[i], j]     with     %4 = compute [i in 0..%0] (add(%2[i], 1))
///
/// The vectors are added to `program` and `made`. All subscripts must fit in vectors.
[[nodiscard]] ir::Expr with_index_vectors(ir::Program& program, const ir::Expr& read,
                                          const std::vector<ir::Label>& labels, std::vector<SeparateMatrix>& made);
/// A Compute that only reads a matrix at such subscripts, with vectors in their place, if it moves elements then.
[[nodiscard]] std::optional<SeparatedReads> selection(ir::Program& program, const ir::Compute& compute);

}  // namespace tdsl::passes
