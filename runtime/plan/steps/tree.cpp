#include "runtime/plan/steps/tree.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <iterator>
#include <span>

namespace tdsl::plan {

namespace {

/// Position in the tree over the owner and the ranks, ignoring nodes.
TreePlace place_among(const std::vector<Index>& ranks, Index owner, Index me) {
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
  const Index lowest =
      mine == 0 ? static_cast<Index>(std::bit_floor(static_cast<std::uint64_t>(count))) * 2 : mine & -mine;
  for (Index step = lowest / 2; step > 0; step /= 2) {
    if (mine + step <= count) place.children.push_back(rank_at(mine + step));
  }
  return place;
}

/// Number of children of the owner in such a tree.
Index children_among(Index ranks) {
  return ranks < kLeastTree ? ranks : static_cast<Index>(std::bit_width(static_cast<std::uint64_t>(ranks)));
}

/// Calls f(node, the ranks on it) for every node with any of the ranks.
template <class F>
void for_each_node(const std::vector<Index>& ranks, Index ranks_per_node, F&& f) {
  for (auto first = ranks.begin(); first != ranks.end();) {
    const Index node = *first / ranks_per_node;
    const auto last = std::lower_bound(first, ranks.end(), (node + 1) * ranks_per_node);
    f(node, std::span<const Index>(first, last));
    first = last;
  }
}

Index leader_of(std::span<const Index> mates, Index owner, Index ranks_per_node) {
  const Index like_owner = mates.front() / ranks_per_node * ranks_per_node + owner % ranks_per_node;
  const auto found = std::lower_bound(mates.begin(), mates.end(), like_owner);
  return found == mates.end() ? mates.front() : *found;
}

}  // namespace

TreePlace place_in_tree(const std::vector<Index>& ranks, Index owner, Index me, Index ranks_per_node) {
  if (ranks_per_node <= 1) return place_among(ranks, owner, me);
  std::vector<Index> leaders;  // of nodes other than the owner's
  std::vector<Index> mates;    // ranks that request from the head of this node, the owner or a leader
  Index head = owner;
  for_each_node(ranks, ranks_per_node, [&](Index node, std::span<const Index> there) {
    const bool with_owner = node == owner / ranks_per_node;
    const Index first = with_owner ? owner : leader_of(there, owner, ranks_per_node);
    if (!with_owner) leaders.push_back(first);
    if (node != me / ranks_per_node) return;
    head = first;
    std::copy_if(there.begin(), there.end(), std::back_inserter(mates), [first](Index rank) { return rank != first; });
  });
  if (me != head) return place_among(mates, head, me);
  TreePlace place = place_among(leaders, owner, me);
  const TreePlace near = place_among(mates, me, me);
  place.children.insert(place.children.end(), near.children.begin(), near.children.end());
  return place;
}

Index children_of_owner(const std::vector<Index>& ranks, Index owner, Index ranks_per_node) {
  if (ranks_per_node <= 1) return children_among(static_cast<Index>(ranks.size()));
  Index leaders = 0;
  Index mates = 0;
  for_each_node(ranks, ranks_per_node, [&](Index node, std::span<const Index> there) {
    if (node == owner / ranks_per_node) {
      mates = static_cast<Index>(there.size());
    } else {
      ++leaders;
    }
  });
  return children_among(leaders) + children_among(mates);
}

}  // namespace tdsl::plan
