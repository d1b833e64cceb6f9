#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/sparse/build.h"

namespace tdsl::rt::sparse {

/// Collects the elements of a tile in any order, each coordinate at most once, e.g. for a transposition or a flip. They
/// are sorted by a counting sort over rows, and within rows only if they do not ascend. Reused between tasks. Zeros are
/// dropped, except -0.
template <class T>
class Collected {
 public:
  /// Starts a tile with the given corner and extents.
  void begin(Index row_corner, Index column_corner, Index rows, Index columns) {
    corner_ = {row_corner, column_corner};
    extents_ = {rows, columns};
    elements_.clear();
    ordered_ = true;
  }
  void put(Index i, Index j, T value) {
    if (value == T(0) && !is_negative_zero(value)) return;
    const Element element{static_cast<std::uint32_t>(i - corner_[0]), static_cast<std::uint32_t>(j - corner_[1]),
                          value};
    ordered_ = ordered_ && (elements_.empty() || before(elements_.back(), element));
    elements_.push_back(element);
  }
  /// By rows, and by columns within each. Valid until the next `begin`.
  [[nodiscard]] RowEntries<T> entries() {
    if (!ordered_) sort();
    rows_.clear();
    begins_.clear();
    columns_.clear();
    values_.clear();
    columns_.reserve(elements_.size());
    if constexpr (kHasValues) values_.reserve(elements_.size());
    for (const Element& e : elements_) {
      if (rows_.empty() || rows_.back() != e.row) {
        rows_.push_back(e.row);
        begins_.push_back(static_cast<Index>(columns_.size()));
      }
      columns_.push_back(e.column);
      if constexpr (kHasValues) values_.push_back(e.value);
    }
    return {extents_, rows_, begins_, columns_, values_};
  }

 private:
  static constexpr bool kHasValues = !std::is_same_v<T, bool>;
  /// Counting sort needs memory for every row, so it is used only if enough rows have elements.
  static constexpr std::size_t kMostRowsPerElement = 4;

  struct Element {
    std::uint32_t row;
    std::uint32_t column;
    T value;
  };
  struct NoValues {
    void clear() {}
    operator std::span<const T>() const { return {}; }
  };

  static bool is_negative_zero(T value) {
    if constexpr (kIsComplex<T>) {
      return std::signbit(value.re) || std::signbit(value.im);
    } else if constexpr (std::is_floating_point_v<T>) {
      return std::signbit(value);
    } else {
      return false;
    }
  }
  static bool before(const Element& a, const Element& b) {
    return a.row != b.row ? a.row < b.row : a.column < b.column;
  }

  void sort() {
    if (static_cast<std::size_t>(extents_[0]) > kMostRowsPerElement * elements_.size()) {
      std::sort(elements_.begin(), elements_.end(), before);
      return;
    }
    next_.assign(static_cast<std::size_t>(extents_[0]) + 1, 0);
    for (const Element& e : elements_) ++next_[e.row + std::size_t{1}];
    std::partial_sum(next_.begin(), next_.end(), next_.begin());
    sorted_.resize(elements_.size());
    for (const Element& e : elements_) sorted_[next_[e.row]++] = e;
    std::swap(elements_, sorted_);
    for (auto first = elements_.begin(); first != elements_.end();) {
      const auto last =
          std::find_if(first, elements_.end(), [row = first->row](const Element& e) { return e.row != row; });
      if (!std::is_sorted(first, last, before)) std::sort(first, last, before);
      first = last;
    }
  }

  std::array<Index, 2> corner_{};
  std::array<Index, 2> extents_{};
  bool ordered_ = true;
  std::vector<Element> elements_;
  std::vector<Element> sorted_;
  std::vector<std::size_t> next_;
  std::vector<std::uint32_t> rows_;  ///< rows with elements
  std::vector<Index> begins_;        ///< index of the first element of each
  std::vector<std::uint32_t> columns_;
  std::conditional_t<kHasValues, std::vector<T>, NoValues> values_;
};

}  // namespace tdsl::rt::sparse
