#pragma once

#include <vector>

#include "codegen/nest/nest.h"
#include "codegen/operations/program.h"

namespace tdsl::codegen {

/// The nests of a program's kernels and serial loops, in program order, with interiors split from edges as in emitted
/// code. Products by BLAS and kernels of the runtime and of users have none.
[[nodiscard]] std::vector<nest::Nest> nests_of(const OperationProgram& program);

}  // namespace tdsl::codegen
