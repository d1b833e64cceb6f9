#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "ir/algebra/layout.h"
#include "runtime/plan/space/layout.h"

namespace tdsl::codegen {

/// A planner layout on some dimensions: dimension d has the axes of slot `slots[d]`; axes of other slots are copies.
/// Nothing for layouts that are not cuts of the mesh: block maps, and single ranks other than the first.
[[nodiscard]] std::optional<ir::algebra::Layout> on_sites(const plan::Layout& layout,
                                                          const std::vector<std::size_t>& slots, std::size_t axes);
/// 0, 1, .. count - 1: the slots of an output's dimensions.
[[nodiscard]] std::vector<std::size_t> first_slots(std::size_t count);

}  // namespace tdsl::codegen
