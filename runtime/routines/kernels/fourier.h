#pragma once

#include <array>
#include <cmath>

#include "runtime/fft/transform.h"
#include "runtime/kernels/task.h"
#include "runtime/routines/algorithms/routine.h"

// Kernels of Fourier transforms along one axis. The operation never cuts dimension `axis` of its output and reads its
// operand whole along it, so a task has complete lines; neighbouring lines are transformed together.

namespace tdsl::rt::routines::kernels {

using plan::idx;

/// 1, 1 / sqrt(n) or 1 / n.
inline double factor_of(FourierScale scale, Index n) {
  const auto length = static_cast<double>(n);
  return scale == FourierScale::kNone ? 1 : scale == FourierScale::kRoot ? 1 / std::sqrt(length) : 1 / length;
}

/// `n`: the length of transforms. Complex elements are pairs of T; T is also the type of real ones.
template <class T>
Kernel fourier_lines(fourier::Kind kind, int axis, FourierScale scale, Index n) {
  return [kind, axis, scale, n](const TaskArgs& t) {
    const Operand& in = t.inputs[0];
    const Operand& out = t.outputs[0];
    if (out.box.empty()) return;
    const Index in_parts = kind == fourier::Kind::kReal ? 1 : 2;
    const Index out_parts = kind == fourier::Kind::kToReal ? 1 : 2;
    const fourier::Transform<T> transform(kind, n, factor_of(scale, n));
    fourier::Lines<const T> from;
    fourier::Lines<T> to;
    from.stride = in.stride[idx(axis)] * in_parts;
    to.stride = out.stride[idx(axis)] * out_parts;
    const int rank = out.box.rank;
    std::array<Index, plan::kMaxRank> place{};  // relative to the output's box
    Index count = 0;
    while (true) {
      Index read = 0, written = 0;
      for (int d = 0; d < rank; ++d) {
        if (d == axis) continue;
        // The operand's box begins at the output's corner.
        read += (place[idx(d)] + out.box[d].lo - in.box[d].lo) * in.stride[idx(d)];
        written += place[idx(d)] * out.stride[idx(d)];
      }
      const auto lane = static_cast<std::size_t>(count++);
      from.first[lane] = reinterpret_cast<const T*>(in.data) + read * in_parts;
      to.first[lane] = reinterpret_cast<T*>(out.data) + written * out_parts;
      if (count == fourier::kLanes<T>) {
        transform.run(from, to, count);
        count = 0;
      }
      int d = rank - 1;
      for (; d >= 0; --d) {
        if (d == axis) continue;
        if (++place[idx(d)] < out.box[d].size()) break;
        place[idx(d)] = 0;
      }
      if (d < 0) break;
    }
    if (count > 0) transform.run(from, to, count);
  };
}

}  // namespace tdsl::rt::routines::kernels
