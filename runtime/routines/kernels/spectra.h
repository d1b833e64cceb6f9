#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "runtime/routines/kernels/matrix.h"

// Singular values and eigenvalues on one rank, through LAPACK, packed in one output (matrix.h). T is float, double or
// Complex of these; singular values and eigenvalues of a complex matrix are stored as complex numbers.

namespace tdsl::rt::routines::kernels {

namespace lapack {

#define TDSL_LAPACK_SPECTRA(T, gesdd, syevd, geev)                                                                    \
  void gesdd(const char*, const lapack_int*, const lapack_int*, T*, const lapack_int*, T*, T*, const lapack_int*, T*, \
             const lapack_int*, T*, const lapack_int*, lapack_int*, lapack_int*, TextLength);                         \
  void syevd(const char*, const char*, const lapack_int*, T*, const lapack_int*, T*, T*, const lapack_int*,           \
             lapack_int*, const lapack_int*, lapack_int*, TextLength, TextLength);                                    \
  void geev(const char*, const char*, const lapack_int*, T*, const lapack_int*, T*, T*, T*, const lapack_int*, T*,    \
            const lapack_int*, T*, const lapack_int*, lapack_int*, TextLength, TextLength);
#define TDSL_LAPACK_COMPLEX_SPECTRA(T, gesdd, heevd, geev)                                                         \
  void gesdd(const char*, const lapack_int*, const lapack_int*, Complex<T>*, const lapack_int*, T*, Complex<T>*,   \
             const lapack_int*, Complex<T>*, const lapack_int*, Complex<T>*, const lapack_int*, T*, lapack_int*,   \
             lapack_int*, TextLength);                                                                             \
  void heevd(const char*, const char*, const lapack_int*, Complex<T>*, const lapack_int*, T*, Complex<T>*,         \
             const lapack_int*, T*, const lapack_int*, lapack_int*, const lapack_int*, lapack_int*, TextLength,    \
             TextLength);                                                                                          \
  void geev(const char*, const char*, const lapack_int*, Complex<T>*, const lapack_int*, Complex<T>*, Complex<T>*, \
            const lapack_int*, Complex<T>*, const lapack_int*, Complex<T>*, const lapack_int*, T*, lapack_int*,    \
            TextLength, TextLength);

extern "C" {
TDSL_LAPACK_SPECTRA(double, dgesdd_, dsyevd_, dgeev_)
TDSL_LAPACK_SPECTRA(float, sgesdd_, ssyevd_, sgeev_)
TDSL_LAPACK_COMPLEX_SPECTRA(double, zgesdd_, zheevd_, zgeev_)
TDSL_LAPACK_COMPLEX_SPECTRA(float, cgesdd_, cheevd_, cgeev_)
}
#undef TDSL_LAPACK_SPECTRA
#undef TDSL_LAPACK_COMPLEX_SPECTRA

template <class T>
inline constexpr auto kGesdd = dgesdd_;
template <>
inline constexpr auto kGesdd<float> = sgesdd_;
template <>
inline constexpr auto kGesdd<Complex<double>> = zgesdd_;
template <>
inline constexpr auto kGesdd<Complex<float>> = cgesdd_;

template <class T>
inline constexpr auto kSyevd = dsyevd_;
template <>
inline constexpr auto kSyevd<float> = ssyevd_;
template <>
inline constexpr auto kSyevd<Complex<double>> = zheevd_;
template <>
inline constexpr auto kSyevd<Complex<float>> = cheevd_;

template <class T>
inline constexpr auto kGeev = dgeev_;
template <>
inline constexpr auto kGeev<float> = sgeev_;
template <>
inline constexpr auto kGeev<Complex<double>> = zgeev_;
template <>
inline constexpr auto kGeev<Complex<float>> = cgeev_;

}  // namespace lapack

template <class T>
T conjugate(T z) {
  if constexpr (kIsComplex<T>) {
    return {z.re, -z.im};
  } else {
    return z;
  }
}
template <class T>
PartOf<T> size_of(T z) {
  if constexpr (kIsComplex<T>) {
    return std::hypot(z.re, z.im);
  } else {
    return std::abs(z);
  }
}

/// Multiplies a vector by a number of absolute value 1 so that its largest component is real and positive; among
/// components equal up to sqrt(eps), the first decides. Returns the number.
template <class T>
T turn_upright(T* vector, Index size) {
  using Part = PartOf<T>;
  Part largest = 0;
  for (Index i = 0; i < size; ++i) largest = std::max(largest, size_of(vector[i]));
  const Part threshold = largest * (1 - std::sqrt(std::numeric_limits<Part>::epsilon()));
  Index chosen = 0;
  while (chosen < size && !(size_of(vector[chosen]) >= threshold)) ++chosen;
  if (chosen == size || largest == 0) return T(1);
  const Part length = size_of(vector[chosen]);
  const T factor = conjugate(vector[chosen]) / length;
  for (Index i = 0; i < size; ++i) vector[i] *= factor;
  vector[chosen] = T(length);
  return factor;
}

/// The column turned upright is that of U.
template <class T>
Kernel svd(SourceLine place) {
  using Part = PartOf<T>;
  return [place](const TaskArgs& t) {
    Columns<T> a = read<T>(t.inputs[0], place);
    require_finite(a, place, "svd");
    const Index k = std::min(a.rows, a.columns);
    const Operand& out = t.outputs[0];
    fill<T>(out, 0);
    if (k == 0) return;
    Columns<T> u(a.rows, k);
    Columns<T> vt(k, a.columns);
    std::vector<Part> s(at(k));
    std::vector<lapack_int> integers(at(8 * k));
    const auto least = static_cast<double>(k);
    const auto most = static_cast<double>(std::max(a.rows, a.columns));
    std::vector<Part> reals(kIsComplex<T> ? at(5 * k * (k + 1) + 2 * k * (std::max(a.rows, a.columns) + k + 1)) : 0);
    const auto call = [&](T* work, lapack_int size, lapack_int*, lapack_int) {
      const lapack_int m = a.m(), n = a.n(), lda = a.lead(), ldu = u.lead(), ldvt = vt.lead();
      lapack_int info = 0;
      if constexpr (kIsComplex<T>) {
        lapack::kGesdd<T>("S", &m, &n, a.data(), &lda, s.data(), u.data(), &ldu, vt.data(), &ldvt, work, &size,
                          reals.data(), integers.data(), &info, 1);
      } else {
        lapack::kGesdd<T>("S", &m, &n, a.data(), &lda, s.data(), u.data(), &ldu, vt.data(), &ldvt, work, &size,
                          integers.data(), &info, 1);
      }
      return info;
    };
    require_workspace(7 * least * (least + 1) + 64 * static_cast<double>(a.rows + a.columns), place, "svd");
    if constexpr (kIsComplex<T>)
      require_workspace(5 * least * (least + 1) + 2 * least * (most + least + 1), place, "svd");
    if (with_workspace<T>("gesdd's workspace query", call) > 0) stop(place, "svd", "no convergence");
    for (Index j = 0; j < k; ++j) {
      const T back = conjugate(turn_upright(&u(0, j), a.rows));
      for (Index i = 0; i < a.columns; ++i) vt(j, i) *= back;
    }
    write(out, 0, 0, u);
    write<T>(out, a.rows, 0, 1, k, [&](Index, Index j) { return T(s[at(j)]); });
    write(out, a.rows + 1, 0, vt);
  };
}

/// Eigenvalues and eigenvectors of operand 0's lower triangle.
template <class T>
Kernel eigh(SourceLine place) {
  using Part = PartOf<T>;
  return [place](const TaskArgs& t) {
    Columns<T> a = read<T>(t.inputs[0], place);
    // Elements above the diagonal and imaginary parts on it are ignored.
    for (Index j = 0; j < a.columns; ++j) {
      std::fill(&a(0, j), &a(0, j) + j, T(0));
      if constexpr (kIsComplex<T>) a(j, j).im = 0;
    }
    require_finite(a, place, "eigh");
    const auto n = static_cast<double>(a.rows);
    require_workspace(1 + 6 * n + 2 * n * n, place, "eigh");
    std::vector<Part> w(at(std::max<Index>(1, a.rows)));
    std::vector<Part> reals(kIsComplex<T> ? at(1 + 5 * a.rows + 2 * a.rows * a.rows) : 0);
    const auto call = [&](T* work, lapack_int size, lapack_int* integers, lapack_int count) {
      const lapack_int order = a.n(), lda = a.lead();
      lapack_int info = 0;
      if constexpr (kIsComplex<T>) {
        const lapack_int real_count = size < 0 ? -1 : static_cast<lapack_int>(reals.size());
        lapack::kSyevd<T>("V", "L", &order, a.data(), &lda, w.data(), work, &size, reals.data(), &real_count, integers,
                          &count, &info, 1, 1);
      } else {
        lapack::kSyevd<T>("V", "L", &order, a.data(), &lda, w.data(), work, &size, integers, &count, &info, 1, 1);
      }
      return info;
    };
    if (with_workspace<T>("syevd's workspace query", call) > 0) stop(place, "eigh", "no convergence");
    for (Index j = 0; j < a.columns; ++j) static_cast<void>(turn_upright(&a(0, j), a.rows));
    write<T>(t.outputs[0], 0, 0, 1, a.columns, [&](Index, Index j) { return T(w[at(j)]); });
    write(t.outputs[0], 1, 0, a);
  };
}

/// The order of eigenvalues: by real part, and by imaginary part among those whose real parts follow each other at
/// less than sqrt(eps) of the largest absolute value.
template <class T>
std::vector<Index> order_of_spectrum(const std::vector<Complex<T>>& w) {
  std::vector<Index> order(w.size());
  std::iota(order.begin(), order.end(), Index{0});
  std::ranges::stable_sort(order, {}, [&](Index k) { return w[at(k)].re; });
  T largest = 0;
  for (const Complex<T>& z : w) largest = std::max(largest, size_of(z));
  const T close = std::sqrt(std::numeric_limits<T>::epsilon()) * largest;
  for (auto first = order.begin(); first != order.end();) {
    auto last = first;
    for (++last; last != order.end(); ++last) {
      const T apart = w[at(*last)].re - w[at(last[-1])].re;
      if (!(apart < close || apart == 0)) break;
    }
    std::stable_sort(first, last, [&](Index a, Index b) { return w[at(a)].im < w[at(b)].im; });
    first = last;
  }
  return order;
}

/// Eigenvalues and right eigenvectors of a matrix without imaginary parts.
template <class T>
lapack_int spectrum_of_reals(const Columns<Complex<T>>& a, std::vector<Complex<T>>& w, Columns<Complex<T>>& v) {
  Columns<T> reals(a.rows, a.columns), vectors(a.rows, a.columns);
  for (std::size_t k = 0; k < a.elements.size(); ++k) reals.elements[k] = a.elements[k].re;
  std::vector<T> re(w.size()), im(w.size());
  const auto call = [&](T* work, lapack_int size, lapack_int*, lapack_int) {
    const lapack_int n = reals.n(), lda = reals.lead(), one = 1;
    lapack_int info = 0;
    T none = 0;
    lapack::kGeev<T>("N", "V", &n, reals.data(), &lda, re.data(), im.data(), &none, &one, vectors.data(), &lda, work,
                     &size, &info, 1, 1);
    return info;
  };
  const lapack_int info = with_workspace<T>("geev's workspace query", call);
  for (Index j = 0; j < a.columns; ++j) {
    w[at(j)] = {re[at(j)], im[at(j)]};
    // The parts of a conjugate pair's vectors are two columns.
    const Index first = im[at(j)] < 0 ? j - 1 : j;
    const T sign = im[at(j)] == 0 ? T(0) : im[at(j)] < 0 ? T(-1) : T(1);
    for (Index i = 0; i < a.rows; ++i) v(i, j) = {vectors(i, first), sign == 0 ? T(0) : sign * vectors(i, first + 1)};
  }
  return info;
}

template <class T>
lapack_int spectrum_of(Columns<Complex<T>>& a, std::vector<Complex<T>>& w, Columns<Complex<T>>& v) {
  std::vector<T> reals(at(std::max<Index>(1, 2 * a.rows)));
  const auto call = [&](Complex<T>* work, lapack_int size, lapack_int*, lapack_int) {
    const lapack_int n = a.n(), lda = a.lead(), one = 1;
    lapack_int info = 0;
    Complex<T> none(0);
    lapack::kGeev<Complex<T>>("N", "V", &n, a.data(), &lda, w.data(), &none, &one, v.data(), &lda, work, &size,
                              reals.data(), &info, 1, 1);
    return info;
  };
  return with_workspace<Complex<T>>("geev's workspace query", call);
}

/// Eigenvalues in the order above, unit eigenvectors; a matrix without imaginary parts has exact conjugate pairs.
template <class T>
requires kIsComplex<T> Kernel eig(SourceLine place) {
  return [place](const TaskArgs& t) {
    Columns<T> a = read<T>(t.inputs[0], place);
    require_finite(a, place, "eig");
    std::vector<T> w(at(std::max<Index>(1, a.rows)));
    Columns<T> v(a.rows, a.columns);
    const bool real = std::ranges::all_of(a.elements, [](T z) { return z.im == 0; });
    const lapack_int info = real ? spectrum_of_reals(a, w, v) : spectrum_of(a, w, v);
    if (info > 0) stop(place, "eig", "no convergence");
    w.resize(at(a.rows));
    const std::vector<Index> order = order_of_spectrum(w);
    for (Index j = 0; j < a.columns; ++j) static_cast<void>(turn_upright(&v(0, j), a.rows));
    write<T>(t.outputs[0], 0, 0, 1, a.columns, [&](Index, Index j) { return w[at(order[at(j)])]; });
    write<T>(t.outputs[0], 1, 0, a.rows, a.columns, [&](Index i, Index j) { return v(i, order[at(j)]); });
  };
}

}  // namespace tdsl::rt::routines::kernels
