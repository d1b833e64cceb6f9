#pragma once

#include "codegen/operations/builder.h"

namespace tdsl::codegen {

/// Lowers a library routine to a call of the runtime's. Routines without a distributed variant run on one rank and warn
/// `[gathered]` if their operands are known to have more than plan::kGatheredBytes.
void lower_routine(ProgramBuilder& builder, const ir::Node& node, const ir::Routine& routine);

}  // namespace tdsl::codegen
