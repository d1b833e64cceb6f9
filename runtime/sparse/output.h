#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/sparse/build.h"

namespace tdsl::rt::sparse {

/// Where a kernel puts the elements of a sparse tile while it does not know how many there will be: rows ascending, columns ascending
/// in each. Reused from task to task, so that memory is that of the largest. Zeros are dropped, but for -0.
template <class T>
class Output {
 public:
  /// A tile with its corner and extents.
  void begin(Index row_corner, Index column_corner, Index rows, Index columns) {
    row_corner_ = row_corner;
    column_corner_ = column_corner;
    extents_ = {rows, columns};
    at_.clear();
    values_.clear();
  }
  /// At most so many elements will come.
  void reserve(Index elements) {
    at_.reserve(2 * static_cast<std::size_t>(elements));
    if constexpr (!std::is_same_v<T, bool>) values_.reserve(static_cast<std::size_t>(elements));
  }
  /// What is put next is in row i.
  void row(Index i) { row_ = static_cast<std::uint32_t>(i - row_corner_); }
  void put(Index j, T value) {
    if (value == T(0) && !is_negative_zero(value)) return;  // the type decides whether there is a -0
    at_.push_back(row_);
    at_.push_back(static_cast<std::uint32_t>(j - column_corner_));
    if constexpr (!std::is_same_v<T, bool>) values_.push_back(value);
  }
  [[nodiscard]] SortedEntries<T> entries() const { return {extents_, at_, values_}; }
  [[nodiscard]] Index stored() const { return static_cast<Index>(at_.size() / 2); }
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
  std::array<Index, 2> extents_{};
  Index row_corner_ = 0;
  Index column_corner_ = 0;
  std::uint32_t row_ = 0;
  std::vector<std::uint32_t> at_;
  std::conditional_t<std::is_same_v<T, bool>, NoValues, std::vector<T>> values_;
};

}  // namespace tdsl::rt::sparse
