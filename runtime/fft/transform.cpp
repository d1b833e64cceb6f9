#include "runtime/fft/transform.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/base/shared_loop.h"
#include "runtime/fft/buffers.h"
#include "runtime/fft/moves.h"
#include "runtime/fft/pairs.h"
#include "runtime/fft/stages.h"
#include "runtime/kernels/progress.h"

// An inverse transform is a forward one with real and imaginary parts exchanged before and after it.

namespace tdsl::rt::fourier {

namespace {

using rt::detail::at_level;

template <class T>
Lanes<T> exchanged(const Lanes<T>& x) {
  return {x.im, x.re};
}

std::size_t parts(Index elements) { return 2 * static_cast<std::size_t>(elements); }

/// Element k of all lanes times factors[k], for k < n.
template <class T>
struct MultiplyLanes {
  static void run(Index n, const T* factors, const Lanes<T>& x) {
    for (Index k = 0; k < n; ++k) {
      const T c = factors[2 * k], s = factors[2 * k + 1];
      T *re = x.re + k * kLanes<T>, *im = x.im + k * kLanes<T>;
#pragma omp simd
      for (Index l = 0; l < kLanes<T>; ++l) {
        const T a = re[l], b = im[l];
        re[l] = a * c - b * s;
        im[l] = a * s + b * c;
      }
    }
  }
};

/// The same of a line of pairs.
template <class T>
struct MultiplyLine {
  static void run(Index n, const T* factors, T* x) {
#pragma omp simd
    for (Index k = 0; k < n; ++k) {
      const T c = factors[2 * k], s = factors[2 * k + 1], a = x[2 * k], b = x[2 * k + 1];
      x[2 * k] = a * c - b * s;
      x[2 * k + 1] = a * s + b * c;
    }
  }
};

template <class T>
struct ExchangeParts {
  static void run(Index n, T* x) {
    for (Index k = 0; k < n; ++k) std::swap(x[2 * k], x[2 * k + 1]);
  }
};

/// Forward transforms of the lines in `x`; `y` is work space, and both may change places.
template <class T>
void transform_lanes(const Plan<T>& plan, Lanes<T>& x, Lanes<T>& y) {
  if (!plan.convolution) return run_stages(plan.stages, x, y);
  const Index n = plan.n, m = plan.convolution->n;
  at_level<SimdLevel::kAvx512, MultiplyLanes<T>>(n, plan.chirp.data(), x);
  std::fill(x.re + n * kLanes<T>, x.re + m * kLanes<T>, T{0});
  std::fill(x.im + n * kLanes<T>, x.im + m * kLanes<T>, T{0});
  run_stages(plan.convolution->stages, x, y);
  at_level<SimdLevel::kAvx512, MultiplyLanes<T>>(m, plan.window.data(), x);
  x = exchanged(x);
  run_stages(plan.convolution->stages, x, y);
  x = exchanged(x);
  at_level<SimdLevel::kAvx512, MultiplyLanes<T>>(n, plan.chirp.data(), x);
}

/// Columns [from, from + count) of the matrix times the roots of their elements. `x` has a column per lane.
template <class T>
struct TurnColumns {
  static void run(const Matrix<T>& m, Index from, const Lanes<T>& x) {
    constexpr Index kGroup = Matrix<T>::kGroup;
    const T* of_group = m.of_groups.data() + 2 * (from / kGroup) * m.rows;
    for (Index i = 0; i < m.rows; ++i) {
      const T gc = of_group[2 * i], gs = of_group[2 * i + 1];
      const T *cr = m.re.data() + i * kGroup + from % kGroup, *ci = m.im.data() + i * kGroup + from % kGroup;
      T *re = x.re + i * kLanes<T>, *im = x.im + i * kLanes<T>;
#pragma omp simd
      for (Index l = 0; l < kLanes<T>; ++l) {
        const T c = cr[l] * gc - ci[l] * gs, s = cr[l] * gs + ci[l] * gc;
        const T a = re[l], b = im[l];
        re[l] = a * c - b * s;
        im[l] = a * s + b * c;
      }
    }
  }
};

/// Lines side by side: line l begins at data + l * distance.
template <class T>
Lines<T> lines_at(T* data, Index count, Index distance, Index stride) {
  Lines<T> lines;
  lines.stride = stride;
  for (Index l = 0; l < count; ++l) lines.first[static_cast<std::size_t>(l)] = data + l * distance;
  return lines;
}

/// Lines of fewer elements are transformed by one thread.
constexpr Index kLeastShared = Index{1} << 15;
/// Elements that a thread processes at once: a multiple of every vector length.
constexpr Index kChunk = Index{1} << 14;

/// Calls f(first, end) for chunks of n elements, which do not depend on the number of threads.
template <class F>
void in_chunks(Index n, const F& f) {
  shared_loop::run((n + kChunk - 1) / kChunk, [&](Index k) { f(k * kChunk, std::min(n, (k + 1) * kChunk)); });
}

/// Calls f(first) for every kLanes-th of `count` columns or rows of a line of n elements, on all threads of long lines.
template <class T, class F>
void in_lanes(Index n, Index count, const F& f) {
  if (n >= kLeastShared)
    return shared_loop::run((count + kLanes<T> - 1) / kLanes<T>, [&](Index k) {
      f(k * kLanes<T>);
      progress::pause();
    });
  for (Index first = 0; first < count; first += kLanes<T>) f(first);
}

/// The six-step form without its transposes: columns, kept in the order of `between`, then rows, which are stored as
/// columns.
template <class T>
void transform_matrix(const Matrix<T>& m, const T* in, T* out, bool inverse, T scale) {
  const Index n = m.rows * m.columns;
  const std::size_t lanes = static_cast<std::size_t>(std::max(m.rows, m.columns) * kLanes<T>);
  const Workspace<T> whole(Use::kMatrix, parts(n));
  T* const between = whole.data();
  const auto oriented = [&](const Lanes<T>& x) { return inverse ? exchanged(x) : x; };
  in_lanes<T>(n, m.columns, [&](Index j) {
    const Workspace<T> space(Use::kLanes, 4 * lanes);
    T* const w = space.data();
    Lanes<T> x{w, w + lanes}, y{w + 2 * lanes, w + 3 * lanes};
    const Index count = std::min(kLanes<T>, m.columns - j);
    const Layout layout{m.rows, 2 * m.columns, 1};
    load(lines_at(in + 2 * j, count, 2, layout.stride), count, layout, 2, oriented(x));
    run_stages(m.of_columns, x, y);
    at_level<SimdLevel::kAvx512, TurnColumns<T>>(m, j, x);
    store(x, layout, lines_at(between + 2 * j, count, 2, layout.stride), count, 2, T{1});
  });
  in_lanes<T>(n, m.rows, [&](Index i) {
    const Workspace<T> space(Use::kLanes, 4 * lanes);
    T* const w = space.data();
    Lanes<T> x{w, w + lanes}, y{w + 2 * lanes, w + 3 * lanes};
    const Index count = std::min(kLanes<T>, m.rows - i);
    const T* first = between + 2 * i * m.columns;
    load(lines_at(first, count, 2 * m.columns, 2), count, Layout{m.columns, 2, 1}, 2, x);
    run_stages(m.of_rows, x, y);
    const Layout layout{m.columns, 2 * m.rows, 1};
    store(oriented(x), layout, lines_at(out + 2 * i, count, 2, layout.stride), count, 2, scale);
  });
}

/// A long convolution, in a buffer of its own.
template <class T>
void transform_convolution(const Plan<T>& plan, const T* in, T* out, bool inverse, T scale) {
  const Index n = plan.n, m = plan.convolution->n;
  const Workspace<T> space(Use::kConvolution, parts(m));
  T* const x = space.data();
  const auto multiply = [x](const std::vector<T>& factors, Index first, Index end) {
    at_level<SimdLevel::kAvx512, MultiplyLine<T>>(end - first, factors.data() + 2 * first, x + 2 * first);
  };
  const auto exchange = [x, inverse](Index first, Index end) {
    if (inverse) at_level<SimdLevel::kAvx512, ExchangeParts<T>>(end - first, x + 2 * first);
  };
  in_chunks(n, [&](Index first, Index end) {
    std::copy(in + 2 * first, in + 2 * end, x + 2 * first);
    exchange(first, end);
    multiply(plan.chirp, first, end);
  });
  in_chunks(m - n, [&](Index first, Index end) { std::fill(x + 2 * (n + first), x + 2 * (n + end), T{0}); });
  transform_matrix<T>(*plan.convolution->matrix, x, x, false, T{1});
  in_chunks(m, [&](Index first, Index end) { multiply(plan.window, first, end); });
  transform_matrix<T>(*plan.convolution->matrix, x, x, true, T{1});
  in_chunks(n, [&](Index first, Index end) {
    multiply(plan.chirp, first, end);
    exchange(first, end);
    for (Index k = 2 * first; k < 2 * end; ++k) out[k] = x[k] * scale;
  });
}

template <class T>
void transform_long(const Plan<T>& plan, const T* in, T* out, bool inverse, T scale) {
  if (plan.matrix) return transform_matrix(*plan.matrix, in, out, inverse, scale);
  transform_convolution(plan, in, out, inverse, scale);
}

/// Completes the transform of real lines of n elements in lanes (kWidth lines) or of one line: elements behind n / 2
/// are the conjugates of others. `inverse`: so are the results.
template <class T, Index kWidth, Index kStep>
struct Conjugates {
  static void run(Index n, bool inverse, T* re, T* im) {
    for (Index k = n / 2 + 1; k < n; ++k) {
      for (Index l = 0; l < kWidth; ++l) {
        re[k * kStep + l] = re[(n - k) * kStep + l];
        im[k * kStep + l] = -im[(n - k) * kStep + l];
      }
    }
    if (!inverse) return;
    for (Index k = 0; k < n; ++k) {
      for (Index l = 0; l < kWidth; ++l) im[k * kStep + l] = -im[k * kStep + l];
    }
  }
};

/// 0, or nan if an element is not finite.
template <class T>
T poison(const T* x, Index count) {
  T sum = 0;
  for (Index k = 0; k < count; ++k) sum += x[k] - x[k];
  return sum;
}

}  // namespace

template <class T>
void transform_line(const Plan<T>& plan, const T* in, T* out) {
  if (plan.is_long()) return transform_long(plan, in, out, false, T{1});
  const Index work = plan.work();
  const std::size_t lanes = static_cast<std::size_t>(work * kLanes<T>);
  const Workspace<T> space(Use::kLanes, 4 * lanes);
  T* const w = space.data();
  Lanes<T> x{w, w + lanes}, y{w + 2 * lanes, w + 3 * lanes};
  const Layout layout{plan.n, 2, 1};
  load(lines_at(in, 1, 0, 2), 1, layout, 2, x);
  transform_lanes(plan, x, y);
  store(x, layout, lines_at(out, 1, 0, 2), 1, 2, T{1});
}

template <class T>
Transform<T>::Transform(Kind kind, Index n, double scale) : kind_(kind), n_(n), scale_(static_cast<T>(scale)) {
  if (is_of_reals(kind) || kind == Kind::kToReal) {
    real_ = real_plan_of<T>(n);
    plan_ = real_->inner;
  } else {
    plan_ = plan_of<T>(n);
  }
}

template <class T>
void Transform<T>::run(const Lines<const T>& in, const Lines<T>& out, Index count) const {
  if (!plan_->is_long()) return run_in_lanes(in, out, count);
  for (std::size_t l = 0; l < static_cast<std::size_t>(count); ++l)
    run_line(in.first[l], in.stride, out.first[l], out.stride);
}

template <class T>
void Transform<T>::run_in_lanes(const Lines<const T>& in, const Lines<T>& out, Index count) const {
  constexpr Index kL = kLanes<T>;
  const bool even = n_ % 2 == 0;
  const bool all = kind_ == Kind::kForwardOfReals || kind_ == Kind::kInverseOfReals;
  const Index spectrum = n_ / 2 + 1;
  const std::size_t lanes = static_cast<std::size_t>(std::max(plan_->work(), all ? n_ : spectrum) * kL);
  const Workspace<T> space(Use::kLanes, 4 * lanes);
  T* const w = space.data();
  Lanes<T> x{w, w + lanes}, y{w + 2 * lanes, w + 3 * lanes};
  const auto reals = [&](Index stride) { return even ? Layout{n_ / 2, 2 * stride, stride} : Layout{n_, stride, 0}; };
  switch (kind_) {
    case Kind::kForward:
    case Kind::kInverse: {
      load(in, count, Layout{n_, in.stride, 1}, 2, x);
      if (kind_ == Kind::kInverse) x = exchanged(x);
      transform_lanes(*plan_, x, y);
      if (kind_ == Kind::kInverse) x = exchanged(x);
      return store(x, Layout{n_, out.stride, 1}, out, count, 2, scale_);
    }
    case Kind::kReal: {
      load(in, count, reals(in.stride), 1, x);
      transform_lanes(*plan_, x, y);
      if (even) at_level<SimdLevel::kAvx512, PairsToSpectrum<T, kL, kL>>(*real_, x.re, x.im, 0, n_ / 4 + 1);
      if (!even) std::fill(x.im, x.im + kL, T{0});
      return store(x, Layout{spectrum, out.stride, 1}, out, count, 2, scale_);
    }
    case Kind::kForwardOfReals:
    case Kind::kInverseOfReals: {
      load(in, count, reals(in.stride), 1, x);
      transform_lanes(*plan_, x, y);
      if (even) at_level<SimdLevel::kAvx512, PairsToSpectrum<T, kL, kL>>(*real_, x.re, x.im, 0, n_ / 4 + 1);
      at_level<SimdLevel::kAvx512, Conjugates<T, kL, kL>>(n_, kind_ == Kind::kInverseOfReals, x.re, x.im);
      return store(x, Layout{n_, out.stride, 1}, out, count, 2, scale_);
    }
    case Kind::kToReal: {
      load(in, count, Layout{spectrum, in.stride, 1}, 2, x);
      if (even) {
        at_level<SimdLevel::kAvx512, SpectrumToPairs<T, kL, kL>>(*real_, x.re, x.im, 0, n_ / 4 + 1);
      } else {
        std::fill(x.im, x.im + kL, T{0});
        for (Index k = 1; k < spectrum; ++k) {
          for (Index l = 0; l < kL; ++l) {
            const T bad = (x.re[k * kL + l] - x.re[k * kL + l]) + (x.im[k * kL + l] - x.im[k * kL + l]);
            x.re[l] += bad;
            x.re[(n_ - k) * kL + l] = x.re[k * kL + l];
            x.im[(n_ - k) * kL + l] = -x.im[k * kL + l];
          }
        }
      }
      x = exchanged(x);
      transform_lanes(*plan_, x, y);
      x = exchanged(x);
      return store(x, reals(out.stride), out, count, 1, scale_);
    }
  }
}

template <class T>
void Transform<T>::run_line(const T* in, Index in_stride, T* out, Index out_stride) const {
  const bool even = n_ % 2 == 0, real = is_of_reals(kind_), to_real = kind_ == Kind::kToReal;
  const bool to_half = kind_ == Kind::kReal;
  const Index spectrum = n_ / 2 + 1, length = even && (to_half || to_real) ? spectrum : n_;
  const Workspace<T> space(Use::kLine, parts(length));
  T* const x = space.data();
  const Index given = to_real ? spectrum : real && even ? n_ / 2 : n_;
  const Layout from = !real  ? Layout{given, in_stride, 1}
                      : even ? Layout{given, 2 * in_stride, in_stride}
                             : Layout{given, in_stride, 0};
  const T* source = in;
  if (from.stride != 2 || from.gap != 1 || to_real) {
    in_chunks(given, [&](Index first, Index end) {
      for (Index k = first; k < end; ++k) {
        x[2 * k] = in[k * from.stride];
        x[2 * k + 1] = from.gap == 0 ? T{0} : in[k * from.stride + from.gap];
      }
    });
    source = x;
  }
  if (to_real && even) {
    in_chunks(n_ / 4 + 1, [&](Index first, Index end) {
      at_level<SimdLevel::kAvx512, SpectrumToPairs<T, 1, 2>>(*real_, x, x + 1, first, end);
    });
  } else if (to_real) {
    x[1] = 0;
    x[0] += poison(x, 2 * spectrum);
    for (Index k = 1; k < spectrum; ++k) {
      x[2 * (n_ - k)] = x[2 * k];
      x[2 * (n_ - k) + 1] = -x[2 * k + 1];
    }
  }
  const Layout to = !to_real ? Layout{to_half ? spectrum : n_, out_stride, 1}
                    : even   ? Layout{n_ / 2, 2 * out_stride, out_stride}
                             : Layout{n_, out_stride, 0};
  const bool inverse = kind_ == Kind::kInverse || to_real;
  const bool in_place = to.stride == 2 && to.gap == 1 && (even || !to_half);
  T* const target = in_place ? out : x;
  transform_long(*plan_, source, target, inverse, scale_);
  if (real && even)
    in_chunks(n_ / 4 + 1, [&](Index first, Index end) {
      at_level<SimdLevel::kAvx512, PairsToSpectrum<T, 1, 2>>(*real_, target, target + 1, first, end);
    });
  if (real && !even) target[1] = 0;
  if (real && !to_half)
    at_level<SimdLevel::kAvx512, Conjugates<T, 1, 2>>(n_, kind_ == Kind::kInverseOfReals, target, target + 1);
  if (in_place) return;
  in_chunks(to.n, [&](Index first, Index end) {
    for (Index k = first; k < end; ++k) {
      out[k * to.stride] = x[2 * k];
      if (to.gap != 0) out[k * to.stride + to.gap] = x[2 * k + 1];
    }
  });
}

template void transform_line(const Plan<float>&, const float*, float*);
template void transform_line(const Plan<double>&, const double*, double*);
template class Transform<float>;
template class Transform<double>;

}  // namespace tdsl::rt::fourier
