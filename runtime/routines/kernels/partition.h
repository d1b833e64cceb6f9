#pragma once

#include <algorithm>
#include <limits>

#include "runtime/kernels/task.h"

// Kernels of topk of a vector of bools (Note [Places of a mask]), which is divided into blocks of `height` elements.

namespace tdsl::rt::routines::kernels {

/// out(g) is the number of true elements of block g.
inline Kernel block_counts(Index height) {
  return [height](const TaskArgs& t) {
    const auto mask = t.in<bool, 1>(0);
    const auto out = t.out<std::int64_t, 1>();
    for (Index g = t.lo(0); g < t.hi(0); ++g) {
      const Index end = std::min((g + 1) * height, t.inputs[0].box[0].hi);
      std::int64_t count = 0;
      for (Index i = g * height; i < end; ++i) count += mask(i) ? 1 : 0;
      out(g) = count;
    }
  };
}

/// out(g) is the sum of the elements before g.
inline Kernel counts_before() {
  return [](const TaskArgs& t) {
    const auto counts = t.in<std::int64_t, 1>(0);
    const auto out = t.out<std::int64_t, 1>();
    std::int64_t total = 0;
    for (Index g = t.lo(0); g < t.hi(0); ++g) {
      out(g) = total;
      if (g + 1 < t.hi(0)) total += counts(g);
    }
  };
}

/// True up to the number of true elements, the operand's only one.
inline Kernel trues_first() {
  return [](const TaskArgs& t) {
    const Index trues = t.in<std::int64_t, 1>(0)(t.inputs[0].box[0].lo);
    const auto out = t.out<bool, 1>();
    for (Index k = t.lo(0); k < t.hi(0); ++k) out(k) = k < trues;
  };
}

/// Elements [first, end) of the result inside `tile` are the places from `i` on where the mask is `Wanted`.
template <bool Wanted, class Mask, class Out>
void find_places(Index first, Index end, Interval tile, Index i, const Mask& mask, const Out& out) {
  end = std::min(end, tile.hi);
  if (end <= std::max(first, tile.lo)) return;
  Index k = first;
  for (; k < tile.lo; ++i) k += mask(i) == Wanted ? 1 : 0;
  for (; k < end; ++i) {
    out(k) = i;
    k += mask(i) == Wanted ? 1 : 0;
  }
}

/// The places of true elements, then those of false ones, from the blocks in the task's interval of label 1. Operand 0
/// has the number of true elements before each block, operand 1 is the mask.
inline Kernel places(Index height) {
  return [height](const TaskArgs& t) {
    if (t.fresh && t.partial) fill<std::int64_t>(t.outputs[0], std::numeric_limits<std::int64_t>::min());
    if (t.labels[1].empty() || t.labels[0].empty()) return;
    const auto before = t.in<std::int64_t, 1>(0);
    const auto mask = t.in<bool, 1>(1);
    const auto out = t.out<std::int64_t, 1>();
    const Index trues = before(t.inputs[0].box[0].hi - 1);
    for (Index g = t.lo(1); g < t.hi(1); ++g) {
      const Index begin = g * height;
      const Index end = std::min(begin + height, t.inputs[1].box[0].hi);
      find_places<true>(before(g), before(g + 1), t.labels[0], begin, mask, out);
      find_places<false>(trues + begin - before(g), trues + end - before(g + 1), t.labels[0], begin, mask, out);
    }
  };
}

}  // namespace tdsl::rt::routines::kernels
