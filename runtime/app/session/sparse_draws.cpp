#include "runtime/app/session/sparse_draws.h"

#include <utility>

#include "runtime/kernels/sparse_random.h"
#include "runtime/kernels/stored.h"

namespace tdsl::rt {

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
