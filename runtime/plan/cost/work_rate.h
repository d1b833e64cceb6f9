#pragma once

#include "runtime/plan/cost/machine.h"
#include "runtime/plan/op.h"

// How long one thread computes, by what kind of kernel does it.

namespace tdsl::plan {

/// Seconds for `flops` floating-point operations of the operation: at BLAS's rate, or at that of emitted loops.
[[nodiscard]] double seconds_of_flops(const Op& op, double flops, const Machine& machine);

/// Whether the kernel reads its operands once and then has them in cache; else every point of its loop reads them.
[[nodiscard]] inline bool streams_operands(const Op& op) { return op.op_class == OpClass::kContraction || op.by_rows; }

/// How often a fused operator reads what all its rows share, in tasks of `points` points: once for a block of rows.
[[nodiscard]] double reads_of_shared(const Op& op, double points);

/// Whether a subscript list has no label, so that all points share what is read.
[[nodiscard]] bool is_shared(const Access& access);

}  // namespace tdsl::plan
