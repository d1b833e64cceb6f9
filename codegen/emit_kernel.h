#pragma once

#include <functional>
#include <string>
#include <vector>

#include "codegen/emit_expr.h"
#include "codegen/families.h"
#include "codegen/writer.h"

namespace tdsl::codegen {

/// A kernel function as emitted, and how to call it.
struct EmittedKernel {
  std::string function;               ///< the whole definition
  std::vector<ValueId> captures;      ///< host values it takes after the TaskArgs, in order
  bool checks_subscripts = false;     ///< calls inside()
  bool blocked = false;               ///< uses runtime/kernels/blocked_reduction.h
};

struct KernelRequest {
  const FamilyProgram& program;
  const OperationStep& step;
  std::string name;  ///< of the function
  ir::SourceRange place;
  std::function<std::string(ValueId)> value_name;  ///< unique C++ name of a value
  ExprEmitter::ProcedureName procedure_name;
};

/// The kernel of an operation as a typed C++ function of `const rt::TaskArgs& t` and host values.
///
/// Loop order. Without reduction the loops follow the output's dimensions. A reduction runs either with its reduce labels
/// innermost, into a scalar, or with the last output dimension innermost, into a row of the output, whichever reads
/// memory in order; per element the reduce labels always run in index order. A reduction with two free labels that blocking.h can
/// split is handed to the runtime's register-blocked loops.
[[nodiscard]] EmittedKernel emit_kernel(const KernelRequest& request);

}  // namespace tdsl::codegen
