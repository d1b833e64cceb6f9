#include "runtime/sparse/row_finder.h"

#include <algorithm>
#include <limits>

#include "runtime/types.h"

namespace tdsl::rt::sparse {

template <class T>
RowFinder<T>::RowFinder(const Parts<T, 2>& matrix) : matrix_(&matrix) {
  matrix.each_band([this](const BlockView<T>& view, Index row, Index column, Interval rows, bool alone) {
    Panel& panel = panels_.emplace_back();
    panel.rows = rows;
    panel.alone = alone;
    if (!alone) return;
    const BlockHead& head = view.head();
    panel.first = head.kind[0] == Level::kDense ? rows.lo : row;
    panel.listed = view.coordinate(0);
    panel.count = head.count[0];
    panel.position = view.position(1);
    panel.extent = head.count[0] == 0 ? 0 : head.count[1] / head.count[0];
    panel.stored = head.count[1];
    panel.coordinate = view.coordinate(1);
    panel.values = view.values();
    panel.row = {nullptr, nullptr, 0, column, 0, head.has(BlockHead::kNoZeros)};
    if (panel.listed != nullptr && rows.size() <= kIndexed * panel.count &&
        panel.count <= std::numeric_limits<std::int32_t>::max())
      add_index(panel);
  });
}

template <class T>
Row<T> RowFinder<T>::of_several_parts(Index i) {
  return matrix_->row(i, segments_);
}

template <class T>
void RowFinder<T>::add_index(Panel& panel) {
  panel.index.assign(static_cast<std::size_t>(panel.rows.size()), -1);
  for (Index node = 0; node < panel.count; ++node) {
    panel.index[static_cast<std::size_t>(panel.first + static_cast<Index>(panel.listed[node]) - panel.rows.lo)] =
        static_cast<std::int32_t>(node);
  }
}

template <class T>
void MarkedRow<T>::mark(Index i) {
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

template <class T>
void MarkedRow<T>::grow(std::size_t column) {
  values_.resize(std::max(2 * values_.size(), (column + 64) & ~std::size_t{63}));
  bits_.resize((values_.size() + 63) / 64, 0);
}

#define TDSL_INSTANTIATE(enumerator, T, ...) \
  template class RowFinder<T>;               \
  template class MarkedRow<T>;
TDSL_ELEMENT_TYPES(TDSL_INSTANTIATE)
#undef TDSL_INSTANTIATE

}  // namespace tdsl::rt::sparse
