#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

#include "runtime/sparse/block.h"

namespace tdsl::rt::sparse {

/// Blocks with at least this fraction of stored elements are dense.
inline constexpr double kDenseFrom = 0.4;
/// Blocks with less than this fraction of non-empty rows list their rows.
inline constexpr double kRowListBelow = 0.9;

/// Elements of a tile, sorted lexicographically by level coordinates, without duplicates.
template <class T>
struct SortedEntries {
  std::span<const Index> extents;     ///< of the tile, per level; below 2^32
  std::span<const std::uint32_t> at;  ///< entry by entry, outermost level first
  std::span<const T> values;          ///< empty: all 1

  [[nodiscard]] Index count() const {
    return extents.empty() ? static_cast<Index>(values.size()) : static_cast<Index>(at.size() / extents.size());
  }
  [[nodiscard]] T value(Index k) const { return values.empty() ? T(1) : values[static_cast<std::size_t>(k)]; }
};

/// The same grouped by rows, i.e. elements that differ in the last subscript only. Rows ascend and are not empty; in
/// each row the last subscripts ascend.
template <class T>
struct RowEntries {
  std::span<const Index> extents;        ///< of the tile, per level; below 2^32
  std::span<const std::uint32_t> outer;  ///< row by row, all subscripts but the last
  std::span<const Index> begins;         ///< index of each row's first element
  std::span<const std::uint32_t> last;
  std::span<const T> values;  ///< empty: all 1

  [[nodiscard]] Index count() const { return static_cast<Index>(last.size()); }
  [[nodiscard]] Index end(std::size_t row) const { return row + 1 < begins.size() ? begins[row + 1] : count(); }
};

/// Head of a block for the entries: level kinds as in `storage`, adapted to the content. Without entries the head has 0
/// bytes: the block is absent. `as_stored`: level kinds exactly as given.
template <class T>
[[nodiscard]] BlockHead head_of(const SortedEntries<T>& entries, std::span<const Level> storage,
                                bool as_stored = false);
template <class T>
[[nodiscard]] BlockHead head_of(const RowEntries<T>& entries, std::span<const Level> storage, bool as_stored = false);

/// Writes the block to `head.bytes` bytes at `to`, which must be aligned to 64 bytes.
template <class T>
void write_block(const BlockHead& head, const SortedEntries<T>& entries, std::byte* to);
template <class T>
void write_block(const BlockHead& head, const RowEntries<T>& entries, std::byte* to);

/// Separately allocated memory of a block.
struct AlignedDelete {
  void operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t{64}); }
};
using BlockMemory = std::unique_ptr<std::byte[], AlignedDelete>;
[[nodiscard]] inline BlockMemory block_memory(Index bytes) {
  return BlockMemory(static_cast<std::byte*>(::operator new[](static_cast<std::size_t>(bytes), std::align_val_t{64})));
}
[[nodiscard]] inline const BlockHead* head_in(const BlockMemory& memory) {
  return reinterpret_cast<const BlockHead*>(memory.get());
}

/// Computes the head and writes the block; null for an absent block.
template <class Entries>
[[nodiscard]] BlockMemory build(const Entries& entries, std::span<const Level> storage, bool as_stored = false) {
  const BlockHead head = head_of(entries, storage, as_stored);
  if (head.bytes == 0) return nullptr;
  BlockMemory memory = block_memory(head.bytes);
  write_block(head, entries, memory.get());
  return memory;
}

}  // namespace tdsl::rt::sparse
