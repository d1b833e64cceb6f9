#include "runtime/sparse/piece.h"

#include "runtime/check.h"

namespace tdsl::rt::sparse {

namespace {

/// An array of a block in memory or elsewhere.
template <class T>
class FarArray {
 public:
  FarArray(const BlockReader& read, Index offset) : read_(read), offset_(offset) {}
  [[nodiscard]] T operator[](Index k) const {
    T value{};
    read_(offset_ + k * static_cast<Index>(sizeof(T)), std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }
  /// Index of the first of `count` ascending elements that is not less than `wanted`.
  [[nodiscard]] Index lower_bound(Index count, Index wanted) const {
    Index lo = 0;
    while (lo < count) {
      const Index middle = lo + (count - lo) / 2;
      if (static_cast<Index>((*this)[middle]) < wanted)
        lo = middle + 1;
      else
        count = middle;
    }
    return lo;
  }

 private:
  const BlockReader& read_;
  Index offset_;
};

}  // namespace

Piece piece_of(const BlockHead& block, OuterRange outer, const BlockReader& read) {
  TDSL_CHECK(block.levels > 0, "a scalar has no ranges");
  if (block.is_coded()) {
    const auto head = static_cast<Index>(sizeof(BlockHead));
    return {block, {{head, head, block.bytes - head}}};
  }
  const BlockArrays from = arrays_of(block);
  Piece piece{block, {}};
  std::array<OuterRange, 8> nodes{};
  nodes[0] = outer;
  if (block.kind[0] == Level::kCompressed) {
    const FarArray<std::uint32_t> coordinate(read, from.coordinate[0]);
    nodes[0] = {coordinate.lower_bound(block.count[0], outer.lo), coordinate.lower_bound(block.count[0], outer.hi)};
  }
  for (std::size_t l = 1; l < block.levels; ++l) {
    if (block.kind[l] == Level::kCompressed) {
      const FarArray<Index> position(read, from.position[l]);
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
  run(from.values, to.values, nodes[block.levels - 1U].lo, piece.head.stored(),
      static_cast<Index>(element_size(block.type())));
  return piece;
}

void rebase(BlockHead& piece) {
  if (piece.is_coded()) return;
  const BlockArrays arrays = arrays_of(piece);
  for (std::size_t l = 1; l < piece.levels; ++l) {
    if (arrays.position[l] < 0) continue;
    auto* const position = reinterpret_cast<Index*>(reinterpret_cast<std::byte*>(&piece) + arrays.position[l]);
    const Index first = position[0];
    for (Index p = 0; p <= piece.count[l - 1]; ++p) position[p] -= first;
  }
}

}  // namespace tdsl::rt::sparse
