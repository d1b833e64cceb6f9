#pragma once

#include "codegen/operations/builder.h"

namespace tdsl::codegen {

/// Fills `op.reads` and the kernel's `operand` and `checked` from the reads of kernel.compute, and adds the checks of
/// affine subscripts that are evaluated unconditionally. Pre: `op.labels` is set.
/// Reads of one tensor whose subscripts differ by small compile-time constants become one access; with `separate`
/// (contractions) every read has its own access. Non-affine subscripts access the whole dimension, with a warning
/// [gathered], or a GathersStep if sizes are unknown at compile time.
void find_accesses(ProgramBuilder& builder, RecordedOp& op, ComputeKernel& kernel, SourceRange range, bool separate);

/// Adds a check of an affine subscript unless it is provably in bounds at compile time.
void check_affine(ProgramBuilder& builder, const AffineForm& form, const std::vector<ir::Label>& labels,
                  const Extent& extent, const std::string& text, SourceRange range);

}  // namespace tdsl::codegen
