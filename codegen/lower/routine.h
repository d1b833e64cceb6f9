#pragma once

#include "codegen/families/family_builder.h"

namespace tdsl::codegen {

/// Lowers a library routine to a call of the runtime's. Routines without a distributed variant run on one rank and warn
/// `[gathered]` if their operands are known to have more than plan::kGatheredBytes.
void lower_routine(FamilyBuilder& builder, const ir::Node& node, const ir::Routine& routine);

}  // namespace tdsl::codegen
