#pragma once

#include "codegen/families/family_builder.h"

namespace tdsl::codegen {

/// Fills `op.reads` and the kernel's `operand` and `checked` from the reads of kernel.compute, and adds the checks of
/// affine subscripts that are evaluated unconditionally. `op.labels` must be there.
/// Reads of one tensor whose subscripts differ by small compile-time constants become one access; with `separate`
/// (contractions) every read keeps its own. Non-affine subscripts take the whole dimension, with a warning [gathered],
/// or a GathersStep while sizes are open.
void find_accesses(FamilyBuilder& builder, RecordedOp& op, ComputeKernel& kernel, SourceRange range, bool separate);

/// Adds the check of an affine subscript unless it is known to be inside at compile time.
void check_affine(FamilyBuilder& builder, const AffineForm& form, const std::vector<ir::Label>& labels,
                  const Extent& extent, const std::string& text, SourceRange range);

}  // namespace tdsl::codegen
