#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "runtime/io/tensor/tensor_file.h"

namespace tdsl::rt {

/// The intersection of a box with one tile.
struct TilePart {
  std::array<std::int64_t, kMaxRank> tile{}, lo{}, hi{};  ///< lo and hi are relative to the tile
  std::int64_t offset = 0;                                ///< of the part in the caller's memory, in elements
};

/// Calls f for every tile that overlaps the box, in C order. Tile extents are positive.
template <class F>
void for_each_tile(ExtentSpan tile, ExtentSpan lo, ExtentSpan hi, ExtentSpan strides, const F& f) {
  const std::size_t rank = lo.size();
  for (std::size_t d = 0; d < rank; ++d) {
    if (lo[d] >= hi[d]) return;
  }
  TilePart part;
  for (std::size_t d = 0; d < rank; ++d) part.tile[d] = lo[d] / tile[d];
  while (true) {
    part.offset = 0;
    for (std::size_t d = 0; d < rank; ++d) {
      const std::int64_t first = part.tile[d] * tile[d];
      const std::int64_t begin = std::max(lo[d], first);
      part.lo[d] = begin - first;
      part.hi[d] = std::min(hi[d], first + tile[d]) - first;
      part.offset += (begin - lo[d]) * strides[d];
    }
    f(static_cast<const TilePart&>(part));
    std::size_t d = rank;
    while (d > 0) {
      --d;
      if (++part.tile[d] * tile[d] < hi[d]) break;
      part.tile[d] = lo[d] / tile[d];
      if (d == 0) return;
    }
    if (rank == 0) return;
  }
}

}  // namespace tdsl::rt
