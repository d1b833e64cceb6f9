#pragma once

#include <algorithm>

#include "runtime/fft/plan.h"

// Real lines of even length n as h = n / 2 pairs z[j] = x[2 j] + i x[2 j + 1], in lanes or (kWidth 1) of one line: the
// real part of element k of lane l is at re[k * kStep + l].
//
// With E and O the transforms of the even and the odd elements, Z = E + i O and X[k] = E[k] + w^k O[k], where
// w = exp(-2 pi i / n). Elements k and h - k are computed together, since those of real lines are conjugates: calls for
// k from 0 to h / 2 compute all, and those of different k are independent.

namespace tdsl::rt::fourier {

/// h elements Z to h + 1 elements X, in place, for k from `first` to `end` - 1.
template <class T, Index kWidth, Index kStep>
struct PairsToSpectrum {
  static void run(const RealPlan<T>& plan, T* re, T* im, Index first, Index end) {
    const Index h = plan.n / 2;
    constexpr T kHalf = static_cast<T>(0.5);
    for (Index l = 0; first == 0 && l < kWidth; ++l) {
      const T a = re[l], b = im[l];
      re[l] = a + b;
      im[l] = 0;
      re[h * kStep + l] = a - b;
      im[h * kStep + l] = 0;
    }
    for (Index k = std::max<Index>(first, 1); k < end; ++k) {
      const T c = plan.roots[static_cast<std::size_t>(2 * k)], s = plan.roots[static_cast<std::size_t>(2 * k + 1)];
      T *ar = re + k * kStep, *ai = im + k * kStep, *br = re + (h - k) * kStep, *bi = im + (h - k) * kStep;
#pragma omp simd
      for (Index l = 0; l < kWidth; ++l) {
        const T er = kHalf * (ar[l] + br[l]), ei = kHalf * (ai[l] - bi[l]);
        const T odd_re = kHalf * (ai[l] + bi[l]), odd_im = kHalf * (br[l] - ar[l]);
        const T tr = odd_re * c - odd_im * s, ti = odd_re * s + odd_im * c;
        br[l] = er - tr;
        bi[l] = ti - ei;
        ar[l] = er + tr;
        ai[l] = ei + ti;
      }
    }
  }
};

/// h + 1 elements X to h elements 2 Z, in place, for k from `first` to `end` - 1: their inverse transform is x, both
/// without a factor.
template <class T, Index kWidth, Index kStep>
struct SpectrumToPairs {
  static void run(const RealPlan<T>& plan, T* re, T* im, Index first, Index end) {
    const Index h = plan.n / 2;
    for (Index l = 0; first == 0 && l < kWidth; ++l) {
      const T a = re[l], b = re[h * kStep + l];
      re[l] = a + b;
      im[l] = a - b;
    }
    for (Index k = std::max<Index>(first, 1); k < end; ++k) {
      const T c = plan.roots[static_cast<std::size_t>(2 * k)], s = plan.roots[static_cast<std::size_t>(2 * k + 1)];
      T *ar = re + k * kStep, *ai = im + k * kStep, *br = re + (h - k) * kStep, *bi = im + (h - k) * kStep;
#pragma omp simd
      for (Index l = 0; l < kWidth; ++l) {
        const T er = ar[l] + br[l], ei = ai[l] - bi[l];
        const T dr = ar[l] - br[l], di = ai[l] + bi[l];
        const T odd_re = dr * c + di * s, odd_im = di * c - dr * s;
        br[l] = er + odd_im;
        bi[l] = odd_re - ei;
        ar[l] = er - odd_im;
        ai[l] = ei + odd_re;
      }
    }
  }
};

}  // namespace tdsl::rt::fourier
