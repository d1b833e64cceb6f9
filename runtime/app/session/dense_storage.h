#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "runtime/types.h"

namespace tdsl::rt {

/// Physical memory of this machine in bytes; 0 if unknown.
[[nodiscard]] std::int64_t physical_memory();

/// The error text for a dense tensor with more bytes than `memory` on each of `nodes` nodes; empty if it fits or if the
/// memory is unknown. `sparse`: its type has sparse dimensions although it is stored dense. Reported early, because the
/// kernel would otherwise kill the program in the middle of the run.
[[nodiscard]] std::optional<std::string> no_room_text(std::string_view name, ElementType type,
                                                      std::span<const std::int64_t> shape, std::int64_t memory,
                                                      std::int64_t nodes, bool sparse = true);

}  // namespace tdsl::rt
