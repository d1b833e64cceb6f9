#pragma once

#include <cstdint>

/// Whether there are functions for several levels.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define TDSL_HAS_SIMD_LEVELS 1
#endif

namespace tdsl::rt {

/// Which vectors kernels may use. Executables run on any processor of the architecture and use what they find.
enum class SimdLevel : std::uint8_t { kBaseline, kAvx2, kAvx512 };
/// The best level of this processor.
[[nodiscard]] SimdLevel simd_level();

}  // namespace tdsl::rt
