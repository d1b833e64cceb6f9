#pragma once

#include <vector>

#include "codegen/family_builder.h"

namespace tdsl::codegen {

/// Where a routine's results go: tensors that do not exist yet, in the order of the node's results.
struct BlockedRoutine {
  ir::Routine::Kind kind = ir::Routine::Kind::kCholesky;
  std::vector<ValueId> operands;
  std::vector<ValueId> results;
  SourceRange range;
  std::int64_t axis = 0;  ///< of a routine along lines
};

/// Whether the routine has a distributed form at all.
[[nodiscard]] bool has_blocked_form(ir::Routine::Kind kind);

/// Adds the steps of the distributed form. Results depend on sizes alone, not on ranks. Matrices are taken in block columns of b = min(256, max(2, k / 8)) columns:
///
///     cholesky   C = cholesky(D), X C' = P, S -= X X'                          one panel of b x b on one rank per step
///     lu         (F, p, D) = panel of S[:, lo:hi], T = D^-1 S[p[lo:hi], hi:], S -= M T     rows never move: p says which;
///                M is F left of the diagonal; L and U stay in S
///     solve      lu of [A b], whose last columns y become L^-1 P b; then x = D^-1 y[p[lo:hi]], y -= S[:, lo:hi] x backwards
///     cumsum     sums of up to 64 blocks of the line, sums of the blocks before each, running sums of the blocks
///     topk       of a vector: blocked_topk.h
///     qr         of m >= 2 n: blocks of rows by themselves, their R stacked (Benson, Gleich and Demmel 2013); Q directly, from
///                each block's, or indirectly as A R^-1 with one refinement, which is cheaper for many rows
///
/// All products are contractions over all ranks, added to S in place. The memory is that of one distributed copy and a few
/// panels: an operation may receive one block column ahead of its time. What is not finite may spread to rows of U above it.
void add_blocked_form(FamilyBuilder& builder, const BlockedRoutine& routine);

}  // namespace tdsl::codegen
