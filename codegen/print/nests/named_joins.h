#pragma once

#include <string>

#include "codegen/nest/nest.h"

namespace tdsl::nest {

/// The function of a blocked reduction in runtime/kernels/blocked/joins.h, whose loops are compiled in the runtime
/// library: `sum_of_squares`. Empty: it has none. `type`: of the result.
[[nodiscard]] std::string named_join(const BlockedReduction& b, ir::Scalar type);

}  // namespace tdsl::nest
