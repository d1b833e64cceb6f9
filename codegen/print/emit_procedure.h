#pragma once

#include <functional>
#include <string>

#include "codegen/print/emit_expr.h"
#include "codegen/print/needs.h"
#include "ir/graph/procedure.h"

namespace tdsl::codegen {

/// The procedure as the function `name`, with typed locals declared in the innermost possible block. A failure stops
/// the run at once. Not for user functions (`foreign`). `apply`: the names of the procedures it applies.
[[nodiscard]] Code emit_procedure(const ir::Procedure& procedure, const std::string& name,
                                  const ExprEmitter::ProcedureName& apply);

}  // namespace tdsl::codegen
