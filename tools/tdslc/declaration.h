#pragma once

#include "ir/graph/graph.h"
#include "runtime/app/options/options.h"

namespace tdsl::tools {

/// What the executable's command line is made from: so that tdslc understands program options exactly as it does.
[[nodiscard]] rt::ProgramDeclaration declaration_of(const ir::Program& program);
/// The runtime's name of a scalar type.
[[nodiscard]] rt::ElementType element_type_of(ir::Scalar s);
/// A value given on the command line as a constant of the IR.
[[nodiscard]] ir::Literal literal_of(const rt::ScalarValue& value);

}  // namespace tdsl::tools
