#pragma once

#include "codegen/print/emit_kernel.h"

namespace tdsl::codegen {

/// The kernel of a fused operator: for each block of rows (runtime/kernels/rows.h) one piece of loops per member, in
/// order. Members other than the result have memory for one block only. A sum of products along a line, and one over
/// the rows, are functions of the runtime.
[[nodiscard]] EmittedKernel emit_fused(const KernelRequest& request);

}  // namespace tdsl::codegen
