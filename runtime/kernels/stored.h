#pragma once

#include <algorithm>
#include <optional>
#include <type_traits>
#include <vector>

#include "runtime/kernels/product/row_panels.h"
#include "runtime/kernels/task.h"
#include "runtime/sparse/accumulator.h"
#include "runtime/sparse/coded_visits.h"
#include "runtime/sparse/joint.h"
#include "runtime/sparse/joint_levels.h"
#include "runtime/sparse/output.h"
#include "runtime/sparse/parts.h"
#include "runtime/sparse/row_finder.h"

// Building blocks of kernels over stored elements:
//
//     const auto A = rt::stored_in<double, 2>(t, 0);
//     A.rows(range_i, [&](const auto& row) {
//       double total = 0.0;
//       row.each([&](Index j, double a) { total += a * x(j); });
//       y(row.index()) = total;
//     });
//
// Empty rows and zero elements may or may not be visited.

namespace tdsl::rt {

/// The nonempty blocks of operand number `k`.
[[nodiscard]] std::vector<sparse::Part> stored_parts(const TaskArgs& t, int k);

/// Operand number `k`, in blocks of stored elements.
template <class T, int R>
[[nodiscard]] sparse::Parts<T, R> stored_in(const TaskArgs& t, int k) {
  return sparse::Parts<T, R>(stored_parts(t, k));
}

/// Rows of an operand in any order: `B_rows(k).each([&](Index j, double b) { … })`.
template <class T>
using StoredRows = sparse::RowFinder<T>;
/// One row of an operand for lookups at many columns: `A_row.mark(i); … A_row(k)`.
using sparse::MarkedRow;

using sparse::along;
using sparse::both;
using sparse::either;

/// Prefetches the cache line of the element.
template <class T>
void fetch_ahead(const T& element) {
  __builtin_prefetch(&element);
}

/// Bytes of a row to prefetch: the hardware prefetcher loads the rest while it is read.
inline constexpr Index kRowBytesAhead = 1024;

/// The same for contiguous elements, or the first of many.
template <class T>
void fetch_ahead(const T* first, Index count) {
  constexpr Index kLine = 64;
  const Index bytes = std::min(count * static_cast<Index>(sizeof(T)), kRowBytesAhead);
  for (Index at = 0; at < bytes; at += kLine) __builtin_prefetch(reinterpret_cast<const char*>(first) + at);
  asm volatile("");  // a function with only prefetches would count as free of side effects, and its calls be eliminated
}

/// Data of up to this size stay in a core's cache: prefetching costs more than it saves.
inline constexpr Index kBytesInCache = Index{1} << 18;

/// Prefetch distance in iterations for elements of a vector of `size`; 0: none.
template <class T>
[[nodiscard]] constexpr Index elements_ahead(Index size) {
  return size <= kBytesInCache / static_cast<Index>(sizeof(T)) ? 0 : sparse::kPrefetchAhead;
}
/// The same for rows of `count` elements of a matrix with `rows`: as many as fit in the L1 cache besides the data in
/// use.
template <class T>
[[nodiscard]] constexpr Index rows_ahead(Index count, Index rows) {
  constexpr Index kRoom = 8192;
  if (rows <= kBytesInCache / static_cast<Index>(sizeof(T)) / std::max<Index>(count, 1)) return 0;
  return std::clamp<Index>(kRoom / std::clamp<Index>(count * static_cast<Index>(sizeof(T)), 1, kRowBytesAhead), 4, 16);
}

/// Passes the block of a tile to the sink; no block if it has no elements. Its contents determine whether its rows are
/// compressed and, if they may be, its columns coded.
template <class T>
void put_block(BlockSink& sink, const sparse::RowEntries<T>& elements,
               const std::optional<sparse::CodedVisits>& coded = std::nullopt);

/// Builds the block of an output tile from its elements in subscript order. Zeros are omitted. The thread keeps the
/// element buffer for its next tile.
template <class T>
class StoredTile {
 public:
  explicit StoredTile(const TaskArgs& t, int k = 0)
      : sink_(t.sink(k)), elements_(of_thread(static_cast<std::size_t>(k))) {
    elements_.begin(t.outputs[static_cast<std::size_t>(k)].box);
  }
  /// Sets the subscript of subsequent elements along a dimension other than the last.
  void at(std::size_t dimension, Index x) { elements_.at(dimension, x); }
  /// Sets the row of subsequent elements.
  void row(Index i) { elements_.row(i); }
  /// Appends the element at j of the last dimension.
  void put(Index j, T value) { elements_.put(j, value); }
  /// Appends elements along the last dimension, see Output::put_many.
  template <class F>
  Index put_many(Index most, const F& f) {
    return elements_.put_many(most, f);
  }
  /// Completes the block. Call once.
  void finish(const std::optional<sparse::CodedVisits>& coded = std::nullopt) {
    put_block(sink_, elements_.entries(), coded);
  }

 private:
  [[nodiscard]] static sparse::Output<T>& of_thread(std::size_t k);

  BlockSink& sink_;
  sparse::Output<T>& elements_;
};

/// Builds the block of an output tile, a matrix stored by rows. Elements of a row arrive in any order, and those of one
/// column are combined: added, or for bool by `or`. Rows arrive in ascending order.
///
///     rt::AccumulatedTile<double> C(t);
///     C.row(i, elements, [&](auto& sums) { … sums.add(j, a * b); … });
template <class T>
class AccumulatedTile {
 public:
  explicit AccumulatedTile(const TaskArgs& t, int k = 0)
      : tile_(t, k),
        columns_(t.outputs[static_cast<std::size_t>(k)].box[1]),
        of_thread_(accumulators(static_cast<std::size_t>(k))) {}

  /// `f` adds the elements of row i, about `elements` of them, to its argument.
  template <class F>
  void row(Index i, Index elements, const F& f) {
    if (elements == 0) return;
    tile_.row(i);
    if (sparse::prefers_bitmap(columns_.size(), elements)) {
      add(f);
    } else {
      of_thread_.hash.begin(elements);
      combine(of_thread_.hash, f);
    }
  }
  /// The same with an unknown number of elements: assumes that of the previous row.
  template <class F>
  void row(Index i, const F& f) {
    row(i, expected_ + 1, f);
  }
  /// Completes the block. Call once.
  void finish() { tile_.finish(); }

 private:
  struct AddedSums {
    typename sparse::AddedRow<T>::Into to;
    Index corner;
    void add(Index j, T value) const { to.add(j - corner, value); }
  };
  class HashedSums {
   public:
    HashedSums(sparse::HashAccumulator<T>& to, Index corner) : to_(to), corner_(corner) {}
    void add(Index j, T value) {
      to_.add(j - corner_, value, [](T a, T b) {
        if constexpr (std::is_same_v<T, bool>)
          return a || b;
        else
          return static_cast<T>(a + b);
      });
    }

   private:
    sparse::HashAccumulator<T>& to_;
    Index corner_;
  };
  struct Accumulators {
    sparse::AddedRow<T> added;
    sparse::HashAccumulator<T> hash;
  };

  /// The per-element path, completely inlined; the end of a row and rare cases are not.
  template <class F, class Sums>
  [[gnu::flatten]] static void visit(const F& f, Sums& sums) {
    f(sums);
  }
  template <class F>
  void add(const F& f) {
    AddedSums sums{of_thread_.added.into(columns_.size()), columns_.lo};
    visit(f, sums);
    put_added();
  }
  template <class F>
  void combine(sparse::HashAccumulator<T>& accumulator, const F& f) {
    HashedSums sums(accumulator, columns_.lo);
    visit(f, sums);
    put_hashed();
  }
  // The end of a row.
  void put_added();
  void put_hashed();
  [[nodiscard]] static Accumulators& accumulators(std::size_t k);

  StoredTile<T> tile_;
  Interval columns_;
  Accumulators& of_thread_;
  Index expected_ = 0;
};

}  // namespace tdsl::rt
