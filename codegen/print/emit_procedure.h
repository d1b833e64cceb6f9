#pragma once

#include <functional>
#include <string>

#include "codegen/print/emit_expr.h"
#include "ir/graph/procedure.h"

namespace tdsl::codegen {

/// A procedure as a C++ function, and whether it calls place().
struct EmittedProcedure {
  std::string function;
  bool uses_file = false;
};

/// The procedure as the function `name`, with typed locals declared as far inside as they are used. What fails stops
/// the run at once. It is none of the user's (`foreign`). `apply`: the names of the procedures it applies.
[[nodiscard]] EmittedProcedure emit_procedure(const ir::Procedure& procedure, const std::string& name,
                                              const ExprEmitter::ProcedureName& apply);

}  // namespace tdsl::codegen
