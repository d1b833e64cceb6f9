#pragma once

#include <functional>
#include <string>
#include <vector>

#include "codegen/operations/program.h"
#include "codegen/print/emit_expr.h"
#include "codegen/print/needs.h"

namespace tdsl::codegen {

/// A serial loop as a C++ function, and how to call it.
struct EmittedLoop {
  std::string function;
  std::vector<ValueId> captures;  ///< host values it takes after the TaskArgs, in order
  Needs needs;
  bool draws = false;  ///< takes the seed of the run's random numbers after those
};

struct LoopRequest {
  const OperationProgram& program;
  const LoopStep& step;
  std::string name;  ///< of the function
  ir::SourceRange place;
  std::function<std::string(ValueId)> value_name;           ///< unique C++ name of a host value
  std::function<std::string(ir::SourceRange)> source_line;  ///< a comment that shows the line
  ExprEmitter::ProcedureName procedure_name;
};

/// The loop as written, with typed locals (build_nest.h), verified and printed. A failure stops the run at once.
[[nodiscard]] EmittedLoop emit_loop(const LoopRequest& request);

}  // namespace tdsl::codegen
