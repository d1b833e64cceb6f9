#include "runtime/app/options/instructions.h"

#include <iterator>

namespace tdsl::rt {

namespace {

constinit std::uint32_t noted = 0;

/// Instruction sets of this processor.
std::uint32_t present() {
  std::uint32_t bits = ~std::uint32_t{0};
#if defined(__x86_64__) && defined(__GNUC__)
  bits = 0;
  bits |= __builtin_cpu_supports("sse4.2") ? 1u << 0 : 0;
  bits |= __builtin_cpu_supports("avx") ? 1u << 1 : 0;
  bits |= __builtin_cpu_supports("avx2") ? 1u << 2 : 0;
  bits |= __builtin_cpu_supports("fma") ? 1u << 3 : 0;
  bits |= __builtin_cpu_supports("bmi2") ? 1u << 4 : 0;
  bits |= __builtin_cpu_supports("avx512f") ? 1u << 5 : 0;
  bits |= __builtin_cpu_supports("avx512dq") ? 1u << 6 : 0;
  bits |= __builtin_cpu_supports("avx512bw") ? 1u << 7 : 0;
  bits |= __builtin_cpu_supports("avx512vl") ? 1u << 8 : 0;
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
  bits |= __builtin_cpu_supports("avx512fp16") ? 1u << 9 : 0;
#else
  bits |= 1u << 9;
#endif
#endif
  return bits;
}

}  // namespace

bool note_instructions(std::uint32_t bits) {
  noted |= bits;
  return bits != 0;
}

std::string missing_instructions() {
  constexpr const char* kNames[] = {"SSE4.2",   "AVX",       "AVX2",      "FMA",       "BMI2",
                                    "AVX-512F", "AVX-512DQ", "AVX-512BW", "AVX-512VL", "AVX-512FP16"};
  const std::uint32_t missing = noted & ~present();
  std::string names;
  for (std::uint32_t k = 0; k < std::size(kNames); ++k) {
    if ((missing >> k & 1u) != 0) names += (names.empty() ? "" : ", ") + std::string(kNames[k]);
  }
  return names;
}

}  // namespace tdsl::rt
