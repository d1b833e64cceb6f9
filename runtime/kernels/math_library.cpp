#include "runtime/kernels/math_library.h"

#include "runtime/kernels/simd_level.h"

const char* tdsl::rt::math::library() {
#if defined(TDSL_SLEEF) && defined(TDSL_HAS_SIMD_LEVELS)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "SLEEF";
#endif
  return "libm";
}
