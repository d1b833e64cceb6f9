#include "runtime/sparse/piece.h"

#include <algorithm>
#include <cstring>

#include "runtime/check.h"

namespace tdsl::rt::sparse {

namespace {

template <class T>
const T* array_at(const BlockHead& block, Index offset) {
  return reinterpret_cast<const T*>(reinterpret_cast<const std::byte*>(&block) + offset);
}

}  // namespace

Piece piece_of(const BlockHead& block, OuterRange outer) {
  TDSL_CHECK(block.levels > 0, "a scalar has no ranges");
  const BlockArrays from = arrays_of(block);
  Piece piece{block, {}};
  std::array<OuterRange, 8> nodes{};
  nodes[0] = outer;
  if (block.kind[0] == Level::kCompressed) {
    const auto* const first = array_at<std::uint32_t>(block, from.coordinate[0]);
    const auto* const last = first + block.count[0];
    nodes[0] = {std::lower_bound(first, last, outer.lo) - first, std::lower_bound(first, last, outer.hi) - first};
  }
  for (std::size_t l = 1; l < block.levels; ++l) {
    if (block.kind[l] == Level::kCompressed) {
      const auto* const position = array_at<Index>(block, from.position[l]);
      nodes[l] = {position[nodes[l - 1].lo], position[nodes[l - 1].hi]};
    } else {
      const Index extent = block.count[l - 1] == 0 ? 0 : block.count[l] / block.count[l - 1];
      nodes[l] = {nodes[l - 1].lo * extent, nodes[l - 1].hi * extent};
    }
  }
  for (std::size_t l = 0; l < block.levels; ++l) piece.head.count[l] = nodes[l].hi - nodes[l].lo;
  piece.head.bytes = 0;
  if (piece.head.stored() == 0) return piece;
  const BlockArrays to = arrays_of(piece.head);
  piece.head.bytes = to.bytes;
  const auto run = [&](Index source, Index target, Index first, Index count, Index size) {
    if (source >= 0 && count > 0) piece.runs.push_back({source + first * size, target, count * size});
  };
  for (std::size_t l = 0; l < block.levels; ++l) {
    if (l > 0) run(from.position[l], to.position[l], nodes[l - 1].lo, piece.head.count[l - 1] + 1, sizeof(Index));
    run(from.coordinate[l], to.coordinate[l], nodes[l].lo, piece.head.count[l], sizeof(std::uint32_t));
  }
  run(from.values, to.values, nodes[block.levels - 1U].lo, piece.head.stored(), static_cast<Index>(element_size(block.type())));
  return piece;
}

void rebase(BlockHead& piece) {
  const BlockArrays arrays = arrays_of(piece);
  for (std::size_t l = 1; l < piece.levels; ++l) {
    if (arrays.position[l] < 0) continue;
    auto* const position = reinterpret_cast<Index*>(reinterpret_cast<std::byte*>(&piece) + arrays.position[l]);
    const Index first = position[0];
    for (Index p = 0; p <= piece.count[l - 1]; ++p) position[p] -= first;
  }
}

}  // namespace tdsl::rt::sparse
