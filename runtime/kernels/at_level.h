#pragma once

#include "runtime/kernels/simd_level.h"

// Functions compiled for several vector widths; the widest version supported by the processor runs. Everything is
// inlined into each version.

namespace tdsl::rt {

namespace detail {

#ifdef TDSL_HAS_SIMD_LEVELS
template <class Work, class... A>
[[gnu::target("avx2,fma,prefer-vector-width=256"), gnu::flatten, gnu::noinline]] void with_avx2(const A&... arguments) {
  Work::run(arguments...);
}
template <class Work, class... A>
[[gnu::target("avx512f,avx512dq,avx512bw,avx512vl,fma,prefer-vector-width=512"), gnu::flatten, gnu::noinline]] void
with_avx512(const A&... arguments) {
  Work::run(arguments...);
}
#endif

/// Work::run(arguments...), compiled for the levels up to `Widest`.
template <SimdLevel Widest, class Work, class... A>
void at_level(const A&... arguments) {
#ifdef TDSL_HAS_SIMD_LEVELS
  if constexpr (Widest == SimdLevel::kAvx512) {
    if (simd_level() == SimdLevel::kAvx512) return with_avx512<Work>(arguments...);
  }
  if constexpr (Widest != SimdLevel::kBaseline) {
    if (simd_level() != SimdLevel::kBaseline) return with_avx2<Work>(arguments...);
  }
#endif
  Work::run(arguments...);
}

}  // namespace detail

}  // namespace tdsl::rt
