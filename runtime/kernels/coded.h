#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "runtime/kernels/combine.h"
#include "runtime/kernels/scalar_math.h"
#include "runtime/sparse/parts.h"

// Loops over the stored elements of a matrix that run once per distinct value of a column, where columns are coded:
//
//     rt::row_totals<Combine::kSum>(X, range_i, 0.0, [&](Index j, double x, double& total) { total += x * v(j); },
//                                   [&](Index i, double total) { y(i) = total; });
//     rt::each_value(X, range_i, [&](Index j, double x, Index count) { rt::add_repeated(s(), x * x, count); });
//     rt::weighted_values(X, range_i, [&](Index i) { return w(i); },
//                         [&](Index j, double x, double weight) { z(j) += x * weight; });
//
// Blocks whose columns are not coded are visited element by element. Zeros may or may not be visited.

namespace tdsl::rt {

namespace coded {

using sparse::CodedColumn;
using sparse::CodedRows;
using sparse::CodedView;
using sparse::kSegmentRows;

/// A table with an entry per code of every column.
template <class R>
struct Tables {
  std::vector<Index> first;  ///< per column
  std::vector<R> entry;

  template <class T>
  explicit Tables(const CodedView<T>& view) : first(static_cast<std::size_t>(view.columns())) {
    Index size = 0;
    for (Index c = 0; c < view.columns(); ++c) {
      first[static_cast<std::size_t>(c)] = size;
      size += view.column(c).values;
    }
    entry.resize(static_cast<std::size_t>(size));
  }
  [[nodiscard]] R* of(Index c) { return entry.data() + first[static_cast<std::size_t>(c)]; }
};

/// Columns with a code per row that are added together, so that totals are loaded and stored once.
inline constexpr int kTogether = 4;

/// totals[r] = totals[r] + tables[0][codes[0][r]] + … in this order.
template <plan::Combine kCombine, class Code, class R>
void combine_columns(const std::array<const Code*, kTogether>& codes, const std::array<const R*, kTogether>& tables,
                     Interval rows, R* __restrict totals) {
  static_assert(kTogether == 4);
  const auto [c0, c1, c2, c3] = codes;
  const auto [t0, t1, t2, t3] = tables;
  for (Index r = rows.lo; r < rows.hi; ++r) {
    R total = combined<kCombine>(totals[r], t0[c0[r]]);
    total = combined<kCombine>(total, t1[c1[r]]);
    total = combined<kCombine>(total, t2[c2[r]]);
    totals[r] = combined<kCombine>(total, t3[c3[r]]);
  }
}

/// If `kTogether` columns from `c` on have this form, combines them with the totals.
template <plan::Combine kCombine, class Code, class T, class R>
[[nodiscard]] bool take_together(const CodedView<T>& view, CodedColumn::Form form, Index segment, Index c,
                                 Interval rows, Tables<R>& tables, R* totals) {
  if (c + kTogether > view.columns()) return false;
  std::array<const Code*, kTogether> codes{};
  std::array<const R*, kTogether> entries{};
  for (int k = 0; k < kTogether; ++k) {
    if (view.column(c + k).form != form) return false;
    codes[static_cast<std::size_t>(k)] = reinterpret_cast<const Code*>(view.codes(segment, c + k));
    entries[static_cast<std::size_t>(k)] = tables.of(c + k);
  }
  combine_columns<kCombine>(codes, entries, rows, totals);
  return true;
}

template <plan::Combine kCombine, class T, class R, class Value, class Put>
void row_totals(const CodedRows<T>& x, R identity, const Value& value, const Put& put) {
  using Form = CodedColumn::Form;
  Tables<R> tables(x.view);
  for (Index c = 0; c < x.view.columns(); ++c) {
    const T* const values = x.view.dictionary(c);
    for (Index k = 0; k < static_cast<Index>(x.view.column(c).values); ++k) {
      R& entry = tables.of(c)[k] = identity;
      if (values[k] != T(0)) value(x.column + c, values[k], entry);
    }
  }
  std::vector<R> memory(static_cast<std::size_t>(kSegmentRows));
  R* const totals = memory.data();
  CodedView<T>::each_segment(x.rows, [&](Index segment, Interval rows) {
    for (Index r = rows.lo; r < rows.hi; ++r) totals[r] = identity;
    for (Index c = 0; c < x.view.columns();) {
      if (take_together<kCombine, std::uint8_t>(x.view, Form::kBytes, segment, c, rows, tables, totals) ||
          take_together<kCombine, std::uint16_t>(x.view, Form::kWords, segment, c, rows, tables, totals)) {
        c += kTogether;
        continue;
      }
      const R* const entries = tables.of(c);
      x.view.each_code(segment, c++, rows,
                       [&](Index r, Index code) { totals[r] = combined<kCombine>(totals[r], entries[code]); });
    }
    const Index first = x.row + segment * kSegmentRows;
    for (Index r = rows.lo; r < rows.hi; ++r) put(first + r, totals[r]);
  });
}

/// Counts of a part of the block's rows are found from their codes.
template <class T, class F>
void each_value(const CodedRows<T>& x, const F& f) {
  const bool whole = x.rows.lo == 0 && x.rows.hi == x.view.rows();
  std::vector<Index> found;
  for (Index c = 0; c < x.view.columns(); ++c) {
    const auto size = static_cast<Index>(x.view.column(c).values);
    const T* const values = x.view.dictionary(c);
    const Index* counts = x.view.counts(c);
    if (!whole) {
      found.assign(static_cast<std::size_t>(size), 0);
      CodedView<T>::each_segment(x.rows, [&](Index segment, Interval rows) {
        x.view.each_code(segment, c, rows, [&](Index, Index code) { ++found[static_cast<std::size_t>(code)]; });
      });
      counts = found.data();
    }
    for (Index k = 0; k < size; ++k) {
      if (counts[k] > 0 && values[k] != T(0)) f(x.column + c, values[k], counts[k]);
    }
  }
}

/// Sums of weights per code. Columns of bytes have several sums per code, because consecutive rows often have one code
/// and each addition would wait for the previous one.
template <class T>
class WeightSums {
 public:
  explicit WeightSums(const CodedView<T>& view) : view_(view), first_(static_cast<std::size_t>(view.columns())) {
    Index size = 0;
    for (Index c = 0; c < view.columns(); ++c) {
      first_[static_cast<std::size_t>(c)] = size;
      size += view.column(c).values * lanes(c);
    }
    sums_.resize(static_cast<std::size_t>(size));
  }
  void add(Index segment, Index c, Interval rows, const T* weights) {
    T* const sums = sums_.data() + first_[static_cast<std::size_t>(c)];
    if (lanes(c) == 1) {
      view_.each_code(segment, c, rows, [&](Index r, Index code) { sums[code] += weights[r]; });
    } else {
      const auto* const codes = reinterpret_cast<const std::uint8_t*>(view_.codes(segment, c));
      Index r = rows.lo;
      for (; r + kLanes <= rows.hi; r += kLanes) {
        for (Index k = 0; k < kLanes; ++k) sums[codes[r + k] * kLanes + k] += weights[r + k];
      }
      for (; r < rows.hi; ++r) sums[codes[r] * kLanes] += weights[r];
    }
  }
  [[nodiscard]] T sum(Index c, Index code) const {
    const T* const sums = sums_.data() + first_[static_cast<std::size_t>(c)] + code * lanes(c);
    T sum = sums[0];
    for (Index k = 1; k < lanes(c); ++k) sum += sums[k];
    return sum;
  }

 private:
  static constexpr Index kLanes = 4;
  [[nodiscard]] Index lanes(Index c) const { return view_.column(c).form == CodedColumn::Form::kBytes ? kLanes : 1; }

  const CodedView<T>& view_;
  std::vector<Index> first_;  ///< per column
  std::vector<T> sums_;
};

/// A sum of weights that is inf or nan is replaced by its addends: the value's products with them may be finite.
template <class T, class Weight, class F>
void weighted_values(const CodedRows<T>& x, const Weight& weight, const F& f) {
  WeightSums<T> sums(x.view);
  std::vector<T> weights(static_cast<std::size_t>(kSegmentRows));
  const auto weigh = [&](Index segment, Interval rows) {
    const Index first = x.row + segment * kSegmentRows;
    for (Index r = rows.lo; r < rows.hi; ++r) weights[static_cast<std::size_t>(r)] = weight(first + r);
  };
  CodedView<T>::each_segment(x.rows, [&](Index segment, Interval rows) {
    weigh(segment, rows);
    for (Index c = 0; c < x.view.columns(); ++c) sums.add(segment, c, rows, weights.data());
  });
  for (Index c = 0; c < x.view.columns(); ++c) {
    const T* const values = x.view.dictionary(c);
    const auto size = static_cast<Index>(x.view.column(c).values);
    bool finite = true;
    for (Index k = 0; k < size; ++k) finite = finite && (values[k] == T(0) || std::isfinite(sums.sum(c, k)));
    for (Index k = 0; finite && k < size; ++k) {
      if (values[k] != T(0)) f(x.column + c, values[k], sums.sum(c, k));
    }
    if (finite) continue;
    CodedView<T>::each_segment(x.rows, [&](Index segment, Interval rows) {
      weigh(segment, rows);
      x.view.each_code(segment, c, rows, [&](Index r, Index code) {
        if (values[code] != T(0)) f(x.column + c, values[code], weights[static_cast<std::size_t>(r)]);
      });
    });
  }
}

}  // namespace coded

/// target + value + … + value, `count` times.
template <class R>
void add_repeated(R& target, std::type_identity_t<R> value, Index count) {
  target = scalar::add(target, scalar::multiply(value, static_cast<R>(count)));
}

/// Reduces every row: `value(j, x, total)` combines the value of an element with a total, which begins as the identity,
/// and `put(i, total)` takes the total of a row. Rows without elements may be left out.
template <plan::Combine kCombine, class T, class R, class Value, class Put>
void row_totals(const sparse::Parts<T, 2>& x, Interval rows, R identity, const Value& value, const Put& put) {
  x.rows_or_codes(
      rows,
      [&](const sparse::Row<T>& row) {
        R total = identity;
        row.each([&](Index j, T element) { value(j, element, total); });
        put(row.index(), total);
      },
      [&](const sparse::CodedRows<T>& codes) { coded::row_totals<kCombine>(codes, identity, value, put); });
}

/// Calls `f(j, x, count)` for the elements of every column j: `count` elements are x. A value may come several times.
template <class T, class F>
void each_value(const sparse::Parts<T, 2>& x, Interval rows, const F& f) {
  x.rows_or_codes(
      rows, [&](const sparse::Row<T>& row) { row.each([&](Index j, T element) { f(j, element, 1); }); },
      [&](const sparse::CodedRows<T>& codes) { coded::each_value(codes, f); });
}

/// Calls `f(j, x, weight)` for the elements of every column j: `weight` is the sum of `weight(i)` over some of the rows
/// with element x.
template <class T, class Weight, class F>
void weighted_values(const sparse::Parts<T, 2>& x, Interval rows, const Weight& weight, const F& f) {
  x.rows_or_codes(
      rows,
      [&](const sparse::Row<T>& row) {
        const T of_row = weight(row.index());
        row.each([&](Index j, T element) { f(j, element, of_row); });
      },
      [&](const sparse::CodedRows<T>& codes) { coded::weighted_values(codes, weight, f); });
}

}  // namespace tdsl::rt
