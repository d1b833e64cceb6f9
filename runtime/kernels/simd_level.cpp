#include "runtime/kernels/simd_level.h"

#include <algorithm>

namespace tdsl::rt {

namespace {

SimdLevel level_of_processor() {
#ifdef TDSL_HAS_SIMD_LEVELS
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("fma");
  if (avx512) return SimdLevel::kAvx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return SimdLevel::kAvx2;
#endif
  return SimdLevel::kBaseline;
}

SimdLevel& current_level() {
  static SimdLevel level = level_of_processor();
  return level;
}

}  // namespace

SimdLevel simd_level() { return current_level(); }
void limit_simd_level(SimdLevel most) { current_level() = std::min(current_level(), most); }

}  // namespace tdsl::rt
