#pragma once

#include <cstddef>
#include <vector>

#include "runtime/kernels/task.h"

namespace tdsl::rt {

/// The most bytes of elements in a message.
inline constexpr Index kArrayMessageBytes = Index{8} << 20;

/// The elements of `box`, which lies in `from`, behind a head that says of which array they are.
[[nodiscard]] std::vector<std::byte> pack_array(std::size_t array, const Operand& from, const Box& box,
                                                Index element_bytes);

/// Such a message, read: the elements lie in it, row-major.
struct ArrayMessage {
  std::size_t array = 0;
  Operand where;
};
[[nodiscard]] ArrayMessage unpack_array(std::vector<std::byte>& message);

}  // namespace tdsl::rt
