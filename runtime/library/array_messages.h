#pragma once

#include <cstddef>
#include <vector>

#include "runtime/kernels/task.h"

namespace tdsl::rt {

/// Maximum bytes of elements per message.
inline constexpr Index kArrayMessageBytes = Index{8} << 20;

/// Packs the elements of `box`, a part of `from`, after a header that identifies the array.
[[nodiscard]] std::vector<std::byte> pack_array(std::size_t array, const Operand& from, const Box& box,
                                                Index element_bytes);

/// An unpacked message; refers to its elements, in row-major order.
struct ArrayMessage {
  std::size_t array = 0;
  Operand where;
};
[[nodiscard]] ArrayMessage unpack_array(std::vector<std::byte>& message);

}  // namespace tdsl::rt
