#include "runtime/sparse/part_list.h"

#include <algorithm>

#include "runtime/sparse/parts.h"
#include "runtime/types.h"

namespace tdsl::rt::sparse {

template <class T>
PartList<T>::PartList(std::span<const Part> parts, int rank, std::span<const int> order) {
  for (const Part& part : parts) {
    if (part.head == nullptr || part.head->bytes == 0) continue;
    if (part.head->is_coded()) {
      coded_.push_back(part);
      continue;
    }
    Entry& entry = entries_.emplace_back(BlockView<T>(*part.head), std::array<Index, 8>{}, part.outer);
    for (int l = 0; l < rank; ++l) {
      const auto d = static_cast<std::size_t>(order.empty() ? l : order[static_cast<std::size_t>(l)]);
      entry.corner[static_cast<std::size_t>(l)] = part.box.dim[d].lo;
    }
  }
  std::ranges::sort(entries_, [](const Entry& a, const Entry& b) {
    return a.outer.lo != b.outer.lo ? a.outer.lo < b.outer.lo : a.corner < b.corner;
  });
  for (std::size_t first = 0; first < entries_.size();) {
    std::size_t last = first;
    while (last < entries_.size() && entries_[last].outer == entries_[first].outer) ++last;
    bands_.push_back({entries_[first].outer, first, last});
    first = last;
  }
  if (coded_.empty()) return;
  for (std::size_t k = 0; k < coded_.size(); ++k) bands_.push_back({coded_[k].outer, k, k});
  std::ranges::sort(bands_, {}, [](const Band& band) { return band.outer.lo; });
}

template <class T>
bool RowBlocks<T>::next() {
  if (left_) {
    decode();
    return true;
  }
  merged_ = nullptr;
  coded_.reset();
  for (; band_ < parts_.bands().size(); ++band_) {
    const typename PartList<T>::Band& band = parts_.bands()[band_];
    range_ = plan::intersect(band.outer, wanted_);
    if (range_.empty()) continue;
    ++band_;
    if (band.first == band.last) {
      const Part& part = parts_.coded()[band.first];
      const Index row = part.box.dim[0].lo;
      const CodedRows<T> rows{CodedView<T>(*part.head), row, part.box.dim[1].lo, {range_.lo - row, range_.hi - row}};
      if (!decodes_) {
        coded_ = rows;
      } else {
        left_ = rows;
        buffer_.reset();
        decode();
      }
    } else if (band.last - band.first == 1) {
      enter(parts_.entries()[band.first]);
    } else {
      merged_ = &band;
    }
    return true;
  }
  return false;
}

template <class T>
void RowBlocks<T>::enter(const typename PartList<T>::Entry& entry) {
  const Children<T> roots = Children<T>::roots(entry.view, entry.corner.data(), entry.outer, range_);
  const BlockHead& head = entry.view.head();
  rows_ = {.nodes = {roots.first(), roots.first() + roots.size()},
           .row = head.kind[0] == Level::kDense ? entry.outer.lo : entry.corner[0],
           .column = entry.corner[1],
           .listed = entry.view.coordinate(0),
           .position = entry.view.position(1),
           .coordinate = entry.view.coordinate(1),
           .values = entry.view.values(),
           .extent = head.count[0] == 0 ? 0 : head.count[1] / head.count[0],
           .stored = head.count[1],
           .no_zeros = head.has(BlockHead::kNoZeros)};
}

template <class T>
void RowBlocks<T>::decode() {
  constexpr Index kElements = 16384;
  const Index columns = left_->view.columns();
  const Index height = std::clamp<Index>(kElements / std::max<Index>(columns, 1), 1, kSegmentRows);
  if (!buffer_) buffer_ = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(height * columns));
  const Interval some{left_->rows.lo, std::min(left_->rows.hi, left_->rows.lo + height)};
  left_->view.decode(some, buffer_.get());
  rows_ = {.nodes = {0, some.size()},
           .row = left_->row + some.lo,
           .column = left_->column,
           .values = buffer_.get(),
           .extent = columns,
           .no_zeros = false};
  left_->rows.lo = some.hi;
  if (left_->rows.empty()) left_.reset();
}

template <class T>
MergedRows<T>::MergedRows(const PartList<T>& parts, const typename PartList<T>::Band& band, Interval range)
    : entries_(parts.entries().subspan(band.first, band.last - band.first)), end_(range.hi) {
  for (const typename PartList<T>::Entry& entry : entries_) {
    roots_.push_back(Children<T>::roots(entry.view, entry.corner.data(), band.outer, range));
    next_.push_back(roots_.back().first());
  }
}

template <class T>
bool MergedRows<T>::next() {
  row_ = end_;
  for (std::size_t p = 0; p < roots_.size(); ++p) {
    if (next_[p] < roots_[p].first() + roots_[p].size()) row_ = std::min(row_, roots_[p].index_of(next_[p]));
  }
  if (row_ == end_) return false;
  segments_.clear();
  for (std::size_t p = 0; p < roots_.size(); ++p) {
    if (next_[p] == roots_[p].first() + roots_[p].size() || roots_[p].index_of(next_[p]) != row_) continue;
    const typename PartList<T>::Entry& entry = entries_[p];
    segments_.push_back(Segment<T>::of(entry.view, entry.corner.data(),
                                       Children<T>::below(entry.view, entry.corner.data(), 1, next_[p]++)));
  }
  return true;
}

#define TDSL_INSTANTIATE(enumerator, T, ...) \
  template class PartList<T>;                \
  template class RowBlocks<T>;               \
  template class MergedRows<T>;
TDSL_ELEMENT_TYPES(TDSL_INSTANTIATE)
#undef TDSL_INSTANTIATE

}  // namespace tdsl::rt::sparse
