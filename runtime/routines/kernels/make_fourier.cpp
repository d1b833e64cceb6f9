#include "runtime/check.h"
#include "runtime/routines/kernels/fourier.h"
#include "runtime/routines/kernels/make.h"

namespace tdsl::rt::routines {

Kernel make_fourier_kernel(const KernelCall& call, SourceLine) {
  const auto kind = [&] {
    switch (call.name) {
      case KernelName::kFft: return fourier::Kind::kForward;
      case KernelName::kIfft: return fourier::Kind::kInverse;
      case KernelName::kRfft: return fourier::Kind::kReal;
      case KernelName::kIrfft: return fourier::Kind::kToReal;
      default: TDSL_CHECK(false, "a kernel of Fourier transforms");
    }
  }();
  const auto axis = static_cast<int>(call.numbers[0]);
  const auto scale = static_cast<FourierScale>(call.numbers[1]);
  return is_narrow(call.type) ? kernels::fourier_lines<float>(kind, axis, scale, call.numbers[2])
                              : kernels::fourier_lines<double>(kind, axis, scale, call.numbers[2]);
}

}  // namespace tdsl::rt::routines
