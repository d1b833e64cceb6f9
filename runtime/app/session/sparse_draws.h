#pragma once

#include <vector>

#include "runtime/kernels/philox.h"
#include "runtime/kernels/task.h"

// Tiles of `sprandom`: a task draws the chunks that its rows meet (runtime/kernels/sparse_random.h).

namespace tdsl::rt {

/// The tile dense, zeros included. Of a dense tile any box of the matrix.
[[nodiscard]] Kernel dense_draw_kernel(RandomStream stream, double density, std::vector<Index> shape);

/// The tile as a compressed block of whole rows.
[[nodiscard]] Kernel stored_draw_kernel(RandomStream stream, double density, std::vector<Index> shape);

}  // namespace tdsl::rt
