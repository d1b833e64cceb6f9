#pragma once

#include "codegen/family_builder.h"

namespace tdsl::codegen {

/// One operation for a fused operator with one result. Its tasks are parts of the shared labels' ranges, along which its
/// operands and, if it is aligned, its result are cut; everything else of them a task has whole.
void lower_fused(FamilyBuilder& builder, const ir::Node& node, const ir::Fused& fused);

}  // namespace tdsl::codegen
