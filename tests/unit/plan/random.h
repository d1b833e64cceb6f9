#pragma once

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "runtime/plan/space/distribution.h"
#include "tests/unit/thinned.h"

// Random inputs for the tests of runtime/plan. Every case has its own generator, seeded with the run's seed and the
// case number, so that a failing case can be repeated alone.

namespace tdsl::tests {

using plan::Index;

inline std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr || *text == '\0' ? otherwise : std::strtoull(text, nullptr, 10);
}

/// TDSL_TEST_SEED, or a new one; printed once.
inline std::uint64_t test_seed() {
  static const std::uint64_t seed = [] {
    const std::uint64_t s = number_from_environment("TDSL_TEST_SEED", std::random_device{}());
    std::cout << "plan tests: TDSL_TEST_SEED=" << s << std::endl;
    return s;
  }();
  return seed;
}

/// `share` percent of TDSL_TEST_CASES (default 10,000, fewer with sanitizers).
inline std::uint64_t test_cases(std::uint64_t share) {
  return number_from_environment("TDSL_TEST_CASES", thinned(10'000)) * share / 100;
}

class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t number)
      : engine_(seed * 0x9E3779B97F4A7C15ULL + number * 0xD1B54A32D192ED03ULL) {}
  /// Uniform in [lo, hi].
  Index in(Index lo, Index hi) { return std::uniform_int_distribution<Index>(lo, hi)(engine_); }
  int small(int lo, int hi) { return static_cast<int>(in(lo, hi)); }
  bool chance(int percent) { return in(1, 100) <= percent; }
  template <class T>
  const T& one_of(const std::vector<T>& from) {
    return from[static_cast<std::size_t>(in(0, static_cast<Index>(from.size()) - 1))];
  }

 private:
  std::mt19937_64 engine_;
};

inline plan::Tiling random_tiling(Random& random, Index extent) {
  const Index about = random.in(1, extent + 2);
  if (random.chance(15)) {
    std::vector<Index> ends;
    for (Index end = random.in(1, 5); end < extent; end += random.in(1, 1 + extent / 3)) ends.push_back(end);
    if (extent > 0) ends.push_back(extent);
    return plan::Tiling::at(ends);
  }
  if (random.chance(20)) return plan::Tiling::near_equal(extent, about, random.in(2, 7));
  return random.chance(50) ? plan::Tiling::near_equal(extent, about) : plan::Tiling::fixed(extent, about);
}

/// A processor grid over some of the dimensions: axes of a mixed radix number below `ranks`, assigned to dimensions in
/// any order, possibly several to one; some replicate.
inline plan::Distribution random_grid(Random& random, Index ranks, std::vector<plan::Tiling> tilings) {
  std::vector<plan::GridDim> dims(tilings.size());
  Index used = 1;
  std::vector<plan::GridAxis> repeat;
  for (int axes = random.small(0, 3); axes > 0; --axes) {
    const Index size = random.in(1, ranks / used);
    if (dims.empty() || random.chance(25)) {
      repeat.push_back({size, used});
      used *= size;
      continue;
    }
    plan::GridDim& dim = dims[static_cast<std::size_t>(random.in(0, static_cast<Index>(dims.size()) - 1))];
    dim.axes.push_back({size, used});
    used *= size;
  }
  for (plan::GridDim& dim : dims) dim.q = random.in(1, 3);
  const Index home = random.chance(50) ? 0 : random.in(0, ranks - 1);
  return plan::Distribution::grid(ranks, std::move(tilings), std::move(dims), home, std::move(repeat));
}

inline plan::Distribution random_distribution(Random& random, Index ranks, std::vector<plan::Tiling> tilings) {
  const int dims = static_cast<int>(tilings.size());
  const int kind = random.small(0, 99);
  if (kind < 15) return plan::Distribution::replicated(ranks, std::move(tilings));
  if (kind < 30) {
    Index tiles = 1;
    for (const plan::Tiling& t : tilings) tiles *= t.tiles();
    std::vector<std::int32_t> owners;
    for (Index t = 0; t < tiles; ++t) owners.push_back(static_cast<std::int32_t>(random.in(0, ranks - 1)));
    return plan::Distribution::table(ranks, std::move(tilings), std::move(owners));
  }
  if (kind < 55 && dims >= 2) {
    const int row = random.small(0, dims - 1);
    const int column = (row + random.small(1, dims - 1)) % dims;
    return plan::Distribution::in_columns(std::move(tilings), {ranks, random.in(1, ranks), row, column});
  }
  if (kind < 60) return plan::Distribution::single(ranks, std::move(tilings), random.in(0, ranks - 1));
  return random_grid(random, ranks, std::move(tilings));
}

/// Calls f for every coordinate of the box of tiles, in row-major order.
template <class F>
void for_each_tile(const plan::TileBox& box, F&& f) {
  plan::Coord c;
  c.rank = box.rank;
  for (int d = 0; d < box.rank; ++d) {
    if (box[d].empty()) return;
    c[d] = box[d].lo;
  }
  while (true) {
    f(c);
    int d = box.rank - 1;
    for (; d >= 0; --d) {
      if (++c[d] < box[d].hi) break;
      c[d] = box[d].lo;
    }
    if (d < 0) return;
  }
}

}  // namespace tdsl::tests
