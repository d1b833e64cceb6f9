#pragma once

#include <memory>

#include "runtime/app/session/tile_entries.h"
#include "runtime/io/tensor/tensor_file.h"
#include "runtime/kernels/task.h"

// Converts inputs to compressed blocks tile by tile; no buffer is as large as the tensor.

namespace tdsl::rt {

/// Sorts the tile's entries by subscripts, adds duplicates in file order, and drops zeros.
[[nodiscard]] Kernel stored_tile_kernel(std::shared_ptr<const TileEntries> entries);

/// Reads the tile of a dense file in panels of rows. The reader must outlive the kernel.
[[nodiscard]] Kernel stored_panels_kernel(const TensorReader& reader, ElementType type);

}  // namespace tdsl::rt
