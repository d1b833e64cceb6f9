#include "runtime/kernels/rows.h"

#include <cmath>
#include <cstring>

#include "runtime/kernels/product/blas_call.h"

namespace tdsl::rt::rows::detail {

namespace {

template <class T>
[[gnu::always_inline]] inline T added(T a, T b, T total) {
  return std::fma(a, b, total);
}

/// Rows processed together, so that their additions are independent.
constexpr Index kRowsAtOnce = 8;

template <class T, Index N>
[[gnu::always_inline]] inline void short_dot(T* u, const T* x, Index stride, const T* v, Index rows) {
  T w[N];
  for (Index k = 0; k < N; ++k) w[k] = v[k];
  Index r = 0;
  for (; r + kRowsAtOnce <= rows; r += kRowsAtOnce) {
    T total[kRowsAtOnce] = {};
    for (Index k = 0; k < N; ++k) {
      for (Index q = 0; q < kRowsAtOnce; ++q) total[q] = added(x[(r + q) * stride + k], w[k], total[q]);
    }
    for (Index q = 0; q < kRowsAtOnce; ++q) u[r + q] = total[q];
  }
  for (; r < rows; ++r) {
    T total{};
    for (Index k = 0; k < N; ++k) total = added(x[r * stride + k], w[k], total);
    u[r] = total;
  }
}

template <class T, Index N>
[[gnu::always_inline]] inline void short_add_scaled(T* y, const T* x, Index stride, const T* u, Index rows) {
  T total[N];
  for (Index k = 0; k < N; ++k) total[k] = y[k];
  for (Index r = 0; r < rows; ++r) {
    for (Index k = 0; k < N; ++k) total[k] = added(x[r * stride + k], u[r], total[k]);
  }
  for (Index k = 0; k < N; ++k) y[k] = total[k];
}

/// Prefetches data. The hardware prefetcher does not recognise several rows at once as a stream; the address may be
/// outside the matrix.
template <class T>
[[gnu::always_inline]] inline void prefetch(const T* x) {
  __builtin_prefetch(x, 0, 2);
}

/// Four partial sums.
template <class T>
using Four [[gnu::vector_size(4 * sizeof(T))]] = T;

/// The sum of each of four vectors: (0 + 2) + (1 + 3) of its elements.
template <class T>
[[gnu::always_inline]] inline void sums_of(const Four<T> (&parts)[4], T* u) {
  const Four<T> ab =
      __builtin_shufflevector(parts[0], parts[1], 0, 1, 4, 5) + __builtin_shufflevector(parts[0], parts[1], 2, 3, 6, 7);
  const Four<T> cd =
      __builtin_shufflevector(parts[2], parts[3], 0, 1, 4, 5) + __builtin_shufflevector(parts[2], parts[3], 2, 3, 6, 7);
  const Four<T> sums = __builtin_shufflevector(ab, cd, 0, 2, 4, 6) + __builtin_shufflevector(ab, cd, 1, 3, 5, 7);
  std::memcpy(u, &sums, sizeof(sums));
}

/// Partial sums of four lines, transposed: halves are added until one is left.
template <class T>
[[gnu::always_inline]] inline void meet(T (&part)[4][kLanes<T>], T* u) {
  Four<T> parts[4];
  for (Index r = 0; r < 4; ++r) {
    for (Index half = kLanes<T> / 2; half >= 4; half /= 2) {
#pragma omp simd
      for (Index l = 0; l < half; ++l) part[r][l] += part[r][l + half];
    }
    std::memcpy(&parts[r], part[r], sizeof(parts[r]));
  }
  sums_of<T>(parts, u);
}

template <class T>
[[gnu::always_inline]] inline void meet(T (&part)[1][kLanes<T>], T* u) {
  for (Index half = kLanes<T> / 2; half > 0; half /= 2) {
    for (Index l = 0; l < half; ++l) part[0][l] += part[0][l + half];
  }
  u[0] = part[0][0];
}

template <class T, Index R>
[[gnu::always_inline]] inline void long_dot(T* u, const T* x, Index stride, const T* v, Index n) {
  constexpr Index kParts = kLanes<T>;
  T part[R][kParts] = {};
  Index k = 0;
  for (; k + kParts <= n; k += kParts) {
    for (Index r = 0; r < R; ++r) {
      prefetch(x + (r + R) * stride + k);
#pragma omp simd
      for (Index l = 0; l < kParts; ++l) part[r][l] = added(x[r * stride + k + l], v[k + l], part[r][l]);
    }
  }
  for (Index r = 0; r < R; ++r) {
    for (Index l = 0; k + l < n; ++l) part[r][l] = added(x[r * stride + k + l], v[k + l], part[r][l]);
  }
  meet<T>(part, u);
}

template <class T, Index R>
[[gnu::always_inline]] inline void long_add_scaled(T* y, const T* x, Index stride, const T* u, Index n) {
  constexpr Index kParts = kLanes<T>;
  Index k = 0;
  for (; k + kParts <= n; k += kParts) {
    T total[kParts];
    for (Index l = 0; l < kParts; ++l) total[l] = y[k + l];
    for (Index r = 0; r < R; ++r) {
      prefetch(x + (r + R) * stride + k);
#pragma omp simd
      for (Index l = 0; l < kParts; ++l) total[l] = added(x[r * stride + k + l], u[r], total[l]);
    }
    for (Index l = 0; l < kParts; ++l) y[k + l] = total[l];
  }
  for (; k < n; ++k) {
    T total = y[k];
    for (Index r = 0; r < R; ++r) total = added(x[r * stride + k], u[r], total);
    y[k] = total;
  }
}

template <class T>
struct Dot {
  T* u;
  const T* x;
  Index stride;
  const T* v;

  template <Index N>
  [[gnu::always_inline]] inline void of_length(Index rows) const {
    short_dot<T, N>(u, x, stride, v, rows);
  }
  [[gnu::always_inline]] inline void of_any_length(Index n, Index rows) const {
    constexpr Index kAtOnce = 4;
    Index r = 0;
    for (; r + kAtOnce <= rows; r += kAtOnce) long_dot<T, kAtOnce>(u + r, x + r * stride, stride, v, n);
    for (; r < rows; ++r) long_dot<T, 1>(u + r, x + r * stride, stride, v, n);
  }
};

template <class T>
struct AddScaled {
  T* y;
  const T* x;
  Index stride;
  const T* u;

  template <Index N>
  [[gnu::always_inline]] inline void of_length(Index rows) const {
    short_add_scaled<T, N>(y, x, stride, u, rows);
  }
  [[gnu::always_inline]] inline void of_any_length(Index n, Index rows) const {
    Index r = 0;
    for (; r + kRowsAtOnce <= rows; r += kRowsAtOnce)
      long_add_scaled<T, kRowsAtOnce>(y, x + r * stride, stride, u + r, n);
    for (; r < rows; ++r) long_add_scaled<T, 1>(y, x + r * stride, stride, u + r, n);
  }
};

/// Lengths up to kShortLine are compile-time constants.
template <class Work>
[[gnu::always_inline]] inline void by_length(const Work& work, Index n, Index rows) {
  const auto one_of = [&]<Index... N>(std::integer_sequence<Index, N...>) __attribute__((always_inline)) {
    static_cast<void>(((n == N + 1 ? (work.template of_length<N + 1>(rows), true) : false) || ...));
  };
  if (n > kShortLine) return work.of_any_length(n, rows);
  one_of(std::make_integer_sequence<Index, kShortLine>{});
}

#ifdef TDSL_HAS_SIMD_LEVELS
template <class Work>
[[gnu::target("avx2,fma")]] void with_avx2(const Work& work, Index n, Index rows) {
  by_length(work, n, rows);
}
template <class Work>
[[gnu::target("avx512f,avx512vl,avx512dq,avx512bw,fma,prefer-vector-width=512")]] void with_avx512(const Work& work,
                                                                                                   Index n,
                                                                                                   Index rows) {
  by_length(work, n, rows);
}
#endif

template <class Work>
void run(const Work& work, Index n, Index rows, [[maybe_unused]] SimdLevel level) {
#ifdef TDSL_HAS_SIMD_LEVELS
  switch (level) {
    case SimdLevel::kAvx512: return with_avx512(work, n, rows);
    case SimdLevel::kAvx2: return with_avx2(work, n, rows);
    case SimdLevel::kBaseline: break;
  }
#endif
  by_length(work, n, rows);
}

}  // namespace

template <class T>
void dot(T* u, const T* x, Index stride, const T* v, Index n, Index rows, SimdLevel level) {
  run(Dot<T>{u, x, stride, v}, n, rows, level);
}

template <class T>
void add_scaled(T* y, const T* x, Index stride, const T* u, Index n, Index rows, SimdLevel level) {
  run(AddScaled<T>{y, x, stride, u}, n, rows, level);
}

template <class T>
void multiply(Index m, Index n, Index k, const T* a, Index a_row, Index a_column, const T* b, Index b_row,
              Index b_column, bool add, T* c, Index c_row) {
  blas::gemm<T>(m, n, k, {a, a_row, a_column}, {b, b_row, b_column}, add, {c, c_row, 1});
}

template void dot(float*, const float*, Index, const float*, Index, Index, SimdLevel);
template void add_scaled(float*, const float*, Index, const float*, Index, Index, SimdLevel);
template void multiply(Index, Index, Index, const float*, Index, Index, const float*, Index, Index, bool, float*,
                       Index);
template void dot(double*, const double*, Index, const double*, Index, Index, SimdLevel);
template void add_scaled(double*, const double*, Index, const double*, Index, Index, SimdLevel);
template void multiply(Index, Index, Index, const double*, Index, Index, const double*, Index, Index, bool, double*,
                       Index);

}  // namespace tdsl::rt::rows::detail
