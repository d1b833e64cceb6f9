#pragma once

#include "codegen/operations/builder.h"

namespace tdsl::codegen {

/// Lowers a user's kernel to one operation of one task, which reads whole operands like a loop that is one task. The
/// run reports large gathers.
void lower_foreign(ProgramBuilder& builder, const ir::Node& node, const ir::Routine& routine);

}  // namespace tdsl::codegen
