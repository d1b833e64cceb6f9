#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/plan/space/index.h"

namespace tdsl::rt::sparse {

using plan::Index;
using plan::Interval;

/// The inverse of a list of numbers: the places at which each number occurs, ascending. At most 2^32 places and
/// numbers. Numbers share buckets of equal width, at most about one per place, so memory does not depend on the range
/// of numbers: at most 16 bytes a place.
class Places {
 public:
  /// `number(k)` for k in `places`, each in 0 .. extent - 1.
  template <class Number>
  Places(const Number& number, Interval places, Index extent) : first_(places.lo) {
    while (((extent - 1) >> width_) > places.size()) ++width_;
    begins_.assign(static_cast<std::size_t>((std::max<Index>(extent, 1) - 1) >> width_) + 3, 0);
    for (Index k = places.lo; k < places.hi; ++k) ++begins_[bucket_of(number(k)) + 2];
    for (std::size_t b = 1; b < begins_.size(); ++b) begins_[b] += begins_[b - 1];
    entries_.resize(static_cast<std::size_t>(places.size()));
    for (Index k = places.lo; k < places.hi; ++k) {
      const Index x = number(k);
      entries_[static_cast<std::size_t>(begins_[bucket_of(x) + 1]++)] = {static_cast<std::uint32_t>(x),
                                                                         static_cast<std::uint32_t>(k - first_)};
    }
    for (std::size_t b = 0; width_ > 0 && b + 2 < begins_.size(); ++b) std::sort(at(b), at(b + 1), before);
  }

  /// Calls `f` with the places of a number, ascending.
  template <class F>
  void each(Index x, const F& f) const {
    const std::size_t b = bucket_of(x);
    const Entry wanted{static_cast<std::uint32_t>(x), 0};
    auto entry = width_ == 0 ? at(b) : std::lower_bound(at(b), at(b + 1), wanted, before);
    for (; entry != at(b + 1) && entry->number == wanted.number; ++entry) f(first_ + static_cast<Index>(entry->place));
  }

 private:
  struct Entry {
    std::uint32_t number;
    std::uint32_t place;
  };
  static bool before(const Entry& a, const Entry& b) {
    return a.number != b.number ? a.number < b.number : a.place < b.place;
  }
  [[nodiscard]] std::size_t bucket_of(Index x) const { return static_cast<std::size_t>(x >> width_); }
  [[nodiscard]] std::vector<Entry>::const_iterator at(std::size_t bucket) const {
    return entries_.begin() + begins_[bucket];
  }
  [[nodiscard]] std::vector<Entry>::iterator at(std::size_t bucket) { return entries_.begin() + begins_[bucket]; }

  Index first_;
  int width_ = 0;              ///< bits of numbers within a bucket
  std::vector<Index> begins_;  ///< of buckets in `entries_`
  std::vector<Entry> entries_;
};

}  // namespace tdsl::rt::sparse
