#pragma once

#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include "runtime/complex.h"
#include "runtime/fft/roots.h"
#include "runtime/fft/transform.h"
#include "runtime/kernels/task.h"
#include "runtime/routines/algorithms/routine.h"

// Kernels of Fourier transforms along one axis. The operation never cuts dimension `axis` of its output and reads its
// operand whole along it, so a task has complete lines; neighbouring lines are transformed together.

namespace tdsl::rt::routines::kernels {

using plan::idx;

/// 1, 1 / sqrt(n) or 1 / n.
inline double factor_of(FourierScale scale, Index n) {
  const auto length = static_cast<double>(n);
  return scale == FourierScale::kNone ? 1 : scale == FourierScale::kRoot ? 1 / std::sqrt(length) : 1 / length;
}

/// `n`: the length of transforms. Complex elements are pairs of T; T is also the type of real ones.
template <class T>
Kernel fourier_lines(fourier::Kind kind, int axis, FourierScale scale, Index n) {
  return [kind, axis, scale, n](const TaskArgs& t) {
    const Operand& in = t.inputs[0];
    const Operand& out = t.outputs[0];
    if (out.box.empty()) return;
    const Index in_parts = fourier::is_of_reals(kind) ? 1 : 2;
    const Index out_parts = kind == fourier::Kind::kToReal ? 1 : 2;
    const fourier::Transform<T> transform(kind, n, factor_of(scale, n));
    fourier::Lines<const T> from;
    fourier::Lines<T> to;
    from.stride = in.stride[idx(axis)] * in_parts;
    to.stride = out.stride[idx(axis)] * out_parts;
    const int rank = out.box.rank;
    std::array<Index, plan::kMaxRank> place{};  // relative to the output's box
    Index count = 0;
    while (true) {
      Index read = 0, written = 0;
      for (int d = 0; d < rank; ++d) {
        if (d == axis) continue;
        // The operand's box begins at the output's corner.
        read += (place[idx(d)] + out.box[d].lo - in.box[d].lo) * in.stride[idx(d)];
        written += place[idx(d)] * out.stride[idx(d)];
      }
      const auto lane = static_cast<std::size_t>(count++);
      from.first[lane] = reinterpret_cast<const T*>(in.data) + read * in_parts;
      to.first[lane] = reinterpret_cast<T*>(out.data) + written * out_parts;
      if (count == fourier::kLanes<T>) {
        transform.run(from, to, count);
        count = 0;
      }
      int d = rank - 1;
      for (; d >= 0; --d) {
        if (d == axis) continue;
        if (++place[idx(d)] < out.box[d].size()) break;
        place[idx(d)] = 0;
      }
      if (d < 0) break;
    }
    if (count > 0) transform.run(from, to, count);
  };
}

// Steps of a distributed transform of a vector (algorithms/fourier.cpp), of complex elements with parts T.

/// The vector of elements X, perhaps reals, by rows of `columns` elements.
template <class T, class X>
Kernel in_rows(Index columns) {
  return [columns](const TaskArgs& t) {
    const auto in = t.in<X, 1>(0);
    const auto out = t.out<Complex<T>, 2>();
    for (Index i = t.lo(0); i < t.hi(0); ++i) {
      for (Index j = t.lo(1); j < t.hi(1); ++j) out(i, j) = Complex<T>(in(i * columns + j));
    }
  };
}

/// Powers of exp(-2 pi i / n), or of its conjugate, as products of two tabulated ones.
template <class T>
class Turns {
 public:
  Turns(Index n, bool inverse) : step_(static_cast<Index>(std::sqrt(static_cast<double>(n))) + 1) {
    for (Index m = 0; m < step_; ++m) low_.push_back(root(m, n, inverse));
    for (Index m = 0; m < n; m += step_) high_.push_back(root(m, n, inverse));
  }
  /// x[k] times power i (first + k), which is below n, for k < count and i at most sqrt(n).
  void multiply(Complex<T>* x, Index i, Index first, Index count) const {
    Index high = i * first / step_, low = i * first % step_;
    for (Index k = 0; k < count; ++k) {
      x[k] = x[k] * (high_[static_cast<std::size_t>(high)] * low_[static_cast<std::size_t>(low)]);
      low += i;
      if (low < step_) continue;
      low -= step_;
      ++high;
    }
  }

 private:
  static Complex<T> root(Index m, Index n, bool inverse) {
    const fourier::Root r = fourier::unit_root(m, n);
    return Complex<T>(static_cast<T>(r.re), static_cast<T>(inverse ? -r.im : r.im));
  }

  Index step_;
  std::vector<Complex<T>> low_, high_;
};

/// Transforms of columns of `rows` elements; element (i, j) times the root i j of order n.
template <class T>
Kernel fourier_columns(bool inverse, Index rows, Index n) {
  const fourier::Kind kind = inverse ? fourier::Kind::kInverse : fourier::Kind::kForward;
  const auto turns = std::make_shared<const Turns<T>>(n, inverse);
  return [transforms = fourier_lines<T>(kind, 0, FourierScale::kNone, rows), turns](const TaskArgs& t) {
    transforms(t);
    const auto out = t.out<Complex<T>, 2>();
    if (t.lo(1) == t.hi(1)) return;
    for (Index i = t.lo(0); i < t.hi(0); ++i) turns->multiply(&out(i, t.lo(1)), i, t.lo(1), t.hi(1) - t.lo(1));
  };
}

/// The elements of a matrix of `rows` rows, column after column, times the factor of n.
template <class T>
Kernel by_columns(Index rows, FourierScale scale, Index n) {
  return [rows, factor = static_cast<T>(factor_of(scale, n))](const TaskArgs& t) {
    const auto in = t.in<Complex<T>, 2>(0);
    const auto out = t.out<Complex<T>, 1>();
    Index i = t.lo(0) % rows, j = t.lo(0) / rows;
    for (Index k = t.lo(0); k < t.hi(0); ++k) {
      out(k) = in(i, j) * factor;
      if (++i < rows) continue;
      i = 0;
      ++j;
    }
  };
}

/// Two neighbouring reals as parts of a complex element, by rows of `columns` pairs.
template <class T>
Kernel pairs_in_rows(Index columns) {
  return [columns](const TaskArgs& t) {
    const auto in = t.in<T, 1>(0);
    const auto out = t.out<Complex<T>, 2>();
    for (Index i = t.lo(0); i < t.hi(0); ++i) {
      for (Index j = t.lo(1); j < t.hi(1); ++j) {
        const Index q = 2 * (i * columns + j);
        out(i, j) = Complex<T>(in(q), in(q + 1));
      }
    }
  };
}

/// The first n / 2 + 1 elements of the transform of n reals, n even, times the factor of n, from that of their pairs
/// (fft/pairs.h). Operands: elements k - 1 and k, elements h - k - 1 and h - k, element 0 of the h = n / 2 results.
template <class T>
Kernel spectrum(FourierScale scale, Index n) {
  const auto turns = std::make_shared<const Turns<T>>(n, false);
  return [turns, h = n / 2, factor = static_cast<T>(factor_of(scale, n))](const TaskArgs& t) {
    if (t.lo(0) == t.hi(0)) return;
    const auto near = t.in<Complex<T>, 1>(0), far = t.in<Complex<T>, 1>(1), ends = t.in<Complex<T>, 1>(2);
    const auto out = t.out<Complex<T>, 1>();
    constexpr T kHalf = static_cast<T>(0.5);
    const auto is_end = [h](Index k) { return k == 0 || k == h; };
    for (Index k = t.lo(0); k < t.hi(0); ++k) {
      if (is_end(k)) continue;
      const Complex<T> a = near(k), b = far(h - k);
      out(k) = Complex<T>(kHalf * (a.im + b.im), kHalf * (b.re - a.re));
    }
    for (Index k = t.lo(0); k < t.hi(0); ++k) {
      if (is_end(k)) out(k) = Complex<T>(T{0}, T{0});
    }
    turns->multiply(&out(t.lo(0)), 1, t.lo(0), t.hi(0) - t.lo(0));
    for (Index k = t.lo(0); k < t.hi(0); ++k) {
      const Complex<T> z = ends(0);
      const T sum = k == 0 ? z.re + z.im : z.re - z.im;
      if (is_end(k)) {
        out(k) = Complex<T>(sum * factor, T{0});
        continue;
      }
      const Complex<T> a = near(k), b = far(h - k);
      const Complex<T> even(kHalf * (a.re + b.re), kHalf * (a.im - b.im));
      out(k) = (even + out(k)) * factor;
    }
  };
}

/// Twice the n / 2 pairs whose transform gives elements X of n reals, n even. Operands: X[k], X[n / 2 - k].
template <class T>
Kernel pairs_of_spectrum(Index n) {
  const auto turns = std::make_shared<const Turns<T>>(n, true);
  return [turns, h = n / 2](const TaskArgs& t) {
    if (t.lo(0) == t.hi(0)) return;
    const auto near = t.in<Complex<T>, 1>(0), far = t.in<Complex<T>, 1>(1);
    const auto out = t.out<Complex<T>, 1>();
    // Imaginary parts at both ends do not count.
    const auto first = [&](Index k) { return k == 0 ? Complex<T>(near(k).re, T{0}) : near(k); };
    const auto last = [&](Index k) { return k == 0 ? Complex<T>(far(h).re, T{0}) : far(h - k); };
    for (Index k = t.lo(0); k < t.hi(0); ++k) {
      const Complex<T> a = first(k), b = last(k);
      out(k) = Complex<T>(a.re - b.re, a.im + b.im);
    }
    turns->multiply(&out(t.lo(0)), 1, t.lo(0), t.hi(0) - t.lo(0));
    for (Index k = t.lo(0); k < t.hi(0); ++k) {
      const Complex<T> a = first(k), b = last(k), odd = out(k);
      out(k) = Complex<T>(a.re + b.re - odd.im, a.im - b.im + odd.re);
    }
  };
}

/// The parts of the elements of a matrix of `rows` rows, column after column, times the factor of n.
template <class T>
Kernel reals(Index rows, FourierScale scale, Index n) {
  return [rows, factor = static_cast<T>(factor_of(scale, n))](const TaskArgs& t) {
    const auto in = t.in<Complex<T>, 2>(0);
    const auto out = t.out<T, 1>();
    for (Index k = t.lo(0); k < t.hi(0); ++k) {
      const Index pair = k / 2;
      const Complex<T> z = in(pair % rows, pair / rows);
      out(k) = (k % 2 == 0 ? z.re : z.im) * factor;
    }
  };
}

}  // namespace tdsl::rt::routines::kernels
