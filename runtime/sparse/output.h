#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "runtime/check.h"
#include "runtime/plan/space/index.h"
#include "runtime/sparse/build.h"

namespace tdsl::rt::sparse {

/// Where a kernel puts the elements of a sparse tile while it does not know how many there will be: in the order of
/// their subscripts, row by row. Reused from task to task, so that memory is that of the largest. Zeros are dropped,
/// but for -0.
template <class T>
class Output {
 public:
  /// The tile that is made, of one dimension or more.
  void begin(const plan::Box& tile) {
    rank_ = static_cast<std::size_t>(tile.rank);
    for (std::size_t d = 0; d < rank_; ++d) {
      corner_[d] = tile.dim[d].lo;
      extents_[d] = tile.dim[d].size();
    }
    size_ = 0;
    outer_.clear();
    begins_.clear();
    if (rank_ == 1) begins_.push_back(0);
  }
  /// At most `elements` elements will come.
  void reserve(Index elements) {
    if (elements > capacity_) grow(elements);
  }
  /// What is put next has the subscript along a dimension that is not the last. Those behind it are given again.
  void at(std::size_t dimension, Index x) {
    at_[dimension] = static_cast<std::uint32_t>(x - corner_[dimension]);
    if (dimension + 2 == rank_) begin_row();
  }
  /// What is put next is in row i.
  void row(Index i) { at(0, i); }
  /// The element at j of the last dimension.
  void put(Index j, T value) {
    if (size_ == capacity_) grow(2 * capacity_ + 256);
    last_[static_cast<std::size_t>(size_)] = static_cast<std::uint32_t>(j - corner_[rank_ - 1]);
    if constexpr (!std::is_same_v<T, bool>) values_[static_cast<std::size_t>(size_)] = value;
    size_ += is_stored(value) ? 1 : 0;
  }
  /// `f(columns, values)` writes elements of the row behind one another, at most `most`, with columns counted from the
  /// tile's first one, and returns how many remain. Of bool there are no values.
  template <class F>
  Index put_many(Index most, const F& f) {
    if (capacity_ - size_ < most) grow(std::max(2 * capacity_, size_ + most));
    const Index added = f(last_.get() + size_, values_ ? values_.get() + size_ : nullptr);
    size_ += added;
    return added;
  }
  /// They are there until the next tile begins.
  [[nodiscard]] RowEntries<T> entries() {
    drop_empty_row();
    TDSL_CHECK(rank_ < 2 || size_ == 0 || !begins_.empty(), "elements lie in rows");
    const auto count = static_cast<std::size_t>(size_);
    return {std::span(extents_).first(rank_),
            outer_,
            begins_,
            {last_.get(), count},
            {values_.get(), std::is_same_v<T, bool> ? 0 : count}};
  }
  [[nodiscard]] Index stored() const { return size_; }
  /// The final block, of exactly its size; null if nothing is stored.
  [[nodiscard]] BlockMemory finish(std::span<const Level> storage) { return build(entries(), storage); }

 private:
  /// Whether there is a -0 is decided by the type.
  static bool is_stored(T value) {
    if constexpr (sizeof(T) == 8) {
      return std::bit_cast<std::uint64_t>(value) != 0;
    } else if constexpr (sizeof(T) == 4) {
      return std::bit_cast<std::uint32_t>(value) != 0;
    } else {
      return value != T(0);
    }
  }
  void begin_row() {
    drop_empty_row();
    const std::size_t subscripts = rank_ - 1;
    if (!begins_.empty() &&
        std::equal(outer_.end() - static_cast<std::ptrdiff_t>(subscripts), outer_.end(), at_.begin()))
      return;
    outer_.insert(outer_.end(), at_.begin(), at_.begin() + static_cast<std::ptrdiff_t>(subscripts));
    begins_.push_back(size_);
  }
  void drop_empty_row() {
    if (rank_ == 1 || begins_.empty() || begins_.back() != size_) return;
    outer_.erase(outer_.end() - static_cast<std::ptrdiff_t>(rank_ - 1), outer_.end());
    begins_.pop_back();
  }
  void grow(Index capacity) {
    const auto enlarge = [&]<class U>(std::unique_ptr<U[]>& list) {
      auto larger = std::make_unique_for_overwrite<U[]>(static_cast<std::size_t>(capacity));
      if (size_ > 0) std::memcpy(larger.get(), list.get(), static_cast<std::size_t>(size_) * sizeof(U));
      list = std::move(larger);
    };
    enlarge(last_);
    if constexpr (!std::is_same_v<T, bool>) enlarge(values_);
    capacity_ = capacity;
  }

  std::size_t rank_ = 1;
  std::array<Index, plan::kMaxRank> extents_{};
  std::array<Index, plan::kMaxRank> corner_{};
  std::array<std::uint32_t, plan::kMaxRank> at_{};
  Index size_ = 0;
  Index capacity_ = 0;
  std::vector<std::uint32_t> outer_;  ///< of rows that have elements, subscript by subscript
  std::vector<Index> begins_;         ///< the first element of each
  std::unique_ptr<std::uint32_t[]> last_;
  std::unique_ptr<T[]> values_;
};

}  // namespace tdsl::rt::sparse
