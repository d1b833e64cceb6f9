#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "ir/graph/graph.h"

namespace tdsl::codegen {

/// The integer constant, if it is so small that no run is long enough for a sum of it to overflow.
[[nodiscard]] std::optional<std::int64_t> small_constant(const ir::Expr& e);
/// The small constant that is added to one of these scalars: 1 of `add(1, %step)`.
[[nodiscard]] std::optional<std::int64_t> increment_of(const ir::Expr& e,
                                                       const std::function<bool(ir::ValueId)>& is_variable);

}  // namespace tdsl::codegen
