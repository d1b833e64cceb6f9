#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "runtime/types.h"

/// Contents of coordinate files: coordinates and values, in file order.
namespace tdsl::rt {

/// Memory layout of an entry: its coordinates, 4 bytes each or 8 if a dimension requires it, padding to 8 bytes, and 8
/// bytes that begin with the value (16 for c128; none for bool, where every entry is true). 16 bytes for a matrix of
/// reals with fewer than 2^32 rows and columns.
struct EntryForm {
  int rank = 2;
  ElementType type = ElementType::kF64;
  bool wide = false;   ///< coordinates have 8 bytes
  bool whole = false;  ///< coordinates are unique and the tensor is dense: -0 is preserved

  [[nodiscard]] static bool needs_wide(std::span<const std::int64_t> shape) {
    for (const std::int64_t extent : shape) {
      if (extent > (std::int64_t{1} << 32)) return true;
    }
    return false;
  }
  [[nodiscard]] std::size_t value_offset() const {
    return (static_cast<std::size_t>(rank) * (wide ? 8 : 4) + 7) / 8 * 8;
  }
  [[nodiscard]] std::size_t bytes() const {
    const std::size_t value = std::max<std::size_t>(8, element_size(type));
    return value_offset() + (type == ElementType::kBool ? 0 : value);
  }

  [[nodiscard]] std::int64_t coordinate(const std::byte* entry, int d) const {
    if (wide) return load<std::int64_t>(entry + 8 * static_cast<std::size_t>(d));
    return load<std::uint32_t>(entry + 4 * static_cast<std::size_t>(d));
  }
  void set_coordinate(std::byte* entry, int d, std::int64_t x) const {
    if (wide) {
      std::memcpy(entry + 8 * static_cast<std::size_t>(d), &x, 8);
    } else {
      const auto narrow = static_cast<std::uint32_t>(x);
      std::memcpy(entry + 4 * static_cast<std::size_t>(d), &narrow, 4);
    }
  }
  template <Element T>
  [[nodiscard]] T value(const std::byte* entry) const {
    if constexpr (std::same_as<T, bool>) {
      return true;
    } else {
      return load<T>(entry + value_offset());
    }
  }
  template <Element T>
  void set_value(std::byte* entry, T value) const {
    if constexpr (!std::same_as<T, bool>) std::memcpy(entry + value_offset(), &value, sizeof value);
  }
  friend bool operator==(const EntryForm&, const EntryForm&) = default;

 private:
  template <class T>
  [[nodiscard]] static T load(const std::byte* from) {
    T x;
    std::memcpy(&x, from, sizeof x);
    return x;
  }
};

/// Entries of a tensor, or of a part of its file, in pieces of 1 MiB that can be released one by one.
class Entries {
 public:
  struct Chunk {
    std::unique_ptr<std::byte[]> data;
    std::int64_t count = 0;
  };

  Entries() = default;
  /// Beyond `most_bytes`, entries are counted but not kept; 0: no limit.
  explicit Entries(EntryForm form, std::int64_t most_bytes = 0)
      : form_(form), most_(most_bytes > 0 ? most_bytes / static_cast<std::int64_t>(form.bytes()) : kAnyNumber) {}

  [[nodiscard]] const EntryForm& form() const { return form_; }
  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] std::int64_t bytes() const { return count_ * static_cast<std::int64_t>(form_.bytes()); }
  /// True if all entries are kept.
  [[nodiscard]] bool complete() const { return count_ <= most_; }
  [[nodiscard]] const std::vector<Chunk>& chunks() const { return chunks_; }
  [[nodiscard]] std::vector<Chunk>& chunks() { return chunks_; }

  /// Space for one more entry, to be filled by the caller.
  [[nodiscard]] std::byte* append() {
    if (room_ == 0) grow();
    Chunk& last = chunks_.back();
    ++count_;
    --room_;
    return last.data.get() + static_cast<std::size_t>(last.count++) * form_.bytes();
  }
  template <Element T>
  void append(std::span<const std::int64_t> coordinates, T value) {
    std::byte* const entry = append();
    for (int d = 0; d < form_.rank; ++d) form_.set_coordinate(entry, d, coordinates[static_cast<std::size_t>(d)]);
    form_.set_value(entry, value);
  }
  /// Calls `f(entry)` for each entry, in order.
  template <class F>
  void for_each(F&& f) const {
    for (const Chunk& chunk : chunks_) {
      for (std::int64_t k = 0; k < chunk.count; ++k)
        f(static_cast<const std::byte*>(chunk.data.get()) + static_cast<std::size_t>(k) * form_.bytes());
    }
  }
  /// Converts coordinates to 8 bytes.
  void widen();
  /// Sets whether the entries are those of a dense array; false when they are read into a sparse tensor.
  void set_whole(bool whole) { form_.whole = whole; }

 private:
  static constexpr std::int64_t kChunkBytes = std::int64_t{1} << 20;
  static constexpr std::int64_t kAnyNumber = std::numeric_limits<std::int64_t>::max();
  void grow();

  EntryForm form_;
  std::int64_t most_ = kAnyNumber;
  std::int64_t count_ = 0;
  std::int64_t room_ = 0;  ///< in the last piece
  std::vector<Chunk> chunks_;
};

/// Combines two entries with the same coordinates: the sum as the language defines it; for bools, logical or.
template <Element T>
[[nodiscard]] T add_entries(T a, T b) {
  if constexpr (std::same_as<T, bool>) {
    return a || b;
  } else if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
  } else {
    return a + b;
  }
}

/// Adds the entry to a dense box of zeros: `to` points to the element at coordinates `corner`; strides are in elements.
template <Element T>
void add_entry(const EntryForm& form, const std::byte* entry, T* to, std::span<const std::int64_t> corner,
               std::span<const std::int64_t> strides) {
  std::int64_t offset = 0;
  for (int d = 0; d < form.rank; ++d) {
    const auto i = static_cast<std::size_t>(d);
    offset += (form.coordinate(entry, d) - corner[i]) * strides[i];
  }
  const T value = form.value<T>(entry);
  to[offset] = form.whole ? value : add_entries(to[offset], value);
}

}  // namespace tdsl::rt
