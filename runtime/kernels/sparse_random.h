#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "runtime/kernels/philox.h"

// Sparse random tensors: each element is stored independently with the same probability, with a uniform value. Time is
// proportional to the stored elements. No dependencies except philox.h: the compiler's evaluator includes this header
// too.

namespace tdsl::rt {

namespace detail {

/// Elements are drawn by flat index in chunks with fixed boundaries, so that tiles can be drawn independently. The
/// chunk length is a power of two with an expected number of at least 32 stored elements.
[[nodiscard]] inline std::uint64_t chunk_length(double density) {
  std::uint64_t length = 64;
  while (length < (std::uint64_t{1} << 62) && static_cast<double>(length) * density < 32) length *= 2;
  return length;
}

}  // namespace detail

/// Calls `f(flat index, value)` for the stored elements in [first, last), ascending. The value is that of `random()` at
/// this index.
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
    if (last - chunk <= length) break;  // before the next chunk's start overflows
  }
}

}  // namespace tdsl::rt
