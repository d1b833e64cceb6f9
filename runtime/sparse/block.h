#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "runtime/types.h"

/// Sparse blocks: in-memory representation of the tiles of a sparse tensor. Free of MPI and planner.
namespace tdsl::rt::sparse {

using Index = std::int64_t;

/// Storage of the coordinates along one dimension of a block. Levels are listed outermost first.
enum class Level : std::uint8_t {
  kDense,      ///< all coordinates
  kCompressed  ///< a list of the non-empty coordinates
};

/// The head of a block, which is one buffer. It is followed, for each compressed level l, by
///
///     Index         position[count[l - 1] + 1]   children of parent p: [position[p], position[p + 1]); not if l = 0
///     std::uint32_t coordinate[count[l]]         relative to the tile's corner, ascending within a parent
///
/// and finally by `T value[count[levels - 1]]`; every array is aligned to 64 bytes. A dense level has no arrays:
/// children of node p start at p * extent. Elements not stored are 0. A 4 x 5 block with three elements, rows dense and
/// columns compressed (CSR):
///
///     . a . . b        position    0 2 2 3 3
///     . . . . .        coordinate  1 4 0
///     c . . . .        value       a b c
///     . . . . .
struct BlockHead {
  static constexpr std::uint32_t kMagic = 0x4c445354;
  static constexpr std::uint8_t kNoZeros = 1;  ///< every stored value is nonzero
  static constexpr std::uint8_t kFinite = 2;   ///< every stored value is finite
  static constexpr std::uint8_t kValues =
      4;  ///< has a value array; otherwise all stored elements are true (bool, last level compressed)
  static constexpr std::uint8_t kEntries = 8;  ///< a list of entries, which may repeat coordinates, instead of arrays
                                               ///< (runtime/sparse/assembly.h)
  static constexpr std::uint8_t kCoded = 1;    ///< codec

  std::uint32_t magic = kMagic;
  std::uint8_t levels = 0;
  std::uint8_t element = 0;  ///< ElementType
  std::uint8_t flags = 0;
  std::uint8_t codec = 0;  ///< encoding of values; 0: plain, kCoded: by columns (runtime/sparse/coded.h)
  std::array<Level, 8> kind{};
  std::array<Index, 8> count{};  ///< nodes per level
  Index bytes = 0;               ///< size of the block
  Index chunks = 0, codes = 0;   ///< of a coded block: offsets of its chunks and codes
  std::array<std::byte, 24> reserved{};

  [[nodiscard]] ElementType type() const { return static_cast<ElementType>(element); }
  [[nodiscard]] bool has(std::uint8_t flag) const { return (flags & flag) != 0; }
  [[nodiscard]] bool is_coded() const { return codec == kCoded; }
  [[nodiscard]] bool is_dense() const {
    for (std::size_t l = 0; l < levels; ++l) {
      if (kind[l] != Level::kDense) return false;
    }
    return true;
  }
  /// Number of stored elements.
  [[nodiscard]] Index stored() const { return levels == 0 ? 1 : count[levels - 1U]; }
};
static_assert(sizeof(BlockHead) == 128);
static_assert(std::is_trivially_copyable_v<BlockHead>);

/// Byte offsets of a block's arrays; -1: absent.
struct BlockArrays {
  std::array<Index, 8> position{};
  std::array<Index, 8> coordinate{};
  Index values = -1;
  Index bytes = 0;
};
/// Computed from kinds, counts, element and flags. Not for blocks of entries or coded blocks.
[[nodiscard]] BlockArrays arrays_of(const BlockHead& head);

/// A read-only view of a block.
template <class T>
class BlockView {
 public:
  explicit BlockView(const BlockHead& head) : head_(&head) {
    const BlockArrays arrays = arrays_of(head);
    const auto* const base = reinterpret_cast<const std::byte*>(&head);
    for (std::size_t l = 0; l < head.levels; ++l) {
      position_[l] = arrays.position[l] < 0 ? nullptr : reinterpret_cast<const Index*>(base + arrays.position[l]);
      coordinate_[l] =
          arrays.coordinate[l] < 0 ? nullptr : reinterpret_cast<const std::uint32_t*>(base + arrays.coordinate[l]);
    }
    values_ = arrays.values < 0 ? nullptr : reinterpret_cast<const T*>(base + arrays.values);
  }
  [[nodiscard]] const BlockHead& head() const { return *head_; }
  [[nodiscard]] const Index* position(int level) const { return position_[static_cast<std::size_t>(level)]; }
  [[nodiscard]] const std::uint32_t* coordinate(int level) const {
    return coordinate_[static_cast<std::size_t>(level)];
  }
  /// Null if all stored elements are 1.
  [[nodiscard]] const T* values() const { return values_; }
  [[nodiscard]] T value(Index k) const { return values_ == nullptr ? T(1) : values_[k]; }

 private:
  const BlockHead* head_;
  std::array<const Index*, 8> position_{};
  std::array<const std::uint32_t*, 8> coordinate_{};
  const T* values_ = nullptr;
};

}  // namespace tdsl::rt::sparse
