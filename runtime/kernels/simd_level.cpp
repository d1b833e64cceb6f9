#include "runtime/kernels/simd_level.h"

namespace tdsl::rt {

SimdLevel simd_level() {
#ifdef TDSL_HAS_SIMD_LEVELS
  static const SimdLevel level = [] {
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma");
    if (avx512) return SimdLevel::kAvx512;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? SimdLevel::kAvx2 : SimdLevel::kBaseline;
  }();
  return level;
#else
  return SimdLevel::kBaseline;
#endif
}

}  // namespace tdsl::rt
