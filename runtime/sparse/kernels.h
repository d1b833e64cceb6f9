#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/sparse/accumulator.h"
#include "runtime/sparse/output.h"
#include "runtime/sparse/parts.h"

// Loops over sparse operands with arbitrary scalar functions: `multiply` forms terms, `add` combines them. Elements not
// stored, and stored zeros, contribute nothing. Terms are combined by ascending subscripts unless noted otherwise.

namespace tdsl::rt::sparse {

namespace detail {

/// `value(k)`: value of element k; kTest: it may be 0.
template <bool kTest, class T, class X, class Y, class Value, class Add, class Multiply>
Y gather_listed(const Segment<T>& row, const X* x, Y total, const Value& value, const Add& add,
                const Multiply& multiply) {
  const std::uint32_t* const list = row.coordinate;
  const X* const from = x + row.corner;
  const auto step = [&](Index k) {
    const T v = value(k);
    if (kTest && v == T(0)) return;
    total = add(total, multiply(v, from[list[k]]));
  };
  const Index ahead = std::min(row.size, row.size + row.behind - kPrefetchAhead);
  Index k = 0;
  for (; k < ahead; ++k) {
    __builtin_prefetch(from + list[k + kPrefetchAhead]);
    step(k);
  }
  for (; k < row.size; ++k) step(k);
  return total;
}

}  // namespace detail

/// Combines `total` with the products of a segment and the elements of `x` at its columns; x[j] is element j of the
/// tensor.
template <class T, class X, class Y, class Add, class Multiply>
[[nodiscard]] Y gather_segment(const Segment<T>& row, const X* x, Y total, const Add& add, const Multiply& multiply) {
  if (row.coordinate != nullptr) {
    const T* const values = row.values;
    const auto stored = [values](Index k) { return values[k]; };
    const auto one = [](Index) { return T(1); };
    if (values == nullptr) return detail::gather_listed<false>(row, x, total, one, add, multiply);
    if (row.no_zeros) return detail::gather_listed<false>(row, x, total, stored, add, multiply);
    return detail::gather_listed<true>(row, x, total, stored, add, multiply);
  }
  for (Index k = 0; k < row.size; ++k) {
    const T value = row.value(k);
    if (value != T(0)) total = add(total, multiply(value, x[row.corner + k]));
  }
  return total;
}

/// y[i] = add over stored (i, j) of multiply(A[i, j], x[j]) for stored rows in the interval, starting from `identity`;
/// rows not visited keep their values.
template <class T, class X, class Y, class Add, class Multiply>
void multiply_vector(const Parts<T, 2>& a, Interval rows, const X* x, Y* y, Y identity, const Add& add,
                     const Multiply& multiply) {
  a.rows(rows, [&](const Row<T>& row) {
    Y total = identity;
    for (const Segment<T>& segment : row.segments()) total = gather_segment(segment, x, total, add, multiply);
    y[row.index()] = total;
  });
}

/// y[j] = add(y[j], multiply(A[i, j], x[i])) for stored (i, j): the product with the transpose, by scattering.
template <class T, class X, class Y, class Add, class Multiply>
void multiply_transposed_vector(const Parts<T, 2>& a, Interval rows, const X* x, Y* y, const Add& add,
                                const Multiply& multiply) {
  a.rows(rows, [&](const Row<T>& row) {
    const X factor = x[row.index()];
    for (const Segment<T>& segment : row.segments()) {
      for (Index k = 0; k < segment.size; ++k) {
        const T value = segment.value(k);
        if (!segment.no_zeros && value == T(0)) continue;
        Y& to = y[segment.index(k)];
        to = add(to, multiply(value, factor));
      }
    }
  });
}

/// A dense matrix with global subscripts: element (i, j) is data[i * stride + j].
template <class T>
struct DenseRows {
  T* data = nullptr;
  Index stride = 0;
  [[nodiscard]] T* row(Index i) const { return data + i * stride; }
};

/// Y[i, f] = add(Y[i, f], multiply(A[i, j], X[j, f])) for stored (i, j) and columns [lo, hi) of X.
template <class T, class X, class Y, class Add, class Multiply>
void multiply_matrix(const Parts<T, 2>& a, Interval rows, DenseRows<const X> x, DenseRows<Y> y, Interval columns,
                     const Add& add, const Multiply& multiply) {
  a.rows(rows, [&](const Row<T>& row) {
    Y* const to = y.row(row.index());
    for (const Segment<T>& segment : row.segments()) {
      for (Index k = 0; k < segment.size; ++k) {
        const T value = segment.value(k);
        if (!segment.no_zeros && value == T(0)) continue;
        const X* const from = x.row(segment.index(k));
        for (Index f = columns.lo; f < columns.hi; ++f) to[f] = add(to[f], multiply(value, from[f]));
      }
    }
  });
}

/// Y[j, f] = add(Y[j, f], multiply(A[i, j], X[i, f])): the product with the transpose.
template <class T, class X, class Y, class Add, class Multiply>
void multiply_transposed_matrix(const Parts<T, 2>& a, Interval rows, DenseRows<const X> x, DenseRows<Y> y,
                                Interval columns, const Add& add, const Multiply& multiply) {
  a.rows(rows, [&](const Row<T>& row) {
    const X* const from = x.row(row.index());
    for (const Segment<T>& segment : row.segments()) {
      for (Index k = 0; k < segment.size; ++k) {
        const T value = segment.value(k);
        if (!segment.no_zeros && value == T(0)) continue;
        Y* const to = y.row(segment.index(k));
        for (Index f = columns.lo; f < columns.hi; ++f) to[f] = add(to[f], multiply(value, from[f]));
      }
    }
  });
}

/// Calls `f(i, j, value, number)` for every stored element, including zeros; `number` is its index in a CSR block,
/// where a result with the same pattern stores its value (sampled products, maps).
template <class T, class F>
void each_stored(const Parts<T, 2>& a, Interval rows, F&& f) {
  Index number = 0;
  a.rows(rows, [&](const Row<T>& row) {
    for (const Segment<T>& segment : row.segments()) {
      for (Index k = 0; k < segment.size; ++k) f(row.index(), segment.index(k), segment.value(k), number++);
    }
  });
}

/// Dot product of rows of two dense matrices, for sampled products: sum over f of u[f] * v[f].
template <class T>
[[nodiscard]] T dot(const T* u, const T* v, Index count) {
  constexpr Index kLanes = 8;
  T lanes[kLanes] = {};
  Index f = 0;
  for (; f + kLanes <= count; f += kLanes) {
    for (Index l = 0; l < kLanes; ++l) lanes[l] += u[f + l] * v[f + l];
  }
  for (Index l = 0; f < count; ++f, ++l) lanes[l] += u[f] * v[f];
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

/// Products of sparse matrices, row by row: C[i, j] = add over k of multiply(A[i, k], B[k, j]).
template <class TA, class TB, class TC>
class SparseProduct {
 public:
  /// `columns` is the range of C's columns; B's must be within it.
  SparseProduct(const Parts<TB, 2>& b, Interval columns) : b_(b), columns_(columns) {}

  /// Appends the stored rows of C in the interval to `out`.
  template <class Add, class Multiply>
  void rows(const Parts<TA, 2>& a, Interval interval, Output<TC>& out, const Add& add, const Multiply& multiply) {
    a.rows(interval, [&](const Row<TA>& row) {
      collect(row);
      if (products_ == 0) return;
      out.row(row.index());
      const auto put = [&](Index c, TC value) { out.put(columns_.lo + c, value); };
      if (prefers_bitmap(columns_.size(), products_)) {
        bitmap_.begin(columns_.size());
        accumulate(bitmap_, add, multiply);
        bitmap_.flush(put);
      } else {
        hash_.begin(products_);
        accumulate(hash_, add, multiply);
        hash_.flush(put);
      }
    });
  }

 private:
  struct Term {
    TA factor;
    Segment<TB> row;
  };
  /// Collects the rows of B selected by a row of A.
  void collect(const Row<TA>& row) {
    terms_.clear();
    products_ = 0;
    for (const Segment<TA>& segment : row.segments()) {
      for (Index k = 0; k < segment.size; ++k) {
        const TA value = segment.value(k);
        if (!segment.no_zeros && value == TA(0)) continue;
        for (const Segment<TB>& other : b_.row(segment.index(k), segments_).segments()) {
          terms_.push_back({value, other});
          products_ += other.size;
        }
      }
    }
  }
  template <class Accumulator, class Add, class Multiply>
  void accumulate(Accumulator& to, const Add& add, const Multiply& multiply) {
    for (const Term& term : terms_) {
      const Index shift = term.row.corner - columns_.lo;
      for (Index k = 0; k < term.row.size; ++k) {
        const TB value = term.row.value(k);
        if (!term.row.no_zeros && value == TB(0)) continue;
        to.add(term.row.coordinate == nullptr ? shift + k : shift + static_cast<Index>(term.row.coordinate[k]),
               multiply(term.factor, value), add);
      }
    }
  }

  const Parts<TB, 2>& b_;
  Interval columns_;
  Index products_ = 0;
  std::vector<Term> terms_;
  std::vector<Segment<TB>> segments_;
  BitmapAccumulator<TC> bitmap_;
  HashAccumulator<TC> hash_;
};

}  // namespace tdsl::rt::sparse
