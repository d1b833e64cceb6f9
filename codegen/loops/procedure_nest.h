#pragma once

#include <string>

#include "codegen/nest/nest.h"
#include "ir/graph/procedure.h"

namespace tdsl::codegen {

/// The procedure as the nest of the function `name`: variables are declared in the innermost possible block. Not for
/// user functions (`foreign`).
[[nodiscard]] nest::Nest build_nest(const ir::Procedure& procedure, const std::string& name);

}  // namespace tdsl::codegen
