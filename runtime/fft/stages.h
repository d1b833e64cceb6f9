#pragma once

#include <utility>

#include "runtime/fft/plan.h"
#include "runtime/kernels/simd_level.h"

// Passes over lines in lanes: element k of line l is at [k * kLanes + l], real and imaginary parts apart. Inner loops
// run over the lanes, a constant number, of one of the interleaved lines.

namespace tdsl::rt::fourier {

/// Lines in lanes.
template <class T>
struct Lanes {
  T* re = nullptr;
  T* im = nullptr;
};

namespace detail {

/// The element's root of place p: `turns` false means 1.
template <class T, bool kTurns>
[[gnu::always_inline]] inline void put(T* yr, T* yi, Index at, T re, T im, T c, T s) {
  if constexpr (kTurns) {
    yr[at] = re * c - im * s;
    yi[at] = re * s + im * c;
  } else {
    yr[at] = re;
    yi[at] = im;
  }
}

template <class T, bool kTurns>
struct RadixTwo {
  static void run(const Stage& stage, const T* w, const Lanes<T>& x, const Lanes<T>& y) {
    const Index q = stage.length / 2, width = stage.stride * kLanes<T>;
    for (Index p = 0; p < q; ++p) {
      const T c = w[2 * p], s = w[2 * p + 1];
      const T *xr = x.re + p * width, *xi = x.im + p * width;
      T *yr = y.re + 2 * p * width, *yi = y.im + 2 * p * width;
      const Index step = q * width;
      for (Index from = 0; from < width; from += kLanes<T>) {
#pragma omp simd
        for (Index k = from; k < from + kLanes<T>; ++k) {
          const T ar = xr[k], ai = xi[k], br = xr[k + step], bi = xi[k + step];
          yr[k] = ar + br;
          yi[k] = ai + bi;
          put<T, kTurns>(yr, yi, k + width, ar - br, ai - bi, c, s);
        }
      }
    }
  }
};

template <class T, bool kTurns>
struct RadixThree {
  static void run(const Stage& stage, const T* w, const Lanes<T>& x, const Lanes<T>& y) {
    constexpr T kHalf = static_cast<T>(0.5), kSine = static_cast<T>(0.86602540378443864676);
    const Index q = stage.length / 3, width = stage.stride * kLanes<T>;
    for (Index p = 0; p < q; ++p) {
      const T* t = w + 4 * p;
      const T c1 = t[0], s1 = t[1], c2 = t[2], s2 = t[3];
      const T *xr = x.re + p * width, *xi = x.im + p * width;
      T *yr = y.re + 3 * p * width, *yi = y.im + 3 * p * width;
      const Index step = q * width;
      for (Index from = 0; from < width; from += kLanes<T>) {
#pragma omp simd
        for (Index k = from; k < from + kLanes<T>; ++k) {
          const T ar = xr[k], ai = xi[k];
          const T ur = xr[k + step] + xr[k + 2 * step], ui = xi[k + step] + xi[k + 2 * step];
          const T vr = (xr[k + step] - xr[k + 2 * step]) * kSine, vi = (xi[k + step] - xi[k + 2 * step]) * kSine;
          const T mr = ar - kHalf * ur, mi = ai - kHalf * ui;
          yr[k] = ar + ur;
          yi[k] = ai + ui;
          put<T, kTurns>(yr, yi, k + width, mr + vi, mi - vr, c1, s1);
          put<T, kTurns>(yr, yi, k + 2 * width, mr - vi, mi + vr, c2, s2);
        }
      }
    }
  }
};

template <class T, bool kTurns>
struct RadixFour {
  static void run(const Stage& stage, const T* w, const Lanes<T>& x, const Lanes<T>& y) {
    const Index q = stage.length / 4, width = stage.stride * kLanes<T>;
    for (Index p = 0; p < q; ++p) {
      const T* t = w + 6 * p;
      const T c1 = t[0], s1 = t[1], c2 = t[2], s2 = t[3], c3 = t[4], s3 = t[5];
      const T *xr = x.re + p * width, *xi = x.im + p * width;
      T *yr = y.re + 4 * p * width, *yi = y.im + 4 * p * width;
      const Index step = q * width;
      for (Index from = 0; from < width; from += kLanes<T>) {
#pragma omp simd
        for (Index k = from; k < from + kLanes<T>; ++k) {
          const T ar = xr[k] + xr[k + 2 * step], ai = xi[k] + xi[k + 2 * step];
          const T br = xr[k] - xr[k + 2 * step], bi = xi[k] - xi[k + 2 * step];
          const T cr = xr[k + step] + xr[k + 3 * step], ci = xi[k + step] + xi[k + 3 * step];
          const T dr = xr[k + step] - xr[k + 3 * step], di = xi[k + step] - xi[k + 3 * step];
          yr[k] = ar + cr;
          yi[k] = ai + ci;
          put<T, kTurns>(yr, yi, k + width, br + di, bi - dr, c1, s1);
          put<T, kTurns>(yr, yi, k + 2 * width, ar - cr, ai - ci, c2, s2);
          put<T, kTurns>(yr, yi, k + 3 * width, br - di, bi + dr, c3, s3);
        }
      }
    }
  }
};

template <class T, bool kTurns>
struct RadixFive {
  static void run(const Stage& stage, const T* w, const Lanes<T>& x, const Lanes<T>& y) {
    constexpr T kC1 = static_cast<T>(0.30901699437494742410), kC2 = static_cast<T>(-0.80901699437494742410);
    constexpr T kS1 = static_cast<T>(0.95105651629515357212), kS2 = static_cast<T>(0.58778525229247312917);
    const Index q = stage.length / 5, width = stage.stride * kLanes<T>;
    for (Index p = 0; p < q; ++p) {
      const T* t = w + 8 * p;
      const T *xr = x.re + p * width, *xi = x.im + p * width;
      T *yr = y.re + 5 * p * width, *yi = y.im + 5 * p * width;
      const Index step = q * width;
      for (Index from = 0; from < width; from += kLanes<T>) {
#pragma omp simd
        for (Index k = from; k < from + kLanes<T>; ++k) {
          const T ar = xr[k], ai = xi[k];
          const T ur = xr[k + step] + xr[k + 4 * step], ui = xi[k + step] + xi[k + 4 * step];
          const T vr = xr[k + step] - xr[k + 4 * step], vi = xi[k + step] - xi[k + 4 * step];
          const T fr = xr[k + 2 * step] + xr[k + 3 * step], fi = xi[k + 2 * step] + xi[k + 3 * step];
          const T gr = xr[k + 2 * step] - xr[k + 3 * step], gi = xi[k + 2 * step] - xi[k + 3 * step];
          yr[k] = ar + ur + fr;
          yi[k] = ai + ui + fi;
          const T mr = ar + kC1 * ur + kC2 * fr, mi = ai + kC1 * ui + kC2 * fi;
          const T nr = ar + kC2 * ur + kC1 * fr, ni = ai + kC2 * ui + kC1 * fi;
          const T hr = kS1 * vr + kS2 * gr, hi = kS1 * vi + kS2 * gi;
          const T lr = kS2 * vr - kS1 * gr, li = kS2 * vi - kS1 * gi;
          put<T, kTurns>(yr, yi, k + width, mr + hi, mi - hr, t[0], t[1]);
          put<T, kTurns>(yr, yi, k + 2 * width, nr + li, ni - lr, t[2], t[3]);
          put<T, kTurns>(yr, yi, k + 3 * width, nr - li, ni + lr, t[4], t[5]);
          put<T, kTurns>(yr, yi, k + 4 * width, mr - hi, mi + hr, t[6], t[7]);
        }
      }
    }
  }
};

/// Transforms of the even and of the odd elements, and the eighth roots of unity.
template <class T, bool kTurns>
struct RadixEight {
  static void run(const Stage& stage, const T* w, const Lanes<T>& x, const Lanes<T>& y) {
    constexpr T kRoot = static_cast<T>(0.70710678118654752440);
    const Index q = stage.length / 8, width = stage.stride * kLanes<T>, step = q * width;
    for (Index p = 0; p < q; ++p) {
      const T* t = w + 14 * p;
      const T *xr = x.re + p * width, *xi = x.im + p * width;
      T *yr = y.re + 8 * p * width, *yi = y.im + 8 * p * width;
      for (Index from = 0; from < width; from += kLanes<T>) {
#pragma omp simd
        for (Index k = from; k < from + kLanes<T>; ++k) {
          const T ar = xr[k] + xr[k + 4 * step], ai = xi[k] + xi[k + 4 * step];
          const T br = xr[k] - xr[k + 4 * step], bi = xi[k] - xi[k + 4 * step];
          const T cr = xr[k + 2 * step] + xr[k + 6 * step], ci = xi[k + 2 * step] + xi[k + 6 * step];
          const T dr = xr[k + 2 * step] - xr[k + 6 * step], di = xi[k + 2 * step] - xi[k + 6 * step];
          const T er = xr[k + step] + xr[k + 5 * step], ei = xi[k + step] + xi[k + 5 * step];
          const T fr = xr[k + step] - xr[k + 5 * step], fi = xi[k + step] - xi[k + 5 * step];
          const T gr = xr[k + 3 * step] + xr[k + 7 * step], gi = xi[k + 3 * step] + xi[k + 7 * step];
          const T hr = xr[k + 3 * step] - xr[k + 7 * step], hi = xi[k + 3 * step] - xi[k + 7 * step];
          const T acr = ar + cr, aci = ai + ci, egr = er + gr, egi = ei + gi;
          yr[k] = acr + egr;
          yi[k] = aci + egi;
          put<T, kTurns>(yr, yi, k + 4 * width, acr - egr, aci - egi, t[6], t[7]);
          const T amr = ar - cr, ami = ai - ci, emr = ei - gi, emi = gr - er;
          put<T, kTurns>(yr, yi, k + 2 * width, amr + emr, ami + emi, t[2], t[3]);
          put<T, kTurns>(yr, yi, k + 6 * width, amr - emr, ami - emi, t[10], t[11]);
          const T pr = br + di, pi = bi - dr, sr = br - di, si = bi + dr;
          const T ur = fr + hi, ui = fi - hr, vr = fr - hi, vi = fi + hr;
          const T mr = kRoot * (ur + ui), mi = kRoot * (ui - ur), nr = kRoot * (vi - vr), ni = kRoot * (-vr - vi);
          put<T, kTurns>(yr, yi, k + width, pr + mr, pi + mi, t[0], t[1]);
          put<T, kTurns>(yr, yi, k + 5 * width, pr - mr, pi - mi, t[8], t[9]);
          put<T, kTurns>(yr, yi, k + 3 * width, sr + nr, si + ni, t[4], t[5]);
          put<T, kTurns>(yr, yi, k + 7 * width, sr - nr, si - ni, t[12], t[13]);
        }
      }
    }
  }
};

/// Odd radices, from the sums and differences of elements j and radix - j. `roots`: of the radix's order.
template <class T>
struct OddRadix {
  static void run(const Stage& stage, const T* w, const T* roots, const Lanes<T>& x, const Lanes<T>& y) {
    constexpr Index kL = kLanes<T>, kHalf = kLargestRadix / 2;
    const Index r = stage.radix, q = stage.length / r, width = stage.stride * kL, step = q * width;
    T ur[kHalf][kL], ui[kHalf][kL], vr[kHalf][kL], vi[kHalf][kL];
    for (Index p = 0; p < q; ++p) {
      const T* t = w + 2 * (r - 1) * p;
      for (Index from = 0; from < width; from += kL) {
        const T *xr = x.re + p * width + from, *xi = x.im + p * width + from;
        T *yr = y.re + r * p * width + from, *yi = y.im + r * p * width + from;
        T tr[kL], ti[kL];
        for (Index l = 0; l < kL; ++l) {
          tr[l] = xr[l];
          ti[l] = xi[l];
        }
        for (Index j = 1; j <= r / 2; ++j) {
          const T *one = xr + j * step, *other = xr + (r - j) * step;
          const T *one_i = xi + j * step, *other_i = xi + (r - j) * step;
#pragma omp simd
          for (Index l = 0; l < kL; ++l) {
            ur[j - 1][l] = one[l] + other[l];
            ui[j - 1][l] = one_i[l] + other_i[l];
            vr[j - 1][l] = one[l] - other[l];
            vi[j - 1][l] = one_i[l] - other_i[l];
            tr[l] += ur[j - 1][l];
            ti[l] += ui[j - 1][l];
          }
        }
        for (Index l = 0; l < kL; ++l) {
          yr[l] = tr[l];
          yi[l] = ti[l];
        }
        for (Index k = 1; k <= r / 2; ++k) {
          T mr[kL], mi[kL], hr[kL], hi[kL];
          for (Index l = 0; l < kL; ++l) {
            mr[l] = xr[l];
            mi[l] = xi[l];
            hr[l] = hi[l] = 0;
          }
          for (Index j = 1; j <= r / 2; ++j) {
            const T c = roots[2 * (j * k % r)], s = -roots[2 * (j * k % r) + 1];
#pragma omp simd
            for (Index l = 0; l < kL; ++l) {
              mr[l] += c * ur[j - 1][l];
              mi[l] += c * ui[j - 1][l];
              hr[l] += s * vr[j - 1][l];
              hi[l] += s * vi[j - 1][l];
            }
          }
          const T *a = t + 2 * (k - 1), *b = t + 2 * (r - k - 1);
#pragma omp simd
          for (Index l = 0; l < kL; ++l) {
            put<T, true>(yr, yi, k * width + l, mr[l] + hi[l], mi[l] - hr[l], a[0], a[1]);
            put<T, true>(yr, yi, (r - k) * width + l, mr[l] - hi[l], mi[l] + hr[l], b[0], b[1]);
          }
        }
      }
    }
  }
};

template <class T, template <class, bool> class Radix, SimdLevel kWidest = SimdLevel::kAvx2>
void run_radix(const Stage& stage, const T* w, const Lanes<T>& x, const Lanes<T>& y) {
  if (stage.length == stage.radix) return rt::detail::at_level<kWidest, Radix<T, false>>(stage, w, x, y);
  rt::detail::at_level<kWidest, Radix<T, true>>(stage, w, x, y);
}

}  // namespace detail

/// Transforms the lines in `x`, with `y` as work space; the results are in `x`, which may have changed places with `y`.
template <class T>
void run_stages(const Stages<T>& s, Lanes<T>& x, Lanes<T>& y) {
  for (const Stage& stage : s.stages) {
    const T* w = s.roots.data() + stage.twiddles;
    switch (stage.radix) {
      case 2: detail::run_radix<T, detail::RadixTwo>(stage, w, x, y); break;
      case 3: detail::run_radix<T, detail::RadixThree>(stage, w, x, y); break;
      case 4: detail::run_radix<T, detail::RadixFour, SimdLevel::kAvx512>(stage, w, x, y); break;
      case 5: detail::run_radix<T, detail::RadixFive>(stage, w, x, y); break;
      case 8: detail::run_radix<T, detail::RadixEight, SimdLevel::kAvx512>(stage, w, x, y); break;
      default:
        rt::detail::at_level<SimdLevel::kAvx2, detail::OddRadix<T>>(stage, w, s.roots.data() + stage.roots, x, y);
    }
    std::swap(x, y);
  }
}

}  // namespace tdsl::rt::fourier
