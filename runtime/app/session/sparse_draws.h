#pragma once

#include <vector>

#include "runtime/kernels/philox.h"
#include "runtime/kernels/task.h"

// Tiles of `sprandom`: a task draws the chunks that overlap its rows (runtime/kernels/sparse_random.h).

namespace tdsl::rt {

/// A dense tile, zeros included: any box of the matrix.
[[nodiscard]] Kernel dense_draw_kernel(RandomStream stream, double density, std::vector<Index> shape);

/// A tile as a compressed block of whole rows.
[[nodiscard]] Kernel stored_draw_kernel(RandomStream stream, double density, std::vector<Index> shape);

}  // namespace tdsl::rt
