#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/plan/space/index.h"
#include "runtime/sparse/build.h"

namespace tdsl::rt::sparse {

/// Collects the elements of a sparse tile whose number is unknown, in subscript order, row by row. Reused between
/// tasks, so memory is that of the largest tile. Zeros are dropped, except -0. What runs once per row or tile is
/// compiled in the library: kernels would have a copy of it for every vector width.
template <class T>
class Output {
 public:
  /// Starts a tile of rank one or more.
  void begin(const plan::Box& tile);
  /// Upper bound on the number of elements still to come.
  void reserve(Index elements) {
    if (elements > capacity_) grow(elements);
  }
  /// Sets the subscript along a dimension other than the last for subsequent elements. Subscripts of later dimensions
  /// must then be set again.
  void at(std::size_t dimension, Index x) {
    at_[dimension] = static_cast<std::uint32_t>(x - corner_[dimension]);
    if (dimension + 2 == rank_) begin_row();
  }
  /// Selects row i for subsequent elements.
  void row(Index i) { at(0, i); }
  /// Appends the element at j of the last dimension.
  void put(Index j, T value) {
    if (size_ == capacity_) grow(2 * capacity_ + 256);
    last_[static_cast<std::size_t>(size_)] = static_cast<std::uint32_t>(j - corner_[rank_ - 1]);
    if constexpr (!std::is_same_v<T, bool>) values_[static_cast<std::size_t>(size_)] = value;
    size_ += is_stored(value) ? 1 : 0;
  }
  /// `f(columns, values)` writes at most `most` elements of the row consecutively, with columns relative to the tile,
  /// and returns their number. For bool there are no values.
  template <class F>
  Index put_many(Index most, const F& f) {
    if (capacity_ - size_ < most) grow(std::max(2 * capacity_, size_ + most));
    const Index added = f(last_.get() + size_, values_ ? values_.get() + size_ : nullptr);
    size_ += added;
    return added;
  }
  /// Valid until the next tile begins.
  [[nodiscard]] RowEntries<T> entries();

 private:
  /// Whether -0 is stored depends on the type.
  static bool is_stored(T value) {
    if constexpr (kIsComplex<T>) {
      return std::signbit(value.re) || std::signbit(value.im) || !(value == T(0));
    } else if constexpr (sizeof(T) == 8) {
      return std::bit_cast<std::uint64_t>(value) != 0;
    } else if constexpr (sizeof(T) == 4) {
      return std::bit_cast<std::uint32_t>(value) != 0;
    } else {
      return value != T(0);
    }
  }
  void begin_row();
  void drop_empty_row();
  void grow(Index capacity);

  std::size_t rank_ = 1;
  std::array<Index, plan::kMaxRank> extents_{};
  std::array<Index, plan::kMaxRank> corner_{};
  std::array<std::uint32_t, plan::kMaxRank> at_{};
  Index size_ = 0;
  Index capacity_ = 0;
  std::vector<std::uint32_t> outer_;  ///< of rows with elements, subscript by subscript
  std::vector<Index> begins_;         ///< index of the first element of each
  std::unique_ptr<std::uint32_t[]> last_;
  std::unique_ptr<T[]> values_;
};

}  // namespace tdsl::rt::sparse
