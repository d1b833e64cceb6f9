#pragma once

#include "runtime/check.h"
#include "runtime/kernels/task.h"
#include "runtime/routines/algorithms/kernel_call.h"

namespace tdsl::rt::routines {

/// Creates the kernel that an algorithm refers to by name. `place` is the source line for error messages. There are
/// several such functions, so that programs that only sort are not linked with LAPACK.
using MakeKernel = Kernel (*)(const KernelCall& call, SourceLine place);
[[nodiscard]] Kernel make_matrix_kernel(const KernelCall& call, SourceLine place);
[[nodiscard]] Kernel make_line_kernel(const KernelCall& call, SourceLine place);
[[nodiscard]] Kernel make_fourier_kernel(const KernelCall& call, SourceLine place);

}  // namespace tdsl::rt::routines
