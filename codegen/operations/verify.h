#pragma once

#include <string>
#include <vector>

#include "codegen/families/families.h"

namespace tdsl::codegen {

/// One sentence per violated invariant of the operation program; empty if it is well formed:
///   - scopes: values are defined before their uses, variables are declared before they are assigned;
///   - releases: a tensor is not used after its release or move; branches and forms release the same tensors of outer
///     scopes; an iteration keeps those of outer scopes;
///   - conditions, loop bounds and numbers of operations are host values; operands, outputs and released values are
///     tensors; a copy does not change between host and tensor;
///   - labels, operands and dimensions of operations are in range;
///   - sites are distinct and between 1 and the program's number of sites.
[[nodiscard]] std::vector<std::string> verify(const FamilyProgram& program);
/// Stops the compiler with the first violation, if any.
void require_valid(const FamilyProgram& program);

}  // namespace tdsl::codegen
