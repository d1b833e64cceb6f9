#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "ir/graph/graph.h"

namespace tdsl::codegen {

/// The value of an integer constant that is too small to cause an overflow if it is added repeatedly: no run is long
/// enough.
[[nodiscard]] std::optional<std::int64_t> small_constant(const ir::Expr& e);
/// The small constant added to a scalar for which `is_variable` holds: 1 for `add(1, %step)`.
[[nodiscard]] std::optional<std::int64_t> increment_of(const ir::Expr& e,
                                                       const std::function<bool(ir::ValueId)>& is_variable);

}  // namespace tdsl::codegen
