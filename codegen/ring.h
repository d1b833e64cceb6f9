#pragma once

#include <unordered_set>

#include "codegen/affine.h"
#include "codegen/family_builder.h"

// Subscripts on a ring: `mod(i + c, n)` and `(i + c) % n` on a dimension of n elements.
//
//   R[(i + 1) % n] = A[i]       becomes   R[i] = A[mod(i - 1, n)]
//   A[mod(i - 1, n)]            becomes   i - 1 >= 0 ? A[i - 1] : A[i - 1 + n]
//
// Afterwards every subscript is affine: a task asks for its neighbours' edges, not for the whole dimension.

namespace tdsl::codegen {

/// Moves the ring from the left side to the right, where the label runs once around it and occurs nowhere else on the
/// left. `shape` are the result's extents. Returns whether anything changed.
bool unroll_left_ring(ir::Compute& compute, const std::vector<Extent>& shape, const Hoist& hoist);

/// Replaces ring subscripts of reads by a choice between two affine ones. `trusted` gets the new reads, which are
/// inside their dimension wherever they are evaluated.
[[nodiscard]] Expr unroll_ring_reads(const Expr& e, const std::vector<LabelTemplate>& labels, FamilyBuilder& builder, SourceRange range,
                                     std::unordered_set<const ir::ExprNode*>& trusted);

}  // namespace tdsl::codegen
