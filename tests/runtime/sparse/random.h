#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "runtime/sparse/build.h"
#include "runtime/sparse/parts.h"

// Random sparse matrices, as a naive map and as tiled blocks.

namespace tdsl::tests {

using rt::sparse::Index;
using rt::sparse::Interval;
using rt::sparse::Level;

template <class T>
using NaiveMatrix = std::map<std::pair<Index, Index>, T>;

/// A matrix cut into tiles, each a separate block; sometimes pieces of blocks.
template <class T>
struct TiledMatrix {
  Index rows = 0;
  Index columns = 0;
  NaiveMatrix<T> naive;
  std::vector<rt::sparse::BlockMemory> memory;
  std::vector<rt::sparse::Part> parts;
};

inline std::vector<Index> random_cuts(std::mt19937_64& random, Index extent, int most) {
  std::vector<Index> cuts = {0, extent};
  const int count = static_cast<int>(random() % static_cast<unsigned>(most));
  for (int k = 0; k < count && extent > 0; ++k)
    cuts.push_back(static_cast<Index>(random() % static_cast<std::uint64_t>(extent)));
  std::ranges::sort(cuts);
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  return cuts;
}

template <class T>
rt::sparse::BlockMemory block_of(const NaiveMatrix<T>& naive, const rt::sparse::Box& box, std::vector<Level> kinds,
                                 bool as_stored) {
  std::vector<std::uint32_t> at;
  std::unique_ptr<T[]> values(new T[naive.size() + 1]);
  std::size_t count = 0;
  for (const auto& [place, value] : naive) {
    if (place.first < box[0].lo || place.first >= box[0].hi || place.second < box[1].lo || place.second >= box[1].hi)
      continue;
    at.push_back(static_cast<std::uint32_t>(place.first - box[0].lo));
    at.push_back(static_cast<std::uint32_t>(place.second - box[1].lo));
    values[count++] = value;
  }
  const std::vector<Index> extents = {box[0].size(), box[1].size()};
  const bool valueless = std::is_same_v<T, bool>;
  return rt::sparse::build(rt::sparse::SortedEntries<T>{extents, at, {values.get(), valueless ? 0 : count}}, kinds,
                           as_stored);
}

/// Level kinds are random where sizes allow it.
template <class T>
TiledMatrix<T> tiled(std::mt19937_64& random, Index rows, Index columns, NaiveMatrix<T> naive, int most_cuts) {
  TiledMatrix<T> m{rows, columns, std::move(naive), {}, {}};
  const std::vector<Index> r = random_cuts(random, rows, most_cuts);
  const std::vector<Index> c = random_cuts(random, columns, most_cuts);
  for (std::size_t i = 0; i + 1 < r.size(); ++i) {
    for (std::size_t j = 0; j + 1 < c.size(); ++j) {
      rt::sparse::Box box;
      box.rank = 2;
      box[0] = {r[i], r[i + 1]};
      box[1] = {c[j], c[j + 1]};
      std::vector<Level> kinds = {random() % 2 == 0 ? Level::kDense : Level::kCompressed, Level::kCompressed};
      const bool forced = rows <= 1000 && random() % 2 == 0;
      if (forced && columns <= 1000 && random() % 3 == 0) kinds[1] = Level::kDense;
      m.memory.push_back(block_of(m.naive, box, kinds, forced));
      m.parts.push_back({rt::sparse::head_in(m.memory.back()), box, box[0]});
    }
  }
  std::ranges::shuffle(m.parts, random);
  return m;
}

template <class T>
T random_value(std::mt19937_64& random) {
  if constexpr (std::is_same_v<T, bool>) {
    return true;
  } else {
    return static_cast<T>(static_cast<int>(random() % 9) - 4);  // including stored zeros
  }
}

template <class T>
TiledMatrix<T> random_matrix(std::mt19937_64& random, Index rows, Index columns, double density, int most_cuts = 3) {
  NaiveMatrix<T> naive;
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < columns; ++j) {
      if (std::uniform_real_distribution<>(0, 1)(random) < density) naive[{i, j}] = random_value<T>(random);
    }
  }
  return tiled(random, rows, columns, std::move(naive), most_cuts);
}

}  // namespace tdsl::tests
