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
  std::string name;  ///< of the function
  ir::SourceRange place;
  std::function<std::string(ValueId)> value_name;  ///< unique C++ name of a host value
};

/// A loop that runs as one task as the nest of that task.
struct LoopNest {
  nest::Nest nest;
  std::vector<ValueId>
      captured;  ///< the program's values that the nest's first variables are; of later ones, invalid ones
};

/// The loop as the program says it, with typed locals: values that may share a variable do
/// (ir/analysis/loop_variables.h), and subscripts are bounded unless they are inside by compile-time algebra.
[[nodiscard]] LoopNest build_nest(const LoopNestRequest& request);

}  // namespace tdsl::codegen
