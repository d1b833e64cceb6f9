#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "runtime/app/session/stored_tiles.h"

namespace tdsl::tests {

using plan::Box;
using plan::Index;

namespace {

/// Offsets within the box, in the order of the panels.
std::vector<Index> visited(const Box& box, Index element_bytes, int deepest, Index& largest) {
  std::vector<Index> offsets;
  for (rt::Panels panels(box, element_bytes, deepest); panels.next();) {
    std::vector<Index> at(panels.lo().begin(), panels.lo().end());
    const std::size_t rank = at.size();
    Index count = 1, place = 0;
    for (std::size_t d = 0; d < rank; ++d) count *= panels.hi()[d] - panels.lo()[d];
    CHECK(count <= panels.elements());
    largest = std::max(largest, count);
    for (Index k = 0; k < count; ++k, ++place) {
      Index offset = 0, inside = 0;
      for (std::size_t d = 0; d < rank; ++d) {
        const auto dim = static_cast<int>(d);
        offset = offset * box[dim].size() + at[d] - box[dim].lo;
        inside += (at[d] - panels.lo()[d]) * panels.strides()[d];
      }
      CHECK(inside == place);
      offsets.push_back(offset);
      for (std::size_t d = rank; d-- > 0 && ++at[d] == panels.hi()[d];) at[d] = panels.lo()[d];
    }
  }
  return offsets;
}

}  // namespace

TEST_CASE("panels: every element of a box once, row-major, in as much memory as rows of the last dimension need") {
  constexpr Index kElementBytes = 1 << 17;  // eight per panel
  std::mt19937 random(5);
  for (int round = 0; round < 2000; ++round) {
    Box box;
    box.rank = 1 + static_cast<int>(random() % 4);
    Index volume = 1;
    for (int d = 0; d < box.rank; ++d) {
      const Index lo = static_cast<Index>(random() % 5);
      box[d] = {lo, lo + static_cast<Index>(random() % 6)};
      volume *= box[d].size();
    }
    CAPTURE(round);
    Index largest = 0;
    const std::vector<Index> all = visited(box, kElementBytes, box.rank, largest);
    REQUIRE(static_cast<Index>(all.size()) == volume);
    for (Index k = 0; k < volume; ++k) CHECK(all[static_cast<std::size_t>(k)] == k);
    CHECK(largest <= std::max<Index>(8, box[box.rank - 1].size()));
    // Along the first dimension only.
    CHECK(visited(box, kElementBytes, 0, largest) == all);
  }
}

}  // namespace tdsl::tests
