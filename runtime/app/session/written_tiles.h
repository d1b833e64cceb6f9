#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <span>

#include "runtime/app/session/stored_tiles.h"
#include "runtime/kernels/stored.h"
#include "runtime/kernels/task.h"
#include "runtime/sparse/elements.h"

// Tiles of outputs written to files and arrays. A `Writer` has TensorWriter::write_box.

namespace tdsl::rt {

/// A tile of compressed blocks. Panels are along the first dimension, so its elements are searched once.
template <class T, class Writer>
void write_stored_tile(const Writer& writer, const TaskArgs& args) {
  const Box& box = args.inputs[0].box;
  const sparse::Elements<T> elements(stored_parts(args, 0));
  Panels panels(box, sizeof(T), 0);
  const auto panel = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(panels.elements()));
  while (panels.next()) {
    const std::span<const Index> lo = panels.lo(), hi = panels.hi(), strides = panels.strides();
    std::fill_n(panel.get(), (hi[0] - lo[0]) * strides[0], T(0));
    elements.each({lo[0], hi[0]}, [&](std::span<const Index> at, T value) {
      Index offset = 0;
      for (std::size_t d = 0; d < lo.size(); ++d) {
        if (at[d] < lo[d] || at[d] >= hi[d]) return;
        offset += (at[d] - lo[d]) * strides[d];
      }
      panel[static_cast<std::size_t>(offset)] = value;
    });
    writer.write_box(lo, hi, static_cast<const T*>(panel.get()), strides);
  }
}

template <class T, class Writer>
void write_tile(const Writer& writer, const TaskArgs& args) {
  const Operand& in = args.inputs[0];
  if (in.data == nullptr) return write_stored_tile<T>(writer, args);
  const Corners corners(in.box);
  writer.write_box(corners.lo(), corners.hi(), reinterpret_cast<const T*>(in.data),
                   std::span(in.stride).first(plan::idx(in.box.rank)));
}

}  // namespace tdsl::rt
