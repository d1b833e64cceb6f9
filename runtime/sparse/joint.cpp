#include "runtime/sparse/joint.h"

#include <algorithm>
#include <deque>
#include <vector>

#include "runtime/sparse/joint_levels.h"
#include "runtime/types.h"

namespace tdsl::rt::sparse {

template <class T>
RowCursor<T>::RowCursor(const PartList<T>& parts, Interval wanted) : parts_(&parts), wanted_(wanted) {
  parts.require_plain();
  settle();
}

/// The last row of a band with one part: copied, because the next band replaces the part.
template <class T>
std::span<const Segment<T>> RowCursor<T>::take_last(const Segment<T>& row) {
  segments_.assign(1, row);
  settle();
  return segments_;
}

template <class T>
std::span<const Segment<T>> RowCursor<T>::take_of_band() {
  segments_.clear();
  for (PartRows<T>& part : band_) {
    if (part.more() && part.index() == index_) segments_.push_back(part.take());
  }
  settle();
  return segments_;
}

template <class T>
void RowCursor<T>::seek_bands(Index i) {
  while (index_ < i) {
    for (PartRows<T>& part : band_) part.seek(i);
    settle();
  }
}

template <class T>
void RowCursor<T>::settle() {
  do {
    index_ = std::numeric_limits<Index>::max();
    for (const PartRows<T>& part : band_) {
      if (part.more()) index_ = std::min(index_, part.index());
    }
  } while (index_ == std::numeric_limits<Index>::max() && enter());
}

/// Enters the next band with rows in the interval; false if there is none.
template <class T>
bool RowCursor<T>::enter() {
  for (; next_ < parts_->bands().size(); ++next_) {
    const typename PartList<T>::Band& band = parts_->bands()[next_];
    const Interval range = plan::intersect(band.outer, wanted_);
    if (range.empty()) continue;
    band_.clear();
    for (std::size_t e = band.first; e < band.last; ++e) {
      const typename PartList<T>::Entry& entry = parts_->entries()[e];
      band_.emplace_back(entry.view, entry.corner.data(),
                         Children<T>::roots(entry.view, entry.corner.data(), band.outer, range));
    }
    ++next_;
    only_ = band_.size() == 1 ? band_.data() : nullptr;
    return true;
  }
  return false;
}

template <class T>
std::span<const Children<T>> LevelCursor<T>::take() {
  below_.clear();
  for (List& list : active()) {
    if (list.next < list.last && list.nodes.index_of(list.next) == index_)
      below_.push_back(list.nodes.below(list.next++));
  }
  settle();
  return below_;
}

template <class T>
void LevelCursor<T>::seek(Index x) {
  while (index_ < x) {
    for (List& list : active()) {
      while (list.next < list.last && list.nodes.index_of(list.next) < x) ++list.next;
    }
    settle();
  }
}

template <class T>
void LevelCursor<T>::settle() {
  do {
    index_ = kNoIndex;
    for (const List& list : active()) {
      if (list.next < list.last) index_ = std::min(index_, list.nodes.index_of(list.next));
    }
  } while (index_ == kNoIndex && next_band());
}

template <class T>
bool LevelCursor<T>::next_band() {
  active_.first = active_.second;
  while (active_.second < lists_.size() && lists_[active_.second].band == lists_[active_.first].band) ++active_.second;
  return active_.first < active_.second;
}

namespace detail {

namespace {

struct MarkLists {
  std::deque<std::vector<std::uint32_t>> lists;
  std::size_t used = 0;
};
MarkLists& mark_lists() {
  thread_local MarkLists lists;
  return lists;
}

}  // namespace

Marks::Marks() {
  MarkLists& all = mark_lists();
  if (all.used == all.lists.size()) all.lists.emplace_back();
  list_ = &all.lists[all.used++];
}
Marks::~Marks() { --mark_lists().used; }

void Marks::enlarge(std::uint32_t columns) { list_->resize(columns); }

}  // namespace detail

#define TDSL_INSTANTIATE(enumerator, T, ...) \
  template class RowCursor<T>;               \
  template class LevelCursor<T>;
TDSL_ELEMENT_TYPES(TDSL_INSTANTIATE)
#undef TDSL_INSTANTIATE

}  // namespace tdsl::rt::sparse
