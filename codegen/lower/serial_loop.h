#pragma once

#include "codegen/operations/builder.h"

namespace tdsl::codegen {

/// Lowers a loop that is marked serial (ir/analysis/serial_loop.h) to one operation with one task, which reads its
/// tensors whole and returns the final carried values. The run warns if it gathers large tensors.
void lower_serial_loop(ProgramBuilder& builder, const ir::Program& program, const ir::Node& loop);

}  // namespace tdsl::codegen
