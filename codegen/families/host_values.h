#pragma once

#include <vector>

#include "ir/graph/graph.h"

namespace tdsl::codegen {

/// Which values of the program are *host* values: rank 0 and dependent only on params, dimensions, loop variables,
/// iteration numbers, extents and other host values, through loops and branches too. One flag per value.
[[nodiscard]] std::vector<bool> host_values(const ir::Program& program);

/// Whether the Compute is plain scalar arithmetic, given that its operands are host values: rank 0, nothing reduced.
[[nodiscard]] bool is_scalar_arithmetic(const ir::Compute& compute);

}  // namespace tdsl::codegen
