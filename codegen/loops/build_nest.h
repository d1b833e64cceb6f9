#pragma once

#include <functional>
#include <string>
#include <vector>

#include "codegen/nest/nest.h"
#include "codegen/operations/program.h"
#include "ir/graph/procedure.h"
#include "runtime/kernels/simd_level.h"

namespace tdsl::codegen {

struct NestRequest {
  const OperationProgram& program;
  std::string name;  ///< name of the function
  ir::SourceRange place;
  std::function<std::string(ValueId)> value_name;  ///< unique C++ name of a host value
};

struct BuiltNest {
  nest::Nest nest;
  std::vector<ValueId> captured;                    ///< the program's values for the nest's captures, by variable
  rt::SimdLevel widest = rt::SimdLevel::kBaseline;  ///< of fused rows: the widest vectors that make them faster
};

/// An operation's kernel as a loop nest.
///
/// Loop order. Without reduction the loops follow the output's dimensions. A reduction runs either with its reduce
/// labels innermost, into a scalar, or with the last output dimension innermost, into a row of the output, whichever
/// reads memory contiguously; per element the reduce labels always run in index order. A reduction with two free labels
/// that blocking.h can split uses the runtime's register-blocked loops. Fused operators run one after the other on each
/// block of rows (runtime/kernels/rows.h).
[[nodiscard]] BuiltNest build_nest(const NestRequest& request, const OperationStep& step);

/// A loop that runs as one task, as written, with typed locals: values that may share a variable do
/// (ir/analysis/loop_variables.h), and subscripts are checked unless proven in bounds at compile time.
[[nodiscard]] BuiltNest build_nest(const NestRequest& request, const LoopStep& step);

/// The procedure as the nest of the function `name`: variables are declared in the innermost possible block. Not for
/// user functions (`foreign`).
[[nodiscard]] nest::Nest build_nest(const ir::Procedure& procedure, const std::string& name);

}  // namespace tdsl::codegen
