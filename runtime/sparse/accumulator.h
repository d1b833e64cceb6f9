#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "runtime/sparse/block.h"

namespace tdsl::rt::sparse {

/// Accumulates one row of a result by addition, of bools by `or`: a sum per column, which is 0 between rows, and a bit
/// that marks occupied columns. Neither adding nor draining has data-dependent branches on values.
template <class T>
class AddedRow {
 public:
  /// Adds elements; holds the pointers in locals, so that the enclosing loops keep them in registers.
  struct Into {
    T* sums;
    std::uint64_t* bits;

    void add(Index j, T value) const {
      const auto c = static_cast<std::size_t>(j);
      const std::uint64_t bit = std::uint64_t{1} << (c & 63);
      if constexpr (std::is_same_v<T, bool>) {
        bits[c >> 6] |= value ? bit : 0;
      } else {
        sums[c] = static_cast<T>(sums[c] + value);
        bits[c >> 6] |= bit;
      }
    }
  };
  [[nodiscard]] Into into(Index columns) {
    const auto words = static_cast<std::size_t>((columns + 63) / 64);
    if (bits_.size() < words) grow(words);
    words_ = words;
    return {sums_.get(), bits_.data()};
  }
  /// `drain` may write this many elements past the end of the row.
  static constexpr Index kSlack = 2;
  /// Writes columns and sums in ascending order, dropping zeros, and clears the row; returns their number. For bool
  /// only columns are written.
  Index drain(std::uint32_t* columns, T* values);

 private:
  Index columns_that_came(std::uint32_t* columns);
  void grow(std::size_t words);

  std::vector<std::uint64_t> bits_;
  std::unique_ptr<T[]> sums_;
  std::size_t words_ = 0;
};

/// Accumulates one row of a result with a hash table and a sort: elements arrive in any order, are combined, and are
/// returned by ascending column. For rows with few elements in many columns.
template <class T>
class HashAccumulator {
 public:
  /// `elements`: expected number of additions before `flush`. The table grows if there are more.
  void begin(Index elements);
  template <class Combine>
  void add(Index j, T value, const Combine& combine) {
    const auto column = static_cast<std::uint32_t>(j);
    for (std::size_t s = first_slot(column);; s = (s + 1) & mask_) {
      if (slots_[s] == kFree) {
        slots_[s] = static_cast<std::uint32_t>(list_.size());
        list_.push_back({column, static_cast<std::uint32_t>(s), value});
        if (2 * list_.size() > mask_) grow();
        return;
      }
      Element& element = list_[slots_[s]];
      if (element.column == column) {
        element.value = combine(element.value, value);
        return;
      }
    }
  }
  /// Calls `f(column, value)` for the elements by ascending column, and clears the row.
  template <class F>
  void flush(F&& f) {
    sort();
    for (const Element& element : list_) f(static_cast<Index>(element.column), element.value);
    list_.clear();
  }

 private:
  static constexpr std::uint32_t kFree = ~std::uint32_t{0};

  void use(std::size_t slots);
  /// Frees the slots and sorts the list.
  void sort();
  [[nodiscard]] std::size_t first_slot(std::uint32_t column) const {
    // The top bits of the product depend on all bits of the column, so columns that are multiples of a power of two do
    // not collide.
    return column * std::uint64_t{0x9e3779b97f4a7c15} >> shift_;
  }
  [[gnu::cold]] void grow();
  struct Element {
    std::uint32_t column;
    std::uint32_t slot;
    T value;
  };
  std::vector<std::uint32_t> slots_;  ///< indices of elements
  std::vector<Element> list_;
  std::size_t mask_ = 0;
  int shift_ = 63;  ///< keeps as many bits as a slot index has
};

/// Whether a dense row with one bit per column is faster than a hash table: if there are fewer than 256 columns per
/// added element, or 64 beyond the second-level cache. Both give the same bits.
[[nodiscard]] inline bool prefers_bitmap(Index columns, Index elements) {
  constexpr Index kInCache = 1 << 16;
  return columns < (columns <= kInCache ? 256 : 64) * elements;
}

}  // namespace tdsl::rt::sparse
