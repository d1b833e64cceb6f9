#include "runtime/app/stored_tiles.h"

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "runtime/kernels/stored.h"

namespace tdsl::rt {

namespace {

constexpr Index kPanelBytes = Index{1} << 20;

/// A tile's entries in the order of rows, those of a row as in the file.
class ByRow {
 public:
  ByRow(const EntryForm& form, std::span<const std::byte> entries, Interval rows) : form_(form), entries_(entries), rows_(rows) {
    order_.resize(entries.size() / form.bytes());
    // Counting takes memory for every row: not where hardly any has an entry.
    if (rows.size() <= 4 * static_cast<Index>(order_.size()) + 1024) {
      count();
    } else {
      std::iota(order_.begin(), order_.end(), std::size_t{0});
      std::stable_sort(order_.begin(), order_.end(), [this](std::size_t a, std::size_t b) { return row(a) < row(b); });
    }
  }

  /// Calls `f(row, numbers of its entries)` for rows that have some.
  template <class F>
  void for_each(F&& f) {
    for (std::size_t first = 0; first < order_.size();) {
      const Index here = row(order_[first]);
      std::size_t last = first;
      while (last < order_.size() && row(order_[last]) == here) ++last;
      f(here, std::span(order_).subspan(first, last - first));
      first = last;
    }
  }
  [[nodiscard]] Index count_of_entries() const { return static_cast<Index>(order_.size()); }
  [[nodiscard]] const std::byte* entry(std::size_t k) const { return entries_.data() + k * form_.bytes(); }
  [[nodiscard]] Index column(std::size_t k) const { return form_.coordinate(entry(k), 1); }

 private:
  [[nodiscard]] Index row(std::size_t k) const { return form_.coordinate(entry(k), 0); }
  void count() {
    std::vector<std::size_t> next(static_cast<std::size_t>(rows_.size()) + 1, 0);
    for (std::size_t k = 0; k < order_.size(); ++k) ++next[static_cast<std::size_t>(row(k) - rows_.lo) + 1];
    std::partial_sum(next.begin(), next.end(), next.begin());
    for (std::size_t k = 0; k < order_.size(); ++k) order_[next[static_cast<std::size_t>(row(k) - rows_.lo)]++] = k;
  }

  const EntryForm& form_;
  std::span<const std::byte> entries_;
  Interval rows_;
  std::vector<std::size_t> order_;
};

template <class T>
void make_tile(const TileEntries& entries, const TaskArgs& t) {
  const Box& box = t.outputs[0].box;
  const EntryForm& form = entries.form();
  ByRow rows(form, entries.entries_of(box), box[0]);
  sparse::Output<T> elements;  // memory for this tile only
  elements.begin(box[0].lo, box[1].lo, box[0].size(), box[1].size());
  elements.reserve(rows.count_of_entries());
  rows.for_each([&](Index row, std::span<std::size_t> list) {
    const auto before = [&](std::size_t a, std::size_t b) { return rows.column(a) < rows.column(b); };
    if (!std::is_sorted(list.begin(), list.end(), before)) std::stable_sort(list.begin(), list.end(), before);
    elements.row(row);
    for (std::size_t k = 0; k < list.size();) {
      const Index column = rows.column(list[k]);
      T sum{};
      for (; k < list.size() && rows.column(list[k]) == column; ++k) sum = add_entries(sum, form.value<T>(rows.entry(list[k])));
      elements.put(column, sum);
    }
  });
  put_block(t.sink(), elements.entries());
}

template <class T>
void compress_panels(const NpyReader& reader, const TaskArgs& t) {
  const Box& box = t.outputs[0].box;
  const Index columns = box[1].size();
  StoredTile<T> tile(t);
  if (!box.empty()) {
    const Index height = std::max<Index>(1, kPanelBytes / (columns * static_cast<Index>(sizeof(T))));
    const auto panel = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(std::min(height, box[0].size()) * columns));
    const std::array<Index, 2> strides = {columns, 1};
    for (Index first = box[0].lo; first < box[0].hi; first += height) {
      const std::array<Index, 2> lo = {first, box[1].lo};
      const std::array<Index, 2> hi = {std::min(first + height, box[0].hi), box[1].hi};
      reader.read_box<T>(lo, hi, panel.get(), strides);
      const T* element = panel.get();
      for (Index i = lo[0]; i < hi[0]; ++i) {
        tile.row(i);
        for (Index j = lo[1]; j < hi[1]; ++j) tile.put(j, add_entries(*element++, T{}));  // -0 is absent
      }
    }
  }
  tile.finish();
}

}  // namespace

Kernel stored_tile_kernel(std::shared_ptr<const TileEntries> entries) {
  return [entries = std::move(entries)](const TaskArgs& t) {
    visit_element_type(entries->form().type, [&](auto tag) { make_tile<typename decltype(tag)::type>(*entries, t); });
  };
}

Kernel stored_panels_kernel(const NpyReader& reader, ElementType type) {
  return [&reader, type](const TaskArgs& t) {
    visit_element_type(type, [&](auto tag) { compress_panels<typename decltype(tag)::type>(reader, t); });
  };
}

}  // namespace tdsl::rt
