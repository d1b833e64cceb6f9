#pragma once

#include "codegen/operations/builder.h"

namespace tdsl::codegen {

/// Lowers a matrix product with its elementwise epilogue (ir::Fused::epilogue) to one operation: the operands of the
/// contraction, then those of the map. The map has its usual kernel, which reads the product in place.
void lower_epilogue(ProgramBuilder& builder, const ir::Node& node, const ir::Fused& fused);

/// True if the product and its epilogue both read the tensor. It then occurs in two arguments of the emitted call,
/// which C++ may evaluate in any order.
[[nodiscard]] bool is_read_by_both(const OperationStep& step, ValueId tensor);

}  // namespace tdsl::codegen
