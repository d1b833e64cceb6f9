#pragma once

#include "runtime/routines/algorithms/routine.h"

// The forms of the routines, for record_routine. Each fills the results of the call; `first` is the number of its first
// recording place.

namespace tdsl::rt::routines {

/// All of them on one rank, by kernels that need their operands (or lines of them) whole.
void on_one_rank(Caller& caller, Call& call, int first);

void distributed_cholesky(Caller& caller, Call& call);
void distributed_lu(Caller& caller, Call& call);
void distributed_solve(Caller& caller, Call& call);
/// Of twice as many rows as columns.
void distributed_qr(Caller& caller, Call& call);
void distributed_cumsum(Caller& caller, Call& call);
void distributed_topk(Caller& caller, Call& call);
/// Whether the `k` largest of n elements can be found by blocks: those of the blocks, of which one rank picks the
/// result, are a quarter of the vector at most.
[[nodiscard]] bool has_topk_by_blocks(Index n, Index k);

}  // namespace tdsl::rt::routines
