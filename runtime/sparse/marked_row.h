#pragma once

#include <cstdint>
#include <vector>

#include "runtime/sparse/row_finder.h"

namespace tdsl::rt::sparse {

/// Elements of one matrix row indexed by column, for many lookups in the same row: a bit per column, and a value if it
/// is set; memory is reused between rows. Columns beyond four million are searched in the row itself.
template <class T>
class MarkedRow {
 public:
  explicit MarkedRow(const Parts<T, 2>& matrix) : rows_(matrix) {}

  /// Selects row i.
  void mark(Index i) {
    if (marked_) {
      if (i == at_) return;
      rows_(at_).each([this](Index j, T) {
        if (j < kMostMarked) bits_[static_cast<std::size_t>(j) >> 6] = 0;
      });
    }
    at_ = i;
    marked_ = true;
    rows_(i).each([this](Index j, T value) {
      if (j >= kMostMarked) return;
      const auto c = static_cast<std::size_t>(j);
      if (c >= values_.size()) grow(c);
      bits_[c >> 6] |= std::uint64_t{1} << (c & 63);
      values_[c].value = value;
    });
  }
  /// The element in column j; 0 if it is not stored.
  [[nodiscard]] T operator()(Index j) {
    if (j >= kMostMarked) return rows_(at_).find(j);
    const auto c = static_cast<std::size_t>(j);
    if (c >= values_.size() || (bits_[c >> 6] >> (c & 63) & 1) == 0) return T(0);
    return values_[c].value;
  }

 private:
  static constexpr Index kMostMarked = Index{1} << 22;
  struct Cell {
    T value{};
  };
  void grow(std::size_t column) {
    values_.resize(std::max(2 * values_.size(), (column + 64) & ~std::size_t{63}));
    bits_.resize((values_.size() + 63) / 64, 0);
  }

  RowFinder<T> rows_;
  std::vector<Cell> values_;
  std::vector<std::uint64_t> bits_;
  Index at_ = 0;
  bool marked_ = false;
};

}  // namespace tdsl::rt::sparse
