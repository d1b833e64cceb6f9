#include "runtime/app/session/stored_tiles.h"

#include <utility>

#include "runtime/kernels/sparse_random.h"
#include "runtime/kernels/stored.h"
#include "runtime/sparse/assembly.h"

namespace tdsl::rt {

namespace {

template <class T>
void make_tile(const TileEntries& entries, const std::optional<sparse::CodedVisits>& coded, const TaskArgs& t) {
  const Box& box = t.outputs[0].box;
  sparse::Output<T> elements;  // memory for this tile only
  elements.begin(box);
  sparse::assemble(entries.form(), entries.entries_of(box), box, elements, [](const sparse::ElementEntries& list) {
    T sum{};
    for (std::size_t k = 0; k < list.size(); ++k) sum = add_entries(sum, list.value<T>(k));
    return sum;
  });
  put_block(t.sink(), elements.entries(), coded);
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
void compress_panels(const TensorReader& reader, const std::optional<sparse::CodedVisits>& coded, const TaskArgs& t) {
  StoredTile<T> tile(t);
  const Box& box = t.outputs[0].box;
  Panels panels(box, sizeof(T), box.rank);
  const auto panel = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(panels.elements()));
  while (panels.next()) {
    reader.read_box<T>(panels.lo(), panels.hi(), panel.get(), panels.strides());
    put_panel(tile, panels.lo(), panels.hi(), static_cast<const T*>(panel.get()));
  }
  tile.finish(coded);
}

}  // namespace

Kernel stored_tile_kernel(std::shared_ptr<const TileEntries> entries, std::optional<sparse::CodedVisits> coded) {
  return [entries = std::move(entries), coded](const TaskArgs& t) {
    visit_element_type(entries->form().type,
                       [&](auto tag) { make_tile<typename decltype(tag)::type>(*entries, coded, t); });
  };
}

Kernel stored_panels_kernel(const TensorReader& reader, ElementType type, std::optional<sparse::CodedVisits> coded) {
  return [&reader, type, coded](const TaskArgs& t) {
    visit_element_type(type, [&](auto tag) { compress_panels<typename decltype(tag)::type>(reader, coded, t); });
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
