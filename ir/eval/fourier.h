#pragma once

#include <cstdint>

#include "ir/eval/eval.h"

namespace tdsl::ir::eval {

/// fft, ifft, rfft and irfft along `axis`, in extended precision by the definition of a transform of each prime factor
/// (Cooley and Tukey), primes above 64 as convolutions (Bluestein). Bound: 32 eps (1 + log2 n) sqrt(n) norm(x) of a
/// line x plus the sum of its elements' bounds, times the factor.
void evaluate_fourier(const Routine& routine, const Array& a, Array& result);

}  // namespace tdsl::ir::eval
