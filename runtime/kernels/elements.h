#pragma once

#include <array>

#include "runtime/kernels/scalar_math.h"
#include "runtime/kernels/stop.h"
#include "runtime/kernels/task.h"

// What loops that run as one task are written with.

namespace tdsl::rt {

/// A whole tensor in memory, with its extents for checks of subscripts.
template <class T, int R>
struct Elements : View<T, R> {
  std::array<Index, R> extent{};
};

template <class T, int R>
[[nodiscard]] Elements<T, R> elements_of(const Operand& operand) {
  Elements<T, R> elements{operand.view<T, R>(), {}};
  for (int d = 0; d < R; ++d) elements.extent[static_cast<std::size_t>(d)] = operand.box[d].size();
  return elements;
}
/// Operand number `k`, read only.
template <class T, int R>
[[nodiscard]] Elements<const T, R> elements_in(const TaskArgs& t, int k) {
  return elements_of<const T, R>(t.inputs[static_cast<std::size_t>(k)]);
}
/// Result number `k`.
template <class T, int R>
[[nodiscard]] Elements<T, R> elements_out(const TaskArgs& t, int k) {
  return elements_of<T, R>(t.outputs[static_cast<std::size_t>(k)]);
}

/// A sink for faults that ends the run at the first one, with the line.
struct StopAt {
  SourceLine (*place)(int);
  int line;

  void set_if(bool failed, scalar::Faults::Bit fault) const {
    if (failed) [[unlikely]] stop(place(line), scalar::Faults{fault}.message());
  }
};

/// Where the smallest or largest of the values added so far lies: the first of equal ones, the first nan if there is one; -1
/// of none.
template <class T>
struct Best {
  bool largest = false;
  Index position = -1;
  T best{};

  void add(T value, Index at) {
    const bool nan_holds = position >= 0 && best != best;
    if (nan_holds || (position >= 0 && !(value != value) && !(largest ? value > best : value < best))) return;
    best = value;
    position = at;
  }
};

}  // namespace tdsl::rt
