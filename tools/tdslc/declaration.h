#pragma once

#include "ir/graph/graph.h"
#include "runtime/app/options/options.h"

namespace tdsl::tools {

/// Declarations that determine the executable's command line, so that tdslc parses program options exactly as it does.
[[nodiscard]] rt::ProgramDeclaration declaration_of(const ir::Program& program);
/// A command line value as an IR constant.
[[nodiscard]] ir::Literal literal_of(const rt::ScalarValue& value);

}  // namespace tdsl::tools
