#pragma once

#include "runtime/kernels/task.h"

// Kernels of routines along lines. The operation's output never cuts dimension `axis`, and its one operand is read whole
// there and label by label elsewhere; so a task has complete lines. T is the operand's element type.

namespace tdsl::rt::routines {

/// Running sums, from the first element on (i64, f32, f64).
template <class T>
[[nodiscard]] Kernel cumsum(int axis);
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

}  // namespace tdsl::rt::routines
