#include "runtime/fft/transpose.h"

#ifdef TDSL_HAS_SIMD_LEVELS
#include <immintrin.h>
#endif

namespace tdsl::rt::fourier {

#ifdef TDSL_HAS_SIMD_LEVELS

namespace {

constexpr Index kEight = kLanes<double>;
static_assert(kEight == 8);

/// Two elements of four lines from `line` on.
[[gnu::target("avx2")]] inline void four_in(const std::array<const double*, 16>& lines, std::size_t line, Index k,
                                            const Lanes<double>& to) {
  const __m256d a = _mm256_loadu_pd(lines[line] + 2 * k), b = _mm256_loadu_pd(lines[line + 1] + 2 * k);
  const __m256d c = _mm256_loadu_pd(lines[line + 2] + 2 * k), d = _mm256_loadu_pd(lines[line + 3] + 2 * k);
  const __m256d re_low = _mm256_unpacklo_pd(a, b), im_low = _mm256_unpackhi_pd(a, b);
  const __m256d re_high = _mm256_unpacklo_pd(c, d), im_high = _mm256_unpackhi_pd(c, d);
  const Index at = k * kEight + static_cast<Index>(line);
  _mm256_storeu_pd(to.re + at, _mm256_permute2f128_pd(re_low, re_high, 0x20));
  _mm256_storeu_pd(to.re + at + kEight, _mm256_permute2f128_pd(re_low, re_high, 0x31));
  _mm256_storeu_pd(to.im + at, _mm256_permute2f128_pd(im_low, im_high, 0x20));
  _mm256_storeu_pd(to.im + at + kEight, _mm256_permute2f128_pd(im_low, im_high, 0x31));
}

[[gnu::target("avx2")]] inline void four_out(const Lanes<double>& from, std::size_t line, Index k, double scale,
                                             const std::array<double*, 16>& lines) {
  const Index at = k * kEight + static_cast<Index>(line);
  const __m256d factor = _mm256_set1_pd(scale);
  const __m256d re = _mm256_mul_pd(_mm256_loadu_pd(from.re + at), factor);
  const __m256d next_re = _mm256_mul_pd(_mm256_loadu_pd(from.re + at + kEight), factor);
  const __m256d im = _mm256_mul_pd(_mm256_loadu_pd(from.im + at), factor);
  const __m256d next_im = _mm256_mul_pd(_mm256_loadu_pd(from.im + at + kEight), factor);
  const __m256d re_low = _mm256_permute2f128_pd(re, next_re, 0x20), im_low = _mm256_permute2f128_pd(im, next_im, 0x20);
  const __m256d re_high = _mm256_permute2f128_pd(re, next_re, 0x31);
  const __m256d im_high = _mm256_permute2f128_pd(im, next_im, 0x31);
  _mm256_storeu_pd(lines[line] + 2 * k, _mm256_unpacklo_pd(re_low, im_low));
  _mm256_storeu_pd(lines[line + 1] + 2 * k, _mm256_unpackhi_pd(re_low, im_low));
  _mm256_storeu_pd(lines[line + 2] + 2 * k, _mm256_unpacklo_pd(re_high, im_high));
  _mm256_storeu_pd(lines[line + 3] + 2 * k, _mm256_unpackhi_pd(re_high, im_high));
}

[[gnu::target("avx2")]] void all_in(const std::array<const double*, 16>& lines, Index n, const Lanes<double>& to) {
  Index k = 0;
  for (; k + 2 <= n; k += 2) {
    four_in(lines, 0, k, to);
    four_in(lines, 4, k, to);
  }
  for (std::size_t l = 0; k < n && l < 8; ++l) {
    to.re[k * kEight + static_cast<Index>(l)] = lines[l][2 * k];
    to.im[k * kEight + static_cast<Index>(l)] = lines[l][2 * k + 1];
  }
}

[[gnu::target("avx2")]] void all_out(const Lanes<double>& from, Index n, double scale,
                                     const std::array<double*, 16>& lines) {
  Index k = 0;
  for (; k + 2 <= n; k += 2) {
    four_out(from, 0, k, scale, lines);
    four_out(from, 4, k, scale, lines);
  }
  for (std::size_t l = 0; k < n && l < 8; ++l) {
    lines[l][2 * k] = from.re[k * kEight + static_cast<Index>(l)] * scale;
    lines[l][2 * k + 1] = from.im[k * kEight + static_cast<Index>(l)] * scale;
  }
}

}  // namespace

bool has_transposes() { return simd_level() != SimdLevel::kBaseline; }
void transpose_in(const std::array<const double*, 16>& lines, Index n, const Lanes<double>& to) {
  all_in(lines, n, to);
}
void transpose_out(const Lanes<double>& from, Index n, double scale, const std::array<double*, 16>& lines) {
  all_out(from, n, scale, lines);
}

#else

bool has_transposes() { return false; }
void transpose_in(const std::array<const double*, 16>&, Index, const Lanes<double>&) {}
void transpose_out(const Lanes<double>&, Index, double, const std::array<double*, 16>&) {}

#endif

}  // namespace tdsl::rt::fourier
