#pragma once

#include <functional>
#include <string>

#include "codegen/print/emit_expr.h"
#include "codegen/print/needs.h"
#include "ir/graph/procedure.h"

namespace tdsl::codegen {

/// The procedure as the function `name`, with typed locals declared as far inside as they are used. What fails stops
/// the run at once. It is none of the user's (`foreign`). `apply`: the names of the procedures it applies.
[[nodiscard]] Code emit_procedure(const ir::Procedure& procedure, const std::string& name,
                                  const ExprEmitter::ProcedureName& apply);

}  // namespace tdsl::codegen
