#pragma once

#include "runtime/plan/cost/machine.h"
#include "runtime/plan/op.h"

// Compute time of one thread by kind of kernel.

namespace tdsl::plan {

/// Seconds for `flops` floating-point operations of the operation, at the BLAS rate or that of emitted loops.
[[nodiscard]] double seconds_of_flops(const Op& op, double flops, const Machine& machine);

/// True if the kernel streams its operands from memory once; otherwise every point of its loop reads them.
[[nodiscard]] inline bool streams_operands(const Op& op) { return op.op_class == OpClass::kContraction || op.by_rows; }

/// How often a fused operator in tasks of `points` points reads operands shared by all rows: once per row block.
[[nodiscard]] double reads_of_shared(const Op& op, double points);

/// True if no subscript uses a label, so all points share the operand.
[[nodiscard]] bool is_shared(const Access& access);

}  // namespace tdsl::plan
