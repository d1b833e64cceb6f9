#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstring>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "runtime/io/entries/entries.h"
#include "runtime/plan/space/index.h"
#include "runtime/sparse/block.h"
#include "runtime/sparse/output.h"

// Assembly of a tile from entries: coordinates with values, in the order of their points (of a file, or of a program's
// index variables). Several entries may have the same coordinates. They are sorted by coordinates, stably, so that the
// values of an element keep their order and combine to the same bits however the entries were exchanged.

namespace tdsl::rt::sparse {

/// Entries in row order; entries of a row keep their order.
class EntriesByRow {
 public:
  /// All rows are in `rows`. The form and the entries must outlive the object.
  EntriesByRow(const EntryForm& form, std::span<const std::byte> entries, plan::Interval rows)
      : form_(form), entries_(entries), rows_(rows), order_(entries.size() / form.bytes()) {
    // Counting sort needs memory for every row, so it is used only if enough rows have entries.
    if (rows.size() <= 4 * count() + 1024) {
      sort_by_counting();
    } else {
      std::iota(order_.begin(), order_.end(), std::size_t{0});
      std::stable_sort(order_.begin(), order_.end(), [this](std::size_t a, std::size_t b) { return row(a) < row(b); });
    }
  }

  [[nodiscard]] Index count() const { return static_cast<Index>(order_.size()); }
  [[nodiscard]] const std::byte* entry(std::size_t k) const { return entries_.data() + k * form_.bytes(); }
  [[nodiscard]] Index at(std::size_t k, int dimension) const { return form_.coordinate(entry(k), dimension); }
  /// Compares entries of one row by the subscripts after the first.
  [[nodiscard]] std::strong_ordering compare(std::size_t a, std::size_t b) const {
    for (int d = 1; d < form_.rank; ++d) {
      if (const auto order = at(a, d) <=> at(b, d); order != 0) return order;
    }
    return std::strong_ordering::equal;
  }
  /// Calls `f(numbers of entries)` for each nonempty row. `f` may reorder the numbers.
  template <class F>
  void for_each(F&& f) {
    for (std::size_t first = 0; first < order_.size();) {
      const Index here = row(order_[first]);
      std::size_t last = first;
      while (last < order_.size() && row(order_[last]) == here) ++last;
      f(std::span(order_).subspan(first, last - first));
      first = last;
    }
  }

 private:
  [[nodiscard]] Index row(std::size_t k) const { return form_.coordinate(entry(k), 0); }
  void sort_by_counting() {
    std::vector<std::size_t> next(static_cast<std::size_t>(rows_.size()) + 1, 0);
    for (std::size_t k = 0; k < order_.size(); ++k) ++next[static_cast<std::size_t>(row(k) - rows_.lo) + 1];
    std::partial_sum(next.begin(), next.end(), next.begin());
    for (std::size_t k = 0; k < order_.size(); ++k) order_[next[static_cast<std::size_t>(row(k) - rows_.lo)]++] = k;
  }

  const EntryForm& form_;
  std::span<const std::byte> entries_;
  plan::Interval rows_;
  std::vector<std::size_t> order_;
};

/// The entries of one element, in their order.
class ElementEntries {
 public:
  ElementEntries(const EntryForm& form, const EntriesByRow& entries, std::span<const std::size_t> numbers)
      : form_(form), entries_(entries), numbers_(numbers) {}
  [[nodiscard]] std::size_t size() const { return numbers_.size(); }
  template <Element T>
  [[nodiscard]] T value(std::size_t k) const {
    return form_.value<T>(entries_.entry(numbers_[k]));
  }

 private:
  const EntryForm& form_;
  const EntriesByRow& entries_;
  std::span<const std::size_t> numbers_;
};

/// Appends the elements of the tile to `elements`, which has begun it. `value_of(ElementEntries)` is the element's
/// value; zeros are dropped.
template <class T, class ValueOf>
void assemble(const EntryForm& form, std::span<const std::byte> entries, const plan::Box& tile, Output<T>& elements,
              const ValueOf& value_of) {
  EntriesByRow rows(form, entries, tile[0]);
  elements.reserve(rows.count());
  const int last = form.rank - 1;
  rows.for_each([&](std::span<std::size_t> list) {
    const auto before = [&](std::size_t a, std::size_t b) { return rows.compare(a, b) < 0; };
    if (!std::is_sorted(list.begin(), list.end(), before)) std::stable_sort(list.begin(), list.end(), before);
    for (std::size_t k = 0; k < list.size();) {
      const std::size_t first = k;
      while (k < list.size() && rows.compare(list[k], list[first]) == 0) ++k;
      for (int d = 0; d < last; ++d) elements.at(plan::idx(d), rows.at(list[first], d));
      elements.put(rows.at(list[first], last), value_of(ElementEntries(form, rows, list.subspan(first, k - first))));
    }
  });
}

// --- Blocks of entries: partial results of an assembly

/// The form of entries in a block: coordinates relative to the tile's corner. A bool has a value, since its operator
/// may distinguish false from absent.
template <Element T>
[[nodiscard]] EntryForm block_entry_form(int rank) {
  return {rank, std::is_same_v<T, bool> ? ElementType::kI32 : element_type_of<T>, false, false};
}

/// The head of a block with this many entries, at least one.
[[nodiscard]] BlockHead entry_block_head(const EntryForm& form, ElementType element, Index entries);
/// The entries of a block.
[[nodiscard]] std::span<const std::byte> entries_in(const BlockHead& block, const EntryForm& form);

/// Entries in one piece of memory, which is reused.
class EntryList {
 public:
  void clear() { size_ = 0; }
  /// Space for one more entry of this size.
  [[nodiscard]] std::byte* append(std::size_t bytes) {
    if (capacity_ - size_ < bytes) grow(bytes);
    size_ += bytes;
    return memory_.get() + (size_ - bytes);
  }
  [[nodiscard]] std::span<const std::byte> bytes() const { return {memory_.get(), size_}; }
  [[nodiscard]] bool empty() const { return size_ == 0; }

 private:
  void grow(std::size_t bytes) {
    const std::size_t capacity = std::max(2 * capacity_, size_ + bytes + (std::size_t{1} << 16));
    auto larger = std::make_unique_for_overwrite<std::byte[]>(capacity);
    if (size_ > 0) std::memcpy(larger.get(), memory_.get(), size_);
    memory_ = std::move(larger);
    capacity_ = capacity;
  }

  std::unique_ptr<std::byte[]> memory_;
  std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace tdsl::rt::sparse
