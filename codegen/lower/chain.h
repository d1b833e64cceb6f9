#pragma once

#include "codegen/families/family_builder.h"

namespace tdsl::codegen {

/// Adds the steps of a chain of matrix products: checks of its operands, and one step that records it.
void lower_chain(FamilyBuilder& builder, const ir::Node& node, const ir::Chain& chain);

}  // namespace tdsl::codegen
