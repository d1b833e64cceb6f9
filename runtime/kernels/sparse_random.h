#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "runtime/kernels/philox.h"

// Sparse random tensors: each element is there with the same probability, whatever the others are, and then uniform.
// Time is that of the elements that are there. No dependencies but philox.h: the compiler's evaluator includes this
// header too.

namespace tdsl::rt {

namespace detail {

/// Elements, by their flat index, are drawn in chunks, which always begin at the same places, so that a tile can be
/// drawn by itself: a power of two of them, of which at least 32 are expected to be there.
[[nodiscard]] inline std::uint64_t chunk_length(double density) {
  std::uint64_t length = 64;
  while (length < (std::uint64_t{1} << 62) && static_cast<double>(length) * density < 32) length *= 2;
  return length;
}

}  // namespace detail

/// Calls `f(flat index, value)` for the elements in [first, last) that are there, ascending. The value is that of
/// `random()` at this index.
template <class F>
void for_each_drawn(RandomStream stream, double density, std::uint64_t first, std::uint64_t last, F&& f) {
  if (!(density > 0) || first >= last) return;
  const RandomStream gaps{detail::mix64(stream.key), stream.iteration};
  const std::uint64_t length = detail::chunk_length(density);
  const double log_absent = std::log1p(-density);
  for (std::uint64_t chunk = first / length * length; chunk < last; chunk += length) {
    const std::uint64_t end = std::min(length, last - chunk);
    std::uint64_t at = 0;
    for (std::uint64_t draw = chunk;; ++draw, ++at) {
      const double skipped = std::floor(std::log(1.0 - uniform_f64(gaps, draw)) / log_absent);
      if (!(skipped < static_cast<double>(end - at))) break;
      at += static_cast<std::uint64_t>(skipped);
      if (chunk + at >= first) f(chunk + at, uniform_f64(stream, chunk + at));
      if (at + 1 >= end) break;
    }
    if (last - chunk <= length) break;  // before the next beginning overflows
  }
}

}  // namespace tdsl::rt
