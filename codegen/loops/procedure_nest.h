#pragma once

#include <string>

#include "codegen/nest/nest.h"
#include "ir/graph/procedure.h"

namespace tdsl::codegen {

/// The procedure as the nest of the function `name`: variables are declared as far inside as they are used. It is none
/// of the user's (`foreign`).
[[nodiscard]] nest::Nest build_nest(const ir::Procedure& procedure, const std::string& name);

}  // namespace tdsl::codegen
