#pragma once

#include <string>
#include <vector>

#include "codegen/nest/nest.h"

namespace tdsl::nest {

/// One sentence per violated invariant; empty if the nest is well formed:
///   - scopes: indices are used inside their loops or after their checks, locals after their definitions, results are
///     only written;
///   - types of expressions and of writes; ranks;
///   - updated results are initialised: by a fill, or because they are continued;
///   - vector loops contain nothing that may stop the run, and their iterations are independent;
///   - compressed tensors: see verify_stored.
[[nodiscard]] std::vector<std::string> verify(const Nest& nest);
/// Stops the compiler with the first violation, if any.
void require_valid(const Nest& nest);

}  // namespace tdsl::nest
