#pragma once

#include <string>
#include <vector>

#include "codegen/families/families.h"

namespace tdsl::codegen {

/// Every violated invariant of the operation program as one sentence; empty if it is well formed:
/// - values are defined before use and within scope; variables are declared before they are assigned
/// - a tensor is not used after its release or move; branches and forms release the same tensors of outer scopes, and
/// an
///   iteration ends with the same tensors as it began with
/// - conditions, loop bounds and the numbers of operations are host values; operands, outputs and released values are
///   tensors; copies stay on one side
/// - labels, operands and dimensions of operations are in range
/// - sites are distinct and between 1 and the program's number of sites
[[nodiscard]] std::vector<std::string> verify(const FamilyProgram& program);

}  // namespace tdsl::codegen
