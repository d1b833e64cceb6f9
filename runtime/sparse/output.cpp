#include "runtime/sparse/output.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/check.h"
#include "runtime/types.h"

namespace tdsl::rt::sparse {

template <class T>
void Output<T>::begin(const plan::Box& tile) {
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

template <class T>
RowEntries<T> Output<T>::entries() {
  drop_empty_row();
  TDSL_CHECK(rank_ < 2 || size_ == 0 || !begins_.empty(), "elements lie in rows");
  const auto count = static_cast<std::size_t>(size_);
  return {std::span(extents_).first(rank_),
          outer_,
          begins_,
          {last_.get(), count},
          {values_.get(), std::is_same_v<T, bool> ? 0 : count}};
}

template <class T>
void Output<T>::begin_row() {
  drop_empty_row();
  const std::size_t subscripts = rank_ - 1;
  if (!begins_.empty() && std::equal(outer_.end() - static_cast<std::ptrdiff_t>(subscripts), outer_.end(), at_.begin()))
    return;
  outer_.insert(outer_.end(), at_.begin(), at_.begin() + static_cast<std::ptrdiff_t>(subscripts));
  begins_.push_back(size_);
}

template <class T>
void Output<T>::drop_empty_row() {
  if (rank_ == 1 || begins_.empty() || begins_.back() != size_) return;
  outer_.erase(outer_.end() - static_cast<std::ptrdiff_t>(rank_ - 1), outer_.end());
  begins_.pop_back();
}

template <class T>
void Output<T>::grow(Index capacity) {
  const auto enlarge = [&]<class U>(std::unique_ptr<U[]>& list) {
    auto larger = std::make_unique_for_overwrite<U[]>(static_cast<std::size_t>(capacity));
    if (size_ > 0) std::memcpy(larger.get(), list.get(), static_cast<std::size_t>(size_) * sizeof(U));
    list = std::move(larger);
  };
  enlarge(last_);
  if constexpr (!std::is_same_v<T, bool>) enlarge(values_);
  capacity_ = capacity;
}

#define TDSL_INSTANTIATE(enumerator, T, ...) template class Output<T>;
TDSL_ELEMENT_TYPES(TDSL_INSTANTIATE)
#undef TDSL_INSTANTIATE

}  // namespace tdsl::rt::sparse
