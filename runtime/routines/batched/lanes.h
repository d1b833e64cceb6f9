#pragma once

#include "runtime/check.h"
#include "runtime/kernels/task.h"
#include "runtime/routines/algorithms/solve_kind.h"

// Batches of small matrices: eight at a time, matrix l in lane l of vectors (runtime/routines/small). A matrix has the
// same bits in every lane and block.

namespace tdsl::rt::routines::kernels {

/// Larger matrices go to LAPACK, one after the other: eight of them would leave the caches.
inline constexpr Index kLargestInLanes = 32;

/// A kernel of small matrices, and that for larger ones (each_matrix).
struct Batched {
  int batch = 1;
  SourceLine place;
  Kernel larger;
};

template <class T>
[[nodiscard]] Kernel solve_in_lanes(Batched b, SolveKind kind);
template <class T>
[[nodiscard]] Kernel inverse_in_lanes(Batched b);
template <class T>
[[nodiscard]] Kernel determinant_in_lanes(Batched b);
template <class T>
[[nodiscard]] Kernel cholesky_in_lanes(Batched b);

}  // namespace tdsl::rt::routines::kernels
