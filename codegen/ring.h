#pragma once

#include <unordered_set>

#include "codegen/affine.h"
#include "codegen/family_builder.h"

// Subscripts on a ring: `mod(i + c, n)` and `(i + c) % n` on a dimension of n elements.
//
//   A[mod(i - 1, n)]            becomes   i - 1 >= 0 ? A[i - 1] : A[i - 1 + n]
//
// Afterwards every subscript is affine: a task asks for its neighbours' edges, not for the whole dimension.

namespace tdsl::codegen {

/// Replaces ring subscripts of reads by a choice between two affine ones. `trusted` gets the new reads, which are
/// inside their dimension wherever they are evaluated.
[[nodiscard]] Expr unroll_ring_reads(const Expr& e, const std::vector<LabelTemplate>& labels, FamilyBuilder& builder, SourceRange range,
                                     std::unordered_set<const ir::ExprNode*>& trusted);

}  // namespace tdsl::codegen
