#pragma once

#include "runtime/kernels/task.h"

// Kernels of routines along lines. The operation's output never cuts dimension `axis`, and its one operand is read
// whole there and label by label elsewhere; so a task has complete lines. T is the operand's element type.

namespace tdsl::rt::routines::kernels {

/// Running sums, from the first element on (i64, f32, f64).
template <class T>
[[nodiscard]] Kernel cumsum(int axis);
/// The same of a line cut into blocks of `height` elements, in three operations: the blocks' sums (the output's axis
/// numbers the blocks), the sums of all blocks before each, and the running sums of the task's blocks from there on
/// (operand 1, whole along the axis). The result depends on `height` alone, not on ranks.
template <class T>
[[nodiscard]] Kernel block_sums(int axis, Index height);
template <class T>
[[nodiscard]] Kernel exclusive_sums(int axis);
template <class T>
[[nodiscard]] Kernel block_cumsum(int axis, Index height);
/// Ascending, nan last. The order of equal elements (0.0 and -0.0) stays.
template <class T>
[[nodiscard]] Kernel sort(int axis);
/// The positions (i64) in that order.
template <class T>
[[nodiscard]] Kernel argsort(int axis);
/// The first elements in descending order, nan last, as many as the output has; of equal ones the first.
template <class T>
[[nodiscard]] Kernel topk_values(int axis);
/// Their positions (i64).
template <class T>
[[nodiscard]] Kernel topk_positions(int axis);

}  // namespace tdsl::rt::routines::kernels
