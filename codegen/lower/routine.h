#pragma once

#include "codegen/families/family_builder.h"

namespace tdsl::codegen {

/// Lowers a library routine to a call of the runtime's. What runs on one rank warns `[gathered]` if its operands are
/// known to have more than plan::kGatheredBytes and it has no distributed form.
void lower_routine(FamilyBuilder& builder, const ir::Node& node, const ir::Routine& routine);

}  // namespace tdsl::codegen
