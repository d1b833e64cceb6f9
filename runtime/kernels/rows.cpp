#include "runtime/kernels/rows.h"

#include <cmath>

namespace tdsl::rt::rows::detail {

namespace {

template <class T>
[[gnu::always_inline]] inline T added(T a, T b, T total) {
  return std::fma(a, b, total);
}

/// Rows that are worked on together, so that their additions do not wait for each other.
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

template <class T, Index R>
[[gnu::always_inline]] inline void long_dot(T* u, const T* x, Index stride, const T* v, Index n) {
  constexpr Index kParts = kLanes<T>;
  T part[R][kParts] = {};
  Index k = 0;
  for (; k + kParts <= n; k += kParts) {
    for (Index r = 0; r < R; ++r) {
#pragma omp simd
      for (Index l = 0; l < kParts; ++l) part[r][l] = added(x[r * stride + k + l], v[k + l], part[r][l]);
    }
  }
  for (Index r = 0; r < R; ++r) {
    for (Index l = 0; k + l < n; ++l) part[r][l] = added(x[r * stride + k + l], v[k + l], part[r][l]);
    for (Index half = kParts / 2; half > 0; half /= 2) {
      for (Index l = 0; l < half; ++l) part[r][l] += part[r][l + half];
    }
    u[r] = part[r][0];
  }
}

template <class T, Index R>
[[gnu::always_inline]] inline void long_add_scaled(T* y, const T* x, Index stride, const T* u, Index n) {
#pragma omp simd
  for (Index k = 0; k < n; ++k) {
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
    for (; r + kRowsAtOnce <= rows; r += kRowsAtOnce) long_add_scaled<T, kRowsAtOnce>(y, x + r * stride, stride, u + r, n);
    for (; r < rows; ++r) long_add_scaled<T, 1>(y, x + r * stride, stride, u + r, n);
  }
};

/// Lengths up to kShortLine are numbers in the code.
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
[[gnu::target("avx512f,avx512vl,avx512dq,avx512bw,fma,prefer-vector-width=512")]] void with_avx512(const Work& work, Index n, Index rows) {
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

void dot(double* u, const double* x, Index stride, const double* v, Index n, Index rows, SimdLevel level) {
  run(Dot<double>{u, x, stride, v}, n, rows, level);
}
void dot(float* u, const float* x, Index stride, const float* v, Index n, Index rows, SimdLevel level) {
  run(Dot<float>{u, x, stride, v}, n, rows, level);
}
void add_scaled(double* y, const double* x, Index stride, const double* u, Index n, Index rows, SimdLevel level) {
  run(AddScaled<double>{y, x, stride, u}, n, rows, level);
}
void add_scaled(float* y, const float* x, Index stride, const float* u, Index n, Index rows, SimdLevel level) {
  run(AddScaled<float>{y, x, stride, u}, n, rows, level);
}

}  // namespace tdsl::rt::rows::detail
