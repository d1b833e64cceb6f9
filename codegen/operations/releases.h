#pragma once

#include "codegen/operations/program.h"

namespace tdsl::codegen {

/// Removes unused host arithmetic, tensors and reads that cannot fail at run time.
void drop_unused(OperationProgram& program);

/// Adds a ReleaseStep after the last use of every tensor, or marks the copy that is its last use as a move (`move`).
/// Values carried by a loop are released inside the body right after the iteration's last use.
void add_releases(OperationProgram& program);

}  // namespace tdsl::codegen
