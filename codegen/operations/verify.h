#pragma once

#include <string>
#include <vector>

#include "codegen/operations/program.h"

namespace tdsl::codegen {

/// One sentence per violated invariant of the operation program; empty if it is well formed:
///   - scopes: values are defined before their uses, variables are declared before they are assigned;
///   - releases: a tensor is not used after its release or move; all branches and variants release the same tensors of
///     outer scopes; an iteration releases none of them;
///   - conditions, loop bounds and numbers in operations are host values; operands, outputs and released values are
///     tensors; source and target of a copy are both host values or both tensors;
///   - labels, operands and dimensions of operations are in range;
///   - sites are distinct and between 1 and the program's number of sites.
[[nodiscard]] std::vector<std::string> verify(const OperationProgram& program);
/// Stops the compiler with the first violation, if any.
void require_valid(const OperationProgram& program);

}  // namespace tdsl::codegen
