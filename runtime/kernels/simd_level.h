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

// Functions compiled for several vector widths; the widest version supported by the processor runs. Everything is
// inlined into each version: g++ does not flatten clones, which it makes where arguments could be passed by value, so
// versions are `noclone`.

namespace detail {

#ifdef TDSL_HAS_SIMD_LEVELS
template <class Work, class... A>
[[gnu::target("avx2,fma,prefer-vector-width=256"), gnu::flatten, gnu::noinline, gnu::noclone]] void with_avx2(
    const A&... arguments) {
  Work::run(arguments...);
}
template <class Work, class... A>
[[gnu::target("avx512f,avx512dq,avx512bw,avx512vl,fma,prefer-vector-width=512"), gnu::flatten, gnu::noinline,
  gnu::noclone]] void
with_avx512(const A&... arguments) {
  Work::run(arguments...);
}
/// With few of g++'s passes, so in a fraction of the time: vectors where loops demand them. Bits are those of the
/// others.
template <class Work, class... A>
[[gnu::optimize("O1"), gnu::flatten, gnu::noinline, gnu::noclone]] void with_baseline(const A&... arguments) {
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

/// The same for kernels of emitted programs. Their build matters more than the speed of processors without AVX2: if
/// there are wider versions, that for the baseline is compiled quickly.
template <SimdLevel Widest, class Work, class... A>
void emitted_at_level(const A&... arguments) {
#ifdef TDSL_HAS_SIMD_LEVELS
  if constexpr (Widest != SimdLevel::kBaseline) {
    if (simd_level() == SimdLevel::kBaseline) return with_baseline<Work>(arguments...);
    if constexpr (Widest == SimdLevel::kAvx512) {
      if (simd_level() == SimdLevel::kAvx512) return with_avx512<Work>(arguments...);
    }
    return with_avx2<Work>(arguments...);
  }
#endif
  Work::run(arguments...);
}

}  // namespace detail

}  // namespace tdsl::rt
