#include "runtime/app/session/stored_tiles.h"

#include <compare>
#include <numeric>
#include <utility>

#include "runtime/kernels/sparse_random.h"
#include "runtime/kernels/stored.h"

namespace tdsl::rt {

namespace {

/// A tile's entries in row order; entries of a row keep the file's order.
class ByRow {
 public:
  ByRow(const EntryForm& form, std::span<const std::byte> entries, Interval rows)
      : form_(form), entries_(entries), rows_(rows) {
    order_.resize(entries.size() / form.bytes());
    // Counting sort needs memory for every row, so it is used only if enough rows have entries.
    if (rows.size() <= 4 * static_cast<Index>(order_.size()) + 1024) {
      count();
    } else {
      std::iota(order_.begin(), order_.end(), std::size_t{0});
      std::stable_sort(order_.begin(), order_.end(), [this](std::size_t a, std::size_t b) { return row(a) < row(b); });
    }
  }

  /// Calls `f(entry numbers)` for each non-empty row.
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
  [[nodiscard]] Index count_of_entries() const { return static_cast<Index>(order_.size()); }
  [[nodiscard]] const std::byte* entry(std::size_t k) const { return entries_.data() + k * form_.bytes(); }
  [[nodiscard]] Index at(std::size_t k, int dimension) const { return form_.coordinate(entry(k), dimension); }
  /// Compares entries of one row by the subscripts after the first.
  [[nodiscard]] std::strong_ordering compare(std::size_t a, std::size_t b) const {
    for (int d = 1; d < form_.rank; ++d) {
      if (const auto order = at(a, d) <=> at(b, d); order != 0) return order;
    }
    return std::strong_ordering::equal;
  }

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
  elements.begin(box);
  elements.reserve(rows.count_of_entries());
  const int last = form.rank - 1;
  rows.for_each([&](std::span<std::size_t> list) {
    const auto before = [&](std::size_t a, std::size_t b) { return rows.compare(a, b) < 0; };
    if (!std::is_sorted(list.begin(), list.end(), before)) std::stable_sort(list.begin(), list.end(), before);
    for (std::size_t k = 0; k < list.size();) {
      const std::size_t first = list[k];
      T sum{};
      for (; k < list.size() && rows.compare(list[k], first) == 0; ++k)
        sum = add_entries(sum, form.value<T>(rows.entry(list[k])));
      for (int d = 0; d < last; ++d) elements.at(plan::idx(d), rows.at(first, d));
      elements.put(rows.at(first, last), sum);
    }
  });
  put_block(t.sink(), elements.entries());
}

/// Adds the elements of a row-major panel starting at `lo` to the tile.
template <class T>
void put_panel(StoredTile<T>& tile, std::span<const Index> lo, std::span<const Index> hi, const T* element) {
  const std::size_t last = lo.size() - 1;
  std::array<Index, plan::kMaxRank> at{};
  std::ranges::copy(lo, at.begin());
  while (true) {
    for (std::size_t d = 0; d < last; ++d) tile.at(d, at[d]);
    for (Index j = lo[last]; j < hi[last]; ++j) tile.put(j, add_entries(*element++, T{}));  // -0 becomes absent
    std::size_t d = last;
    while (d > 0 && ++at[d - 1] == hi[d - 1]) {
      at[d - 1] = lo[d - 1];
      --d;
    }
    if (d == 0) return;
  }
}

template <class T>
void compress_panels(const TensorReader& reader, const TaskArgs& t) {
  StoredTile<T> tile(t);
  const Box& box = t.outputs[0].box;
  Panels panels(box, sizeof(T), box.rank);
  const auto panel = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(panels.elements()));
  while (panels.next()) {
    reader.read_box<T>(panels.lo(), panels.hi(), panel.get(), panels.strides());
    put_panel(tile, panels.lo(), panels.hi(), static_cast<const T*>(panel.get()));
  }
  tile.finish();
}

}  // namespace

Kernel stored_tile_kernel(std::shared_ptr<const TileEntries> entries) {
  return [entries = std::move(entries)](const TaskArgs& t) {
    visit_element_type(entries->form().type, [&](auto tag) { make_tile<typename decltype(tag)::type>(*entries, t); });
  };
}

Kernel stored_panels_kernel(const TensorReader& reader, ElementType type) {
  return [&reader, type](const TaskArgs& t) {
    visit_element_type(type, [&](auto tag) { compress_panels<typename decltype(tag)::type>(reader, t); });
  };
}

namespace {

/// Calls `f(row, column, value)` for the elements of the given rows.
template <class F>
void for_each_in_rows(RandomStream stream, double density, Interval rows, Index columns, F&& f) {
  const auto width = static_cast<std::uint64_t>(columns);
  for_each_drawn(stream, density, static_cast<std::uint64_t>(rows.lo) * width,
                 static_cast<std::uint64_t>(rows.hi) * width, [&](std::uint64_t index, double value) {
                   f(static_cast<Index>(index / width), static_cast<Index>(index % width), value);
                 });
}

}  // namespace

Kernel dense_draw_kernel(RandomStream stream, double density, std::vector<Index> shape) {
  return [stream, density, columns = shape[1]](const TaskArgs& t) {
    const Operand& out = t.outputs[0];
    auto* const data = reinterpret_cast<double*>(out.data);
    const Interval inside = out.box[1];
    for (Index i = 0; i < out.box[0].size(); ++i) {
      for (Index j = 0; j < inside.size(); ++j) data[i * out.stride[0] + j * out.stride[1]] = 0;
    }
    if (out.box.empty()) return;
    for_each_in_rows(stream, density, out.box[0], columns, [&](Index i, Index j, double value) {
      if (j >= inside.lo && j < inside.hi)
        data[(i - out.box[0].lo) * out.stride[0] + (j - inside.lo) * out.stride[1]] = value;
    });
  };
}

Kernel stored_draw_kernel(RandomStream stream, double density, std::vector<Index> shape) {
  return [stream, density, columns = shape[1]](const TaskArgs& t) {
    const Box& box = t.outputs[0].box;
    StoredTile<double> tile(t);
    Index row = -1;
    if (!box.empty()) {
      for_each_in_rows(stream, density, box[0], columns, [&](Index i, Index j, double value) {
        if (i != std::exchange(row, i)) tile.row(i);
        tile.put(j, value);
      });
    }
    tile.finish();
  };
}

}  // namespace tdsl::rt
