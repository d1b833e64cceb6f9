#pragma once

#include <array>
#include <limits>
#include <tuple>

#include "runtime/kernels/blocked/blocked_reduction.h"
#include "runtime/kernels/scalar_math.h"
#include "runtime/kernels/task.h"

// Elementwise kernels of routines on matrices: copying of submatrices, and unpacking of results. Arguments are in the
// order of KernelCall::numbers; T is float, double or, in those of lu, Complex of these. Row numbers are i64.

namespace tdsl::rt::routines::kernels {

/// A row number that is stored as an element.
template <class T>
Index row_number(T stored) {
  if constexpr (kIsComplex<T>) {
    return static_cast<Index>(stored.re);
  } else {
    return static_cast<Index>(stored);
  }
}

/// Calls f(i, j) for every point of the task's first two labels; calls are independent.
template <class F>
void for_each_point(const TaskArgs& t, const F& f) {
  const Interval columns = t.labels[1];
  for (Index i = t.lo(0); i < t.hi(0); ++i) {
#pragma omp simd
    for (Index j = columns.lo; j < columns.hi; ++j) f(i, j);
  }
}

template <class F>
void for_each_row(const TaskArgs& t, const F& f) {
  const Interval rows = t.labels[0];
#pragma omp simd
  for (Index i = rows.lo; i < rows.hi; ++i) f(i);
}

/// out(i, j) = f(in, i, j), where `in` has R dimensions
template <class T, int R, class F>
Kernel each_element(const F& f) {
  return [f](const TaskArgs& t) {
    for_each_point(t, [f, out = t.out<T, 2>(), in = t.in<T, R>(0)](Index i, Index j) { out(i, j) = f(in, i, j); });
  };
}

/// out(i + row, j + column) = in(i + from_row, j + from_column)
template <class T>
Kernel move(Index row, Index column, Index from_row, Index from_column) {
  return [=](const TaskArgs& t) {
    for_each_point(t, [=, out = t.out<T, 2>(), in = t.in<T, 2>(0)](Index i, Index j) {
      out(row + i, column + j) = in(from_row + i, from_column + j);
    });
  };
}

/// out(i, j) = -in(i, j)
template <class T>
Kernel negate() {
  return each_element<T, 2>([](const auto& in, Index i, Index j) { return -in(i, j); });
}

template <class T>
Kernel zeros() {
  return [](const TaskArgs& t) { for_each_point(t, [out = t.out<T, 2>()](Index i, Index j) { out(i, j) = 0; }); };
}

/// Zeroes the elements above the diagonal, in place.
template <class T>
Kernel zeros_above() {
  return [](const TaskArgs& t) {
    const auto out = t.out<T, 2>();
    for (Index i = t.lo(0); i < t.hi(0); ++i) {
      for (Index j = std::max(t.lo(1), i + 1); j < t.hi(1); ++j) out(i, j) = 0;
    }
  };
}

/// The factors of packed L and U.
template <class T>
Kernel unit_lower() {
  return each_element<T, 2>([](const auto& in, Index i, Index j) { return i == j ? T{1} : j < i ? in(i, j) : T{0}; });
}

template <class T>
Kernel upper() {
  return each_element<T, 2>([](const auto& in, Index i, Index j) { return i <= j ? in(i, j) : T{0}; });
}

/// Concatenation: operand 1 (a vector or a matrix) to the right of the n columns of operand 0.
template <class T>
Kernel beside(Index n) {
  return [n](const TaskArgs& t) {
    const auto out = t.out<T, 2>();
    const auto left = t.in<T, 2>(0);
    const bool vector = t.inputs[1].box.rank == 1;
    for (Index i = t.lo(0); i < t.hi(0); ++i) {
      for (Index j = t.lo(1); j < std::min(n, t.hi(1)); ++j) out(i, j) = left(i, j);
      for (Index j = std::max(n, t.lo(1)); j < t.hi(1); ++j)
        out(i, j) = vector ? t.in<T, 1>(1)(i) : t.in<T, 2>(1)(i, j - n);
    }
  };
}

/// A vector: the first column, or a row.
template <class T>
Kernel first_column() {
  return [](const TaskArgs& t) {
    for_each_row(t, [out = t.out<T, 1>(), in = t.in<T, 2>(0)](Index i) { out(i) = in(i, 0); });
  };
}

template <class T>
Kernel row(Index row) {
  return [row](const TaskArgs& t) {
    for_each_row(t, [row, out = t.out<T, 1>(), in = t.in<T, 2>(0)](Index j) { out(j) = in(row, j); });
  };
}

/// For a panel of lu_panel: the negative factors left of the diagonal, 0 elsewhere. Operand 0 is the column of
/// positions, operand 1 the factors.
template <class T>
Kernel negative_factors(Index width, Index lo) {
  return [width, lo](const TaskArgs& t) {
    const auto places = t.in<T, 2>(0);
    const auto factors = t.in<T, 2>(1);
    const auto out = t.out<T, 2>();
    for (Index i = t.lo(0); i < t.hi(0); ++i) {
      const Index diagonal = row_number(places(i, width + 1)) - lo;
      for (Index j = t.lo(1); j < t.hi(1); ++j) out(i, j) = j < diagonal ? -factors(i, j) : T{0};
    }
  };
}

/// out(i, j) = operand 1(operand 0(first + i), column + j), for the rows in the task's panel; partial results are
/// combined by max, those of complex numbers, which have no order, by sum.
template <class T>
Kernel pick_rows(Index first, Index column) {
  return [first, column](const TaskArgs& t) {
    const auto rows = t.in<std::int64_t, 1>(0);
    const auto from = t.in<T, 2>(1);
    const auto out = t.out<T, 2>();
    if (t.fresh) fill<T>(t.outputs[0], kIsComplex<T> ? T{0} : T{-std::numeric_limits<PartOf<T>>::infinity()});
    if (t.labels[1].empty() || t.labels[2].empty()) return;  // no elements were fetched
    for (Index i = t.lo(0); i < t.hi(0); ++i) {
      const Index r = rows(first + i);
      if (r < t.lo(2) || r >= t.hi(2)) continue;
      for (Index j = t.lo(1); j < t.hi(1); ++j) out(i, j) = from(r, column + j);
    }
  };
}

/// The last matrix of a stack: number `last` along the operand's first dimension.
template <class T>
Kernel last(Index last) {
  return each_element<T, 3>([last](const auto& in, Index i, Index j) { return in(last, i, j); });
}

template <class T>
Kernel last_transposed(Index last) {
  return each_element<T, 3>([last](const auto& in, Index i, Index j) { return in(last, j, i); });
}

/// Squared Frobenius distance from the identity.
template <class T>
Kernel distance_from_unit(Index last) {
  return [last](const TaskArgs& t) {
    const auto in = t.in<T, 3>(0);
    T total = t.fresh ? T{0} : t.out<T, 0>()();
    for (Index i = t.lo(0); i < t.hi(0); ++i) {
      for (Index j = t.lo(1); j < t.hi(1); ++j) {
        const T off = in(last, i, j) - (i == j ? T{1} : T{0});
        total += off * off;
      }
    }
    t.out<T, 0>()() = total;
  };
}

/// Product of the last matrices of two stacks.
template <class T>
Kernel product_of_last(Index last) {
  return [last](const TaskArgs& t) {
    const auto left = t.in<T, 3>(0);
    const auto right = t.in<T, 3>(1);
    const auto out = t.out<T, 2>();
    if (t.fresh) fill<T>(t.outputs[0], T{0});
    const auto x_values = [&](Index i, Index l) { return std::tuple(left(last, i, l)); };
    const auto y_values = [&](Index j, Index l) { return std::tuple(right(last, l, j)); };
    const auto combine = [](T total, T x, T y) {
      total += x * y;
      return total;
    };
    const auto element = [&](Index i, Index j) -> T& { return out(i, j); };
    blocked_reduction<T>(t.labels[0], t.labels[1], std::array{t.labels[2]}, x_values, y_values, combine, element);
  };
}

inline Kernel count() {
  return [](const TaskArgs& t) { for_each_row(t, [out = t.out<std::int64_t, 1>()](Index i) { out(i) = i; }); };
}

inline Kernel copy_rows() {
  return [](const TaskArgs& t) {
    for_each_row(t, [out = t.out<std::int64_t, 1>(), in = t.in<std::int64_t, 1>(0)](Index i) { out(i) = in(i); });
  };
}

/// Row numbers stored in a column of a matrix of T.
template <class T>
Kernel row_numbers(Index column) {
  return [column](const TaskArgs& t) {
    for_each_row(t, [column, out = t.out<std::int64_t, 1>(), in = t.in<T, 2>(0)](Index i) {
      out(i) = row_number(in(i, column));
    });
  };
}

}  // namespace tdsl::rt::routines::kernels
