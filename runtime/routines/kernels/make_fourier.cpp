#include "runtime/check.h"
#include "runtime/routines/kernels/fourier.h"
#include "runtime/routines/kernels/make.h"

namespace tdsl::rt::routines {

namespace {

/// Steps of a distributed transform of a vector of parts T.
template <class T>
Kernel step_kernel(KernelName name, bool of_reals, const std::vector<Index>& n) {
  if (name == KernelName::kInRows)
    return of_reals ? kernels::in_rows<T, T>(n[0]) : kernels::in_rows<T, Complex<T>>(n[0]);
  switch (name) {
    case KernelName::kByColumns: return kernels::by_columns<T>(n[0], static_cast<FourierScale>(n[1]), n[2]);
    case KernelName::kPairsInRows: return kernels::pairs_in_rows<T>(n[0]);
    case KernelName::kSpectrum: return kernels::spectrum<T>(static_cast<FourierScale>(n[0]), n[1]);
    case KernelName::kPairsOfSpectrum: return kernels::pairs_of_spectrum<T>(n[0]);
    case KernelName::kReals: return kernels::reals<T>(n[0], static_cast<FourierScale>(n[1]), n[2]);
    default: return kernels::fourier_columns<T>(n[0] != 0, n[1], n[2]);
  }
}

bool is_step(KernelName name) {
  switch (name) {
    case KernelName::kInRows:
    case KernelName::kByColumns:
    case KernelName::kFourierColumns:
    case KernelName::kPairsInRows:
    case KernelName::kSpectrum:
    case KernelName::kPairsOfSpectrum:
    case KernelName::kReals: return true;
    default: return false;
  }
}

}  // namespace

Kernel make_fourier_kernel(const KernelCall& call, SourceLine) {
  const bool of_reals = !is_complex(call.type);
  if (is_step(call.name))
    return is_narrow(call.type) ? step_kernel<float>(call.name, of_reals, call.numbers)
                                : step_kernel<double>(call.name, of_reals, call.numbers);
  const bool all_of_reals = call.numbers.size() > 3 && call.numbers[3] != 0;
  const auto kind = [&] {
    switch (call.name) {
      case KernelName::kFft: return all_of_reals ? fourier::Kind::kForwardOfReals : fourier::Kind::kForward;
      case KernelName::kIfft: return all_of_reals ? fourier::Kind::kInverseOfReals : fourier::Kind::kInverse;
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
