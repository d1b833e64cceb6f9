#pragma once

#include "codegen/family_builder.h"

namespace tdsl::codegen {

/// Lowers a library routine. Along lines: one operation that never cuts the axis, distributed over the other dimensions.
/// Of matrices: one operation of one task that packs all results into one tensor, and one element-wise operation per
/// result that takes it out again (layouts: runtime/routines/matrix.h). What runs on one rank warns `[gathered]` unless
/// its operands are known to have at most kGatheredBytes.
void lower_routine(FamilyBuilder& builder, const ir::Node& node, const ir::Routine& routine);

inline constexpr std::int64_t kGatheredBytes = std::int64_t{1} << 20;

}  // namespace tdsl::codegen
