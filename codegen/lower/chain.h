#pragma once

#include "codegen/operations/builder.h"

namespace tdsl::codegen {

/// Adds the steps of a chain of matrix products: checks of its operands, and one step that records it.
void lower_chain(ProgramBuilder& builder, const ir::Node& node, const ir::Chain& chain);

}  // namespace tdsl::codegen
