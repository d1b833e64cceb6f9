#include "runtime/plan/tree.h"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace tdsl::plan {

TreePlace place_in_tree(const std::vector<Index>& ranks, Index owner, Index me) {
  if (static_cast<Index>(ranks.size()) < kLeastTree) return {owner, me == owner ? ranks : std::vector<Index>{}};
  const Index count = static_cast<Index>(ranks.size());
  const Index first = std::upper_bound(ranks.begin(), ranks.end(), owner) - ranks.begin();
  const auto rank_at = [&](Index position) {
    return position == 0 ? owner : ranks[static_cast<std::size_t>((first + position - 1) % count)];
  };
  Index mine = 0;
  if (me != owner) {
    const Index index = std::lower_bound(ranks.begin(), ranks.end(), me) - ranks.begin();
    mine = (index - first + count) % count + 1;
  }
  TreePlace place{rank_at(mine & (mine - 1)), {}};
  const Index lowest = mine == 0 ? static_cast<Index>(std::bit_floor(static_cast<std::uint64_t>(count))) * 2 : mine & -mine;
  for (Index step = lowest / 2; step > 0; step /= 2) {
    if (mine + step <= count) place.children.push_back(rank_at(mine + step));
  }
  return place;
}

Index children_of_owner(Index ranks) {
  return ranks < kLeastTree ? ranks : static_cast<Index>(std::bit_width(static_cast<std::uint64_t>(ranks)));
}

}  // namespace tdsl::plan
