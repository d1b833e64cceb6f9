#pragma once

#include "codegen/family_builder.h"

namespace tdsl::codegen {

/// Lowers a library routine. Along lines: one operation that never cuts the axis, distributed over the other dimensions.
/// Of matrices: one operation of one task that packs all results into one tensor, and one element-wise operation per
/// result that takes it out again (layouts: runtime/routines/matrix.h). What runs on one rank warns `[gathered]` unless
/// its operands are known to have at most plan::kGatheredBytes. Those
/// with a distributed form (blocked.h) get both, and the run chooses.
void lower_routine(FamilyBuilder& builder, const ir::Node& node, const ir::Routine& routine);

}  // namespace tdsl::codegen
