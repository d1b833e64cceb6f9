#pragma once

#include <functional>
#include <string>
#include <vector>

#include "codegen/families/families.h"
#include "codegen/nest/nest.h"

namespace tdsl::codegen {

struct KernelNestRequest {
  const FamilyProgram& program;
  const OperationStep& step;
  std::string name;  ///< name of the function
  ir::SourceRange place;
  std::function<std::string(ValueId)> value_name;  ///< name of a host value
};

/// An operation's kernel as a loop nest.
struct KernelNest {
  nest::Nest nest;
  std::vector<ValueId> captured;  ///< the program's values for the nest's first variables
};

/// Builds the nest of an operation's kernel.
///
/// Loop order. Without reduction the loops follow the output's dimensions. A reduction runs either with its reduce
/// labels innermost, into a scalar, or with the last output dimension innermost, into a row of the output, whichever
/// reads memory contiguously; per element the reduce labels always run in index order. A reduction with two free labels
/// that blocking.h can split uses the runtime's register-blocked loops.
[[nodiscard]] KernelNest build_nest(const KernelNestRequest& request);

}  // namespace tdsl::codegen
