#pragma once

#include <optional>
#include <set>
#include <vector>

#include "ir/graph/graph.h"

namespace tdsl::passes {

/// A separate matrix, or a dense vector for it, and the compressed matrices without which it is useless.
struct SeparateMatrix {
  ir::ValueId value;
  ir::Compute compute;
  std::set<ir::ValueId> from;
};
/// A Compute with replaced reads, and the new matrices that it reads.
struct SeparatedReads {
  ir::Compute compute;
  std::vector<SeparateMatrix> made;
};

/// The Compute with separate matrices for its reads as in rearranged_reads.h, whose values are added to `program`, in
/// which all candidates are marked. Nothing if it already iterates over its matrices, or would not afterwards.
/// `sparse`: the result has sparse dimensions and may be compressed; a compressed matrix then must be. Otherwise
/// diagonals are separated in reductions only, since a dense matrix takes the memory of a dense copy.
[[nodiscard]] std::optional<SeparatedReads> separated_reads(ir::Program& program, const ir::Compute& compute,
                                                            const ir::Type& result, bool sparse);

}  // namespace tdsl::passes
