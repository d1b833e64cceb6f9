#pragma once

#include "codegen/families/family_builder.h"

namespace tdsl::codegen {

/// One operation for a product of matrices and what is computed of its elements (ir::Fused::epilogue): the contraction,
/// whose operands are followed by those of the map behind it. The map's kernel is the one it would have by itself; it
/// reads the product where it writes.
void lower_epilogue(FamilyBuilder& builder, const ir::Node& node, const ir::Fused& fused);

/// Whether the product and its epilogue both read the tensor. It stands in two arguments of the emitted call then, of
/// which C++ may evaluate the second one first.
[[nodiscard]] bool is_read_by_both(const OperationStep& step, ValueId tensor);

}  // namespace tdsl::codegen
