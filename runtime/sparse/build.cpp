#include "runtime/sparse/build.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "runtime/check.h"

namespace tdsl::rt::sparse {

namespace {

constexpr Index kMostCoordinates = Index{1} << 32;

/// The first level in which entry k differs from the one before it; 0 for the first.
template <class T>
std::size_t first_new_level(const SortedEntries<T>& entries, Index k) {
  const std::size_t levels = entries.extents.size();
  if (k == 0) return 0;
  const std::uint32_t* const now = entries.at.data() + static_cast<std::size_t>(k) * levels;
  std::size_t l = 0;
  while (l + 1 < levels && now[l] == now[l - levels]) ++l;
  return l;
}

template <class T>
std::uint8_t flags_of(const SortedEntries<T>& entries, bool values) {
  std::uint8_t flags = BlockHead::kNoZeros | BlockHead::kFinite;
  for (const T v : entries.values) {
    if (v == T(0)) flags &= static_cast<std::uint8_t>(~BlockHead::kNoZeros);
    if constexpr (std::is_floating_point_v<T>) {
      if (!std::isfinite(v)) flags &= static_cast<std::uint8_t>(~BlockHead::kFinite);
    }
  }
  return values ? flags | BlockHead::kValues : flags;
}

/// How many nodes each level has if all are compressed.
template <class T>
std::array<Index, 8> prefixes(const SortedEntries<T>& entries) {
  std::array<Index, 8> distinct{};
  for (Index k = 0; k < entries.count(); ++k) {
    for (std::size_t l = first_new_level(entries, k); l < entries.extents.size(); ++l) ++distinct[l];
  }
  return distinct;
}

double volume_of(std::span<const Index> extents) {
  double volume = 1;
  for (const Index extent : extents) volume *= static_cast<double>(extent);
  return volume;
}

}  // namespace

template <class T>
BlockHead head_of(const SortedEntries<T>& entries, std::span<const Level> storage, bool as_stored) {
  const std::size_t levels = entries.extents.size();
  TDSL_CHECK(levels == storage.size() && levels <= 8, "a level per dimension");
  BlockHead head;
  head.levels = static_cast<std::uint8_t>(levels);
  head.element = static_cast<std::uint8_t>(element_type_of<T>);
  const Index count = entries.count();
  if (count == 0) return head;
  for (const Index extent : entries.extents) {
    if (extent > kMostCoordinates) {
      throw RunError("a compressed tensor has blocks of " + std::to_string(extent) + " elements along a dimension; more than " + std::to_string(kMostCoordinates) +
                     " are not supported yet (--disable-pass storage stores it dense)");
    }
  }
  std::copy(storage.begin(), storage.end(), head.kind.begin());
  const std::array<Index, 8> distinct = prefixes(entries);
  if (!as_stored && std::ranges::count(storage, Level::kCompressed) > 0) {
    if (static_cast<double>(count) >= kDenseFrom * volume_of(entries.extents)) {
      head.kind.fill(Level::kDense);
    } else if (levels > 1) {
      head.kind[0] = static_cast<double>(distinct[0]) < kRowListBelow * static_cast<double>(entries.extents[0]) ? Level::kCompressed : Level::kDense;
    }
  }
  for (std::size_t l = 0; l < levels; ++l) {
    const Index above = l == 0 ? 1 : head.count[l - 1];
    head.count[l] = head.kind[l] == Level::kCompressed ? distinct[l] : above * entries.extents[l];
  }
  const bool dense_end = levels == 0 || head.kind[levels - 1] == Level::kDense;
  head.flags = flags_of(entries, dense_end || !std::is_same_v<T, bool>);
  if (dense_end && head.stored() != count) head.flags &= static_cast<std::uint8_t>(~BlockHead::kNoZeros);
  head.bytes = arrays_of(head).bytes;
  return head;
}

namespace {

/// Fills the arrays of a block entry by entry.
template <class T>
class Writer {
 public:
  Writer(const BlockHead& head, const SortedEntries<T>& entries, std::byte* to) : head_(head), entries_(entries), arrays_(arrays_of(head)), to_(to) {}

  void write() {
    std::memcpy(to_, &head_, sizeof head_);
    clear();
    std::array<Index, 8> node{};   // of the last entry
    std::array<Index, 8> used{};   // of compressed levels
    const std::size_t levels = head_.levels;
    for (Index k = 0; k < entries_.count(); ++k) {
      const std::uint32_t* const at = entries_.at.data() + static_cast<std::size_t>(k) * levels;
      for (std::size_t l = first_new_level(entries_, k); l < levels; ++l) {
        const Index above = l == 0 ? 0 : node[l - 1];
        if (head_.kind[l] == Level::kDense) {
          node[l] = above * entries_.extents[l] + at[l];
          continue;
        }
        node[l] = used[l]++;
        coordinate(l)[node[l]] = at[l];
        if (l > 0) ++position(l)[above + 1];
      }
      if (arrays_.values >= 0) values()[levels == 0 ? 0 : node[levels - 1]] = entries_.value(k);
    }
    for (std::size_t l = 1; l < levels; ++l) {
      if (arrays_.position[l] < 0) continue;
      for (Index p = 0; p < head_.count[l - 1]; ++p) position(l)[p + 1] += position(l)[p];
    }
  }

 private:
  void clear() {
    for (std::size_t l = 1; l < head_.levels; ++l) {
      if (arrays_.position[l] >= 0) std::fill_n(position(l), head_.count[l - 1] + 1, 0);
    }
    if (arrays_.values >= 0) std::fill_n(values(), head_.stored(), T(0));
  }
  [[nodiscard]] Index* position(std::size_t l) const { return reinterpret_cast<Index*>(to_ + arrays_.position[l]); }
  [[nodiscard]] std::uint32_t* coordinate(std::size_t l) const { return reinterpret_cast<std::uint32_t*>(to_ + arrays_.coordinate[l]); }
  [[nodiscard]] T* values() const { return reinterpret_cast<T*>(to_ + arrays_.values); }

  const BlockHead& head_;
  const SortedEntries<T>& entries_;
  const BlockArrays arrays_;
  std::byte* to_;
};

}  // namespace

template <class T>
void write_block(const BlockHead& head, const SortedEntries<T>& entries, std::byte* to) {
  Writer<T>(head, entries, to).write();
}

#define TDSL_INSTANTIATE(T)                                                            \
  template BlockHead head_of(const SortedEntries<T>&, std::span<const Level>, bool);   \
  template void write_block(const BlockHead&, const SortedEntries<T>&, std::byte*);
TDSL_INSTANTIATE(bool)
TDSL_INSTANTIATE(std::int32_t)
TDSL_INSTANTIATE(std::int64_t)
TDSL_INSTANTIATE(float)
TDSL_INSTANTIATE(double)
#undef TDSL_INSTANTIATE

}  // namespace tdsl::rt::sparse
