#pragma once

#include <string>

#include "codegen/families/families.h"
#include "codegen/print/emit_expr.h"

namespace tdsl::codegen {

/// The call that makes the kernel of a rearranged matrix (runtime/kernels/rearranged.h).
[[nodiscard]] std::string rearranged_kernel_text(const OperationStep& step, ExprEmitter& expr);

}  // namespace tdsl::codegen
