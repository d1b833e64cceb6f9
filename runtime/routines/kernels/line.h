#pragma once

#include "runtime/kernels/task.h"

// Kernels of routines along lines. The operation never cuts dimension `axis` of its output and reads its operand whole
// along it, so a task has complete lines. T is the operand's element type.

namespace tdsl::rt::routines::kernels {

/// Running sums along each line (i64, f32, f64).
template <class T>
[[nodiscard]] Kernel cumsum(int axis);
/// The same for lines divided into blocks of `height` elements, in three operations: sums of blocks (the output's axis
/// numbers the blocks), prefix sums over blocks, and running sums of the task's blocks starting from these (operand 1,
/// whole along the axis). The result depends on `height` only, not on the number of ranks.
template <class T>
[[nodiscard]] Kernel block_sums(int axis, Index height);
template <class T>
[[nodiscard]] Kernel exclusive_sums(int axis);
template <class T>
[[nodiscard]] Kernel block_cumsum(int axis, Index height);
/// Ascending, nan last; stable for equal elements (0.0 and -0.0).
template <class T>
[[nodiscard]] Kernel sort(int axis);
/// The positions (i64) in that order.
template <class T>
[[nodiscard]] Kernel argsort(int axis);
/// The largest elements in descending order, nan last, as many as the output has; among equal elements the first.
template <class T>
[[nodiscard]] Kernel topk_values(int axis);
/// Their positions (i64).
template <class T>
[[nodiscard]] Kernel topk_positions(int axis);

}  // namespace tdsl::rt::routines::kernels
