#include "runtime/sparse/build.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "runtime/check.h"

namespace tdsl::rt::sparse {

namespace {

constexpr Index kMostCoordinates = Index{1} << 32;

/// The first level at which entry k differs from its predecessor; 0 for the first entry.
template <class T>
std::size_t first_new_level(const SortedEntries<T>& entries, Index k) {
  const std::size_t levels = entries.extents.size();
  if (k == 0) return 0;
  const std::uint32_t* const now = entries.at.data() + static_cast<std::size_t>(k) * levels;
  std::size_t l = 0;
  while (l + 1 < levels && now[l] == now[l - levels]) ++l;
  return l;
}

/// The same for row r, which has `subscripts` subscripts in the list; `subscripts` if there is no difference.
std::size_t first_new_level(std::span<const std::uint32_t> list, std::size_t subscripts, std::size_t r) {
  if (r == 0) return 0;
  const std::uint32_t* const now = list.data() + r * subscripts;
  std::size_t l = 0;
  while (l < subscripts && now[l] == now[static_cast<std::ptrdiff_t>(l) - static_cast<std::ptrdiff_t>(subscripts)]) ++l;
  return l;
}

template <class T>
std::uint8_t flags_of(std::span<const T> stored, bool values) {
  bool zero = false;
  bool finite = true;
  for (const T v : stored) {
    zero |= v == T(0);
    if constexpr (std::is_floating_point_v<T> || kIsComplex<T>) finite &= v - v == T(0);
  }
  const int flags =
      (zero ? 0 : BlockHead::kNoZeros) | (finite ? BlockHead::kFinite : 0) | (values ? BlockHead::kValues : 0);
  return static_cast<std::uint8_t>(flags);
}

/// Nodes per level if all levels are compressed.
template <class T>
std::array<Index, 8> prefixes(const SortedEntries<T>& entries) {
  std::array<Index, 8> distinct{};
  for (Index k = 0; k < entries.count(); ++k) {
    for (std::size_t l = first_new_level(entries, k); l < entries.extents.size(); ++l) ++distinct[l];
  }
  return distinct;
}

template <class T>
std::array<Index, 8> prefixes(const RowEntries<T>& entries) {
  std::array<Index, 8> distinct{};
  const std::size_t levels = entries.extents.size();
  for (std::size_t r = 0; r < entries.begins.size(); ++r) {
    for (std::size_t l = first_new_level(entries.outer, levels - 1, r); l + 1 < levels; ++l) ++distinct[l];
  }
  distinct[levels - 1] = entries.count();
  return distinct;
}

double volume_of(std::span<const Index> extents) {
  double volume = 1;
  for (const Index extent : extents) volume *= static_cast<double>(extent);
  return volume;
}

template <class T, class Entries>
BlockHead head_from(const Entries& entries, std::span<const Level> storage, bool as_stored) {
  const std::size_t levels = entries.extents.size();
  TDSL_CHECK(levels == storage.size() && levels <= 8, "a level per dimension");
  BlockHead head;
  head.levels = static_cast<std::uint8_t>(levels);
  head.element = static_cast<std::uint8_t>(element_type_of<T>);
  const Index count = entries.count();
  if (count == 0) return head;
  for (const Index extent : entries.extents) {
    if (extent > kMostCoordinates) {
      throw RunError("a compressed tensor has blocks of " + std::to_string(extent) +
                     " elements along a dimension; more than " + std::to_string(kMostCoordinates) +
                     " are not supported yet (--disable-pass storage stores it dense) [not-supported]");
    }
  }
  std::copy(storage.begin(), storage.end(), head.kind.begin());
  const std::array<Index, 8> distinct = prefixes(entries);
  if (!as_stored && std::ranges::count(storage, Level::kCompressed) > 0) {
    if (static_cast<double>(count) >= kDenseFrom * volume_of(entries.extents)) {
      head.kind.fill(Level::kDense);
    } else if (levels > 1) {
      head.kind[0] = static_cast<double>(distinct[0]) < kRowListBelow * static_cast<double>(entries.extents[0])
                         ? Level::kCompressed
                         : Level::kDense;
    }
  }
  for (std::size_t l = 0; l < levels; ++l) {
    const Index above = l == 0 ? 1 : head.count[l - 1];
    head.count[l] = head.kind[l] == Level::kCompressed ? distinct[l] : above * entries.extents[l];
  }
  const bool dense_end = levels == 0 || head.kind[levels - 1] == Level::kDense;
  head.flags = flags_of(entries.values, dense_end || !std::is_same_v<T, bool>);
  if (dense_end && head.stored() != count) head.flags &= static_cast<std::uint8_t>(~BlockHead::kNoZeros);
  head.bytes = arrays_of(head).bytes;
  return head;
}

}  // namespace

template <class T>
BlockHead head_of(const SortedEntries<T>& entries, std::span<const Level> storage, bool as_stored) {
  return head_from<T>(entries, storage, as_stored);
}

template <class T>
BlockHead head_of(const RowEntries<T>& entries, std::span<const Level> storage, bool as_stored) {
  return head_from<T>(entries, storage, as_stored);
}

namespace {

/// The arrays of a block being written.
template <class T>
class Arrays {
 public:
  Arrays(const BlockHead& head, std::byte* to) : head_(head), arrays_(arrays_of(head)), to_(to) {
    std::memcpy(to, &head, sizeof head);
  }

 protected:
  void clear_positions() {
    for (std::size_t l = 1; l < head_.levels; ++l) {
      if (arrays_.position[l] >= 0) std::fill_n(position(l), head_.count[l - 1] + 1, 0);
    }
  }
  void clear_values() {
    if (has_values()) std::fill_n(values(), head_.stored(), T(0));
  }
  /// Moves to the nodes of an entry at these coordinates, adding new ones from level `first` on.
  void enter(std::size_t first, std::size_t levels, const std::uint32_t* at, std::span<const Index> extents) {
    for (std::size_t l = first; l < levels; ++l) {
      const Index above = l == 0 ? 0 : node_[l - 1];
      if (head_.kind[l] == Level::kDense) {
        node_[l] = above * extents[l] + at[l];
        continue;
      }
      node_[l] = used_[l]++;
      coordinate(l)[node_[l]] = at[l];
      if (l > 0) ++position(l)[above + 1];
    }
  }
  /// Converts child counts to positions.
  void add_up_positions() {
    for (std::size_t l = 1; l < head_.levels; ++l) {
      if (arrays_.position[l] < 0) continue;
      for (Index p = 0; p < head_.count[l - 1]; ++p) position(l)[p + 1] += position(l)[p];
    }
  }
  [[nodiscard]] Index* position(std::size_t l) const { return reinterpret_cast<Index*>(to_ + arrays_.position[l]); }
  [[nodiscard]] std::uint32_t* coordinate(std::size_t l) const {
    return reinterpret_cast<std::uint32_t*>(to_ + arrays_.coordinate[l]);
  }
  [[nodiscard]] bool has_values() const { return arrays_.values >= 0; }
  [[nodiscard]] T* values() const { return reinterpret_cast<T*>(to_ + arrays_.values); }

  const BlockHead& head_;
  std::array<Index, 8> node_{};  ///< of the last entry, per level

 private:
  const BlockArrays arrays_;
  std::byte* to_;
  std::array<Index, 8> used_{};  ///< nodes in use, for compressed levels
};

/// Writes entry by entry.
template <class T>
class Writer : Arrays<T> {
 public:
  Writer(const BlockHead& head, const SortedEntries<T>& entries, std::byte* to)
      : Arrays<T>(head, to), entries_(entries) {}

  void write() {
    this->clear_positions();
    this->clear_values();
    const std::size_t levels = this->head_.levels;
    for (Index k = 0; k < entries_.count(); ++k) {
      const std::uint32_t* const at = entries_.at.data() + static_cast<std::size_t>(k) * levels;
      this->enter(first_new_level(entries_, k), levels, at, entries_.extents);
      if (this->has_values()) this->values()[levels == 0 ? 0 : this->node_[levels - 1]] = entries_.value(k);
    }
    this->add_up_positions();
  }

 private:
  const SortedEntries<T>& entries_;
};

/// Writes row by row: if the last level is compressed, its arrays are copied.
template <class T>
class RowWriter : Arrays<T> {
 public:
  RowWriter(const BlockHead& head, const RowEntries<T>& entries, std::byte* to)
      : Arrays<T>(head, to), entries_(entries) {}

  void write() {
    const BlockHead& head = this->head_;
    const std::size_t last = head.levels - 1U;
    const bool copied = head.kind[last] == Level::kCompressed;
    this->clear_positions();
    if (!copied) this->clear_values();
    for (std::size_t r = 0; r < entries_.begins.size(); ++r) {
      const std::uint32_t* const at = entries_.outer.data() + r * last;
      this->enter(first_new_level(entries_.outer, last, r), last, at, entries_.extents);
      const Index above = last == 0 ? 0 : this->node_[last - 1];
      if (!copied) {
        put_row(r, above * entries_.extents[last]);
      } else if (last > 0) {
        this->position(last)[above + 1] = entries_.end(r) - entries_.begins[r];
      }
    }
    if (copied) copy(entries_.last, this->coordinate(last));
    if (copied && this->has_values()) copy(entries_.values, this->values());
    this->add_up_positions();
  }

 private:
  template <class U>
  static void copy(std::span<const U> list, U* to) {
    if (!list.empty()) std::memcpy(to, list.data(), list.size_bytes());
  }
  void put_row(std::size_t r, Index first) {
    T* const row = this->values() + first;
    for (Index k = entries_.begins[r]; k < entries_.end(r); ++k) {
      const auto at = static_cast<std::size_t>(k);
      row[entries_.last[at]] = entries_.values.empty() ? T(1) : entries_.values[at];
    }
  }

  const RowEntries<T>& entries_;
};

}  // namespace

template <class T>
void write_block(const BlockHead& head, const SortedEntries<T>& entries, std::byte* to) {
  Writer<T>(head, entries, to).write();
}

template <class T>
void write_block(const BlockHead& head, const RowEntries<T>& entries, std::byte* to) {
  RowWriter<T>(head, entries, to).write();
}

#define TDSL_INSTANTIATE(enumerator, T, ...)                                         \
  template BlockHead head_of(const SortedEntries<T>&, std::span<const Level>, bool); \
  template void write_block(const BlockHead&, const SortedEntries<T>&, std::byte*);  \
  template BlockHead head_of(const RowEntries<T>&, std::span<const Level>, bool);    \
  template void write_block(const BlockHead&, const RowEntries<T>&, std::byte*);
TDSL_ELEMENT_TYPES(TDSL_INSTANTIATE)
#undef TDSL_INSTANTIATE

}  // namespace tdsl::rt::sparse
