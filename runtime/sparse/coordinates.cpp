#include "runtime/sparse/coordinates.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tdsl::rt::sparse {

namespace {

using Runs = std::vector<plan::Interval>;

/// Sets [k, k + 1) as the next coordinate.
void append(Runs& runs, Index k) {
  if (!runs.empty() && runs.back().hi == k) {
    ++runs.back().hi;
  } else {
    runs.push_back({k, k + 1});
  }
}

/// By a bit per coordinate.
Runs by_marks(std::span<const std::uint32_t> list, Index extent, Index corner) {
  std::vector<std::uint64_t> marks(static_cast<std::size_t>((extent + 63) / 64), 0);
  for (const std::uint32_t c : list) marks[c / 64] |= std::uint64_t{1} << (c % 64);
  Runs runs;
  for (std::size_t w = 0; w < marks.size(); ++w) {
    for (std::uint64_t word = marks[w]; word != 0; word &= word - 1)
      append(runs, corner + static_cast<Index>(w) * 64 + std::countr_zero(word));
  }
  return runs;
}

Runs by_sorting(std::span<const std::uint32_t> list, Index corner) {
  std::vector<std::uint32_t> sorted(list.begin(), list.end());
  std::ranges::sort(sorted);
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  Runs runs;
  for (const std::uint32_t c : sorted) append(runs, corner + static_cast<Index>(c));
  return runs;
}

}  // namespace

Runs coordinates_of(const BlockHead& block, const plan::Box& box, int dimension) {
  const auto level = static_cast<std::size_t>(dimension);
  const plan::Interval range = box[dimension];
  if (block.stored() == 0) return {};
  if (block.kind[level] == Level::kDense) return {range};
  const auto* const base = reinterpret_cast<const std::byte*>(&block);
  const auto* const coordinates = reinterpret_cast<const std::uint32_t*>(base + arrays_of(block).coordinate[level]);
  const std::span list(coordinates, static_cast<std::size_t>(block.count[level]));
  // Marks take no more memory than a copy of the list.
  return range.size() / 8 <= block.count[level] * static_cast<Index>(sizeof(std::uint32_t))
             ? by_marks(list, range.size(), range.lo)
             : by_sorting(list, range.lo);
}

}  // namespace tdsl::rt::sparse
