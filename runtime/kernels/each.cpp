#include "runtime/kernels/each.h"

namespace tdsl::rt {

Kernel EmittedKernel::take() { return function_ != nullptr ? Kernel(function_) : std::move(kernel_); }

}  // namespace tdsl::rt
