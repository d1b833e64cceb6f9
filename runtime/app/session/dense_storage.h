#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "runtime/types.h"

namespace tdsl::rt {

/// The physical memory of this machine in bytes; 0 if it is not known.
[[nodiscard]] std::int64_t physical_memory();

/// What is said of a tensor that is stored dense, `sparse`: although its type has sparse dimensions, and has more bytes
/// than `memory` on each of `nodes` nodes; nothing if it fits, or the memory is not known. Without it the machine would
/// end the program somewhere in the middle.
[[nodiscard]] std::optional<std::string> no_room_text(std::string_view name, ElementType type,
                                                      std::span<const std::int64_t> shape, std::int64_t memory,
                                                      std::int64_t nodes, bool sparse = true);

}  // namespace tdsl::rt
