#pragma once

#include "codegen/operations/program.h"
#include "codegen/print/emit_expr.h"
#include "codegen/print/needs.h"

namespace tdsl::codegen {

/// The call that makes the kernel of a rearranged matrix (runtime/kernels/rearranged.h).
[[nodiscard]] Code rearranged_kernel(const OperationProgram& program, const OperationStep& step, ExprEmitter& expr);

}  // namespace tdsl::codegen
