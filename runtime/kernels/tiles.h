#pragma once

#include "runtime/kernels/elements.h"
#include "runtime/own/tile.h"

// Calls from emitted programs to user kernels.

namespace tdsl::rt {

/// Operand number `k` of the task.
template <class T, int R>
[[nodiscard]] Tile<const T, R> tile_in(const TaskArgs& t, int k) {
  const Elements<const T, R> e = elements_in<T, R>(t, k);
  return {e.data, e.extent, e.stride};
}
/// Result number `k`.
template <class T, int R>
[[nodiscard]] Tile<T, R> tile_out(const TaskArgs& t, int k) {
  const Elements<T, R> e = elements_out<T, R>(t, k);
  return {e.data, e.extent, e.stride};
}

}  // namespace tdsl::rt
