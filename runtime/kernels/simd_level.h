#pragma once

#include <cstdint>

/// True if functions are compiled for several levels.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define TDSL_HAS_SIMD_LEVELS 1
#endif

namespace tdsl::rt {

/// Vector instruction sets of kernels. Executables run on any processor of the architecture and use the best one
/// available.
enum class SimdLevel : std::uint8_t { kBaseline, kAvx2, kAvx512 };
/// The best level of this processor, unless limited.
[[nodiscard]] SimdLevel simd_level();
/// Lowers the level for this process. Call before threads start.
void limit_simd_level(SimdLevel most);
/// "baseline", "avx2" or "avx512".
[[nodiscard]] constexpr const char* name_of(SimdLevel level) {
  return level == SimdLevel::kAvx512 ? "avx512" : level == SimdLevel::kAvx2 ? "avx2" : "baseline";
}

}  // namespace tdsl::rt
