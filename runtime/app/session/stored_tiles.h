#pragma once

#include <memory>

#include "runtime/app/session/tile_entries.h"
#include "runtime/io/tensor/tensor_file.h"
#include "runtime/kernels/task.h"

// Inputs become compressed blocks, tile by tile; nothing is ever as large as the tensor.

namespace tdsl::rt {

/// Sorts the tile's entries by their subscripts, adds those of one element in file order, and leaves out what is 0.
[[nodiscard]] Kernel stored_tile_kernel(std::shared_ptr<const TileEntries> entries);

/// Reads the tile of a dense file in panels of rows. The reader outlives the kernel.
[[nodiscard]] Kernel stored_panels_kernel(const TensorReader& reader, ElementType type);

}  // namespace tdsl::rt
