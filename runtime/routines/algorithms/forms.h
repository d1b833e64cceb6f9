#pragma once

#include "runtime/routines/algorithms/routine.h"

// Variants of the routines, for record_routine. Each fills in the results of the call; `first` is the number of its
// first recording place.

namespace tdsl::rt::routines {

/// All routines on one rank, with kernels that need whole operands (or whole lines of them).
void on_one_rank(Caller& caller, Call& call, int first);

void distributed_cholesky(Caller& caller, Call& call);
void distributed_lu(Caller& caller, Call& call);
void distributed_solve(Caller& caller, Call& call);
/// Requires at least twice as many rows as columns.
void distributed_qr(Caller& caller, Call& call);
/// cumsum, cumprod, cummax, cummin.
void distributed_scan(Caller& caller, Call& call);
/// Fourier transforms of a vector for which `has_long_line`.
void distributed_fourier(Caller& caller, Call& call);
/// Whether the complex elements of a transform of n elements are a matrix of enough rows and columns.
[[nodiscard]] bool has_long_line(Routine routine, Index n);
void distributed_topk(Caller& caller, Call& call);
/// topk of a vector of bools, on any number of ranks.
void distributed_partition(Caller& caller, Call& call);
/// filter, on any number of ranks.
void distributed_filter(Caller& caller, Call& call);
/// Whether the `k` largest of n elements can be found by blocks: the candidates from all blocks, from which one rank
/// selects the result, must be at most a quarter of the vector.
[[nodiscard]] bool has_topk_by_blocks(Index n, Index k);

}  // namespace tdsl::rt::routines
