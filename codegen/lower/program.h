#pragma once

#include "codegen/operations/program.h"

namespace tdsl::codegen {

/// Lowers an index graph (after the passes). Different spellings of one computation give equal operations. The
/// result is verified. Throws NotSupported.
[[nodiscard]] OperationProgram lower(const ir::Program& program);

}  // namespace tdsl::codegen
