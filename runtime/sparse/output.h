#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/plan/space/index.h"
#include "runtime/sparse/build.h"

namespace tdsl::rt::sparse {

/// Where a kernel puts the elements of a sparse tile while it does not know how many there will be: in the order of their subscripts, row
/// by row. Reused from task to task, so that memory is that of the largest. Zeros are dropped, but for -0.
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
    at_.clear();
    values_.clear();
  }
  /// At most so many elements will come.
  void reserve(Index elements) {
    at_.reserve(rank_ * static_cast<std::size_t>(elements));
    if constexpr (!std::is_same_v<T, bool>) values_.reserve(static_cast<std::size_t>(elements));
  }
  /// What is put next has the subscript along a dimension that is not the last.
  void at(std::size_t dimension, Index x) { outer_[dimension] = static_cast<std::uint32_t>(x - corner_[dimension]); }
  /// What is put next is in row i.
  void row(Index i) { at(0, i); }
  /// The element at j of the last dimension.
  void put(Index j, T value) {
    if (value == T(0) && !is_negative_zero(value)) return;  // the type decides whether there is a -0
    for (std::size_t d = 0; d + 1 < rank_; ++d) at_.push_back(outer_[d]);
    at_.push_back(static_cast<std::uint32_t>(j - corner_[rank_ - 1]));
    if constexpr (!std::is_same_v<T, bool>) values_.push_back(value);
  }
  [[nodiscard]] SortedEntries<T> entries() const { return {std::span(extents_).first(rank_), at_, values_}; }
  [[nodiscard]] Index stored() const { return static_cast<Index>(at_.size() / rank_); }
  /// The final block, of exactly its size; null if nothing is stored.
  [[nodiscard]] BlockMemory finish(std::span<const Level> storage) const { return build(entries(), storage); }

 private:
  static bool is_negative_zero(T value) {
    if constexpr (std::is_floating_point_v<T>) return std::signbit(value);
    return false;
  }
  struct NoValues {
    void clear() {}
    operator std::span<const T>() const { return {}; }
  };
  std::size_t rank_ = 1;
  std::array<Index, plan::kMaxRank> extents_{};
  std::array<Index, plan::kMaxRank> corner_{};
  std::array<std::uint32_t, plan::kMaxRank> outer_{};
  std::vector<std::uint32_t> at_;
  std::conditional_t<std::is_same_v<T, bool>, NoValues, std::vector<T>> values_;
};

}  // namespace tdsl::rt::sparse
