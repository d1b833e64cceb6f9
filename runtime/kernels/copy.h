#pragma once

#include "runtime/kernels/task.h"

namespace tdsl::rt {

/// The box stored row-major and contiguously from `data`.
[[nodiscard]] Operand row_major(std::byte* data, const Box& box);

/// The part `box` of an operand, without copying. An empty box has no data.
[[nodiscard]] Operand part_of(const Operand& whole, const Box& box, Index element_bytes);

/// Copies the elements of `box`, which is inside both operands, from one to the other. They do not overlap.
void copy_box(const Operand& from, const Operand& to, const Box& box, Index element_bytes);

/// The kernel that copies its operand's box to its output.
[[nodiscard]] Kernel copy_kernel(Index element_bytes);
/// The same for sized blocks: operand and output have the same tiles.
[[nodiscard]] Kernel block_copy_kernel();

}  // namespace tdsl::rt
