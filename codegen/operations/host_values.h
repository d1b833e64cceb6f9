#pragma once

#include <set>
#include <vector>

#include "ir/graph/graph.h"

namespace tdsl::codegen {

/// The program's *host* values: rank 0 and dependent only on params, dimensions, loop variables, iteration numbers,
/// extents and other host values, including through loops and branches. One flag per value.
[[nodiscard]] std::vector<bool> host_values(const ir::Program& program);

/// True if the Compute is plain scalar arithmetic, given that its operands are host values: rank 0, no reduction.
[[nodiscard]] bool is_scalar_arithmetic(const ir::Compute& compute);

/// True if every rank runs the loop itself: it only uses host values.
[[nodiscard]] bool runs_on_host(const ir::Program& program, const ir::Node& loop, const std::vector<bool>& host);

/// Values that the loop uses and does not define, in numerical order.
[[nodiscard]] std::set<ir::ValueId> outer_values(const ir::Program& program, const ir::Node& loop);

}  // namespace tdsl::codegen
