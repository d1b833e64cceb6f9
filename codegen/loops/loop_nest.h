#pragma once

#include <functional>
#include <string>
#include <vector>

#include "codegen/families/families.h"
#include "codegen/nest/nest.h"

namespace tdsl::codegen {

struct LoopNestRequest {
  const FamilyProgram& program;
  const LoopStep& step;
  std::string name;  ///< name of the function
  ir::SourceRange place;
  std::function<std::string(ValueId)> value_name;  ///< unique C++ name of a host value
};

/// The nest of a loop that runs as one task.
struct LoopNest {
  nest::Nest nest;
  std::vector<ValueId> captured;  ///< the program's values for the nest's first variables; later entries are invalid
};

/// Translates the loop as written, with typed locals: values that may share a variable do
/// (ir/analysis/loop_variables.h), and subscripts are checked unless proven in bounds at compile time.
[[nodiscard]] LoopNest build_nest(const LoopNestRequest& request);

}  // namespace tdsl::codegen
