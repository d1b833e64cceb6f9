#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/plan/space/index.h"
#include "runtime/sparse/block.h"
#include "runtime/sparse/coded.h"
#include "runtime/sparse/part_list.h"

// A kernel's view of a sparse operand: the blocks and pieces that cover its task's box, in their memory layout. Cursors
// use the tensor's global subscripts.

namespace tdsl::rt::sparse {

/// Nodes [lo, hi) of level `level`, children of one node or of the root.
template <class T>
class Children;
template <class T>
struct Segment;
template <class T>
class Row;

/// A node: its subscript and its children.
template <class T>
class Node {
 public:
  Node(const BlockView<T>& view, const Index* corner, int level, Index number, Index index)
      : view_(&view), corner_(corner), level_(level), number_(number), index_(index) {}
  [[nodiscard]] Index index() const { return index_; }
  [[nodiscard]] Children<T> children() const { return Children<T>::below(*view_, corner_, level_ + 1, number_); }

  /// Calls `f(node)` for the children, ascending.
  template <class F>
  void walk(const F& f) const {
    const Children<T> below = children();
    for (Index k = below.first(); k < below.first() + below.size(); ++k)
      f(Node(*view_, corner_, level_ + 1, k, below.index_of(k)));
  }
  /// If the children are elements: a row of them.
  [[nodiscard]] Segment<T> elements() const { return Segment<T>::of(*view_, corner_, children()); }
  template <class F>
  [[gnu::always_inline]] void each(const F& f) const {
    const Segment<T> segment = elements();
    Row<T>(index_, {&segment, 1}).each(f);
  }
  template <class Ahead, class F>
  [[gnu::always_inline]] void each(const Ahead& ahead, const F& f) const {
    const Segment<T> segment = elements();
    Row<T>(index_, {&segment, 1}).each(ahead, f);
  }
  template <class Ahead, class F>
  [[gnu::always_inline]] void each(Index distance, const Ahead& ahead, const F& f) const {
    const Segment<T> segment = elements();
    Row<T>(index_, {&segment, 1}).each(distance, ahead, f);
  }

  template <class... F>
  [[gnu::always_inline]] void each_long(const F&... f) const {
    const Segment<T> segment = elements();
    Row<T>(index_, {&segment, 1}).each_long(f...);
  }

 private:
  const BlockView<T>* view_;
  const Index* corner_;
  int level_;
  Index number_;
  Index index_;
};

template <class T>
class Children {
 public:
  /// Children of node `parent` of the level above; `corner`: the tile's corner, per level.
  [[nodiscard]] static Children below(const BlockView<T>& view, const Index* corner, int level, Index parent) {
    const BlockHead& head = view.head();
    const auto l = static_cast<std::size_t>(level);
    if (head.kind[l] == Level::kCompressed)
      return {view, corner, level, view.position(level)[parent], view.position(level)[parent + 1], 0};
    const Index extent = head.count[l - 1] == 0 ? 0 : head.count[l] / head.count[l - 1];
    return {view, corner, level, parent * extent, (parent + 1) * extent, parent * extent};
  }
  /// Nodes of the outermost level with subscripts in `wanted`; the block has those in `outer`.
  [[nodiscard]] static Children roots(const BlockView<T>& view, const Index* corner, Interval outer, Interval wanted) {
    const Interval range = plan::intersect(outer, wanted);
    const Index lo = range.lo - corner[0];
    const Index hi = std::max(range.lo, range.hi) - corner[0];
    if (view.head().kind[0] == Level::kDense) {
      const Index first = outer.lo - corner[0];  // the coordinate of node 0
      return {view, corner, 0, lo - first, hi - first, -first};
    }
    const std::uint32_t* const c = view.coordinate(0);
    const std::uint32_t* const end = c + view.head().count[0];
    return {view, corner, 0, std::lower_bound(c, end, lo) - c, std::lower_bound(c, end, hi) - c, 0};
  }

  [[nodiscard]] Index size() const { return hi_ - lo_; }
  [[nodiscard]] Index first() const { return lo_; }

  /// Number of the child with this subscript, or -1.
  [[nodiscard]] Index find(Index index) const {
    const Index c = index - corner_[level_];
    const std::uint32_t* const list = view_->coordinate(level_);
    if (list == nullptr) return c + zero_ >= lo_ && c + zero_ < hi_ ? c + zero_ : -1;
    const std::uint32_t* const at = std::lower_bound(list + lo_, list + hi_, c);
    return at != list + hi_ && *at == c ? at - list : -1;
  }
  [[nodiscard]] Index index_of(Index number) const {
    const std::uint32_t* const list = view_->coordinate(level_);
    return corner_[level_] + (list == nullptr ? number - zero_ : static_cast<Index>(list[number]));
  }
  /// Children of the given node.
  [[nodiscard]] Children below(Index number) const { return below(*view_, corner_, level_ + 1, number); }
  /// Nodes of the last level as a row of elements.
  [[nodiscard]] Segment<T> elements() const { return Segment<T>::of(*view_, corner_, *this); }

 private:
  Children(const BlockView<T>& view, const Index* corner, int level, Index lo, Index hi, Index zero)
      : view_(&view), corner_(corner), level_(level), lo_(lo), hi_(hi), zero_(zero) {}

  const BlockView<T>* view_;
  const Index* corner_;
  int level_;
  Index lo_;
  Index hi_;
  Index zero_;  ///< for dense levels: number of the node with coordinate 0
};

/// Contiguous stored elements of a row in one block: `size` coordinates and values. If the columns are dense,
/// `coordinate` is null and the elements are consecutive from `corner` on.
template <class T>
struct Segment {
  const std::uint32_t* coordinate = nullptr;
  const T* values = nullptr;  ///< null: all 1, in lists of bool
  Index size = 0;
  Index corner = 0;
  Index behind = 0;  ///< number of coordinates of later rows that follow in the block
  bool no_zeros = true;

  [[nodiscard]] Index index(Index k) const {
    return corner + (coordinate == nullptr ? k : static_cast<Index>(coordinate[k]));
  }
  [[nodiscard]] T value(Index k) const { return values == nullptr ? T(1) : values[k]; }

  /// The part with subscripts in the interval, found by search.
  [[nodiscard]] Segment within(Interval wanted) const {
    const auto place = [this](Index j) {
      const Index c = j - corner;
      if (coordinate == nullptr) return std::clamp<Index>(c, 0, size);
      return c <= 0 ? Index{0} : std::lower_bound(coordinate, coordinate + size, c) - coordinate;
    };
    const Index first = place(wanted.lo);
    const Index last = std::max(first, place(wanted.hi));
    Segment part = *this;
    if (coordinate == nullptr) {
      part.corner += first;
    } else {
      part.coordinate += first;
    }
    if (values != nullptr) part.values += first;
    part.size = last - first;
    part.behind += size - last;
    return part;
  }

  /// The nodes of a block's last level.
  [[nodiscard]] static Segment of(const BlockView<T>& view, const Index* corner, const Children<T>& nodes) {
    const BlockHead& head = view.head();
    const std::size_t last = head.levels - 1U;
    const std::uint32_t* const list = view.coordinate(static_cast<int>(last));
    Segment segment;
    segment.coordinate = list == nullptr ? nullptr : list + nodes.first();
    segment.values = view.values() == nullptr ? nullptr : view.values() + nodes.first();
    segment.size = nodes.size();
    segment.corner = list != nullptr || nodes.size() == 0 ? corner[last] : nodes.index_of(nodes.first());
    segment.behind = head.count[last] - nodes.first() - nodes.size();
    segment.no_zeros = head.has(BlockHead::kNoZeros);
    return segment;
  }
};

/// Prefetch distance for a gathered vector, in elements of the row list.
inline constexpr Index kPrefetchAhead = 32;
/// Number of partial sums of a row: an addition takes several cycles, and would wait for the one before.
inline constexpr Index kRowLanes = 4;

/// A stored row of a matrix, with one segment per column panel.
template <class T>
class Row {
 public:
  Row(Index index, std::span<const Segment<T>> segments) : index_(index), segments_(segments) {}
  [[nodiscard]] Index index() const { return index_; }
  [[nodiscard]] std::span<const Segment<T>> segments() const { return segments_; }
  /// The element in column j; 0 if it is not stored.
  [[nodiscard]] T find(Index j) const {
    for (const Segment<T>& s : segments_) {
      const Index c = j - s.corner;
      if (c < 0) continue;
      const std::uint32_t* const at =
          s.coordinate == nullptr ? nullptr : std::lower_bound(s.coordinate, s.coordinate + s.size, c);
      const Index k = s.coordinate == nullptr ? c : at - s.coordinate;
      if (k < s.size && (s.coordinate == nullptr || *at == c)) return s.value(k);
    }
    return T(0);
  }

  /// Calls `f(j, value)` for the elements, ascending, in counted loops over the segments into which f is inlined.
  template <class F>
  [[gnu::always_inline]] void each(const F& f) const {
    for (const Segment<T>& s : segments_) of_segment(s, 0, f);
  }
  /// The same for the elements with columns in the interval.
  template <class F>
  [[gnu::always_inline]] void each(Interval wanted, const F& f) const {
    for (const Segment<T>& s : segments_) of_segment(s.within(wanted), 0, f);
  }
  /// Also calls `ahead(j)` a fixed number of elements earlier than f. It may be given columns of later rows.
  template <class Ahead, class F>
  [[gnu::always_inline]] void each(const Ahead& ahead, const F& f) const {
    each_ahead(kPrefetchAhead, ahead, f);
  }
  /// `distance` is that number of elements; 0: `ahead` is not called.
  template <class Ahead, class F>
  [[gnu::always_inline]] void each(Index distance, const Ahead& ahead, const F& f) const {
    each_ahead(distance, ahead, f);
  }
  /// The same for a long f, such as one with loops, which is compiled twice: for lists of nonzeros, and for all other
  /// layouts.
  template <class F>
  [[gnu::always_inline]] void each_long(const F& f) const {
    for (const Segment<T>& s : segments_)
      long_segment(
          s, 0, [](Index) {}, f);
  }
  template <class F>
  [[gnu::always_inline]] void each_long(Interval wanted, const F& f) const {
    for (const Segment<T>& s : segments_)
      long_segment(
          s.within(wanted), 0, [](Index) {}, f);
  }
  template <class Ahead, class F>
  [[gnu::always_inline]] void each_long(Index distance, const Ahead& ahead, const F& f) const {
    for (const Segment<T>& s : segments_) long_segment(s, distance, ahead, f);
  }
  template <class Ahead, class F>
  [[gnu::always_inline]] void each_long(const Ahead& ahead, const F& f) const {
    each_long(kPrefetchAhead, ahead, f);
  }
  /// Adds to `sums`: `f(j, value, sums...)` adds what an element contributes, and reads nothing of its sums. In each
  /// segment of at least two times kRowLanes elements, element number k is added to partial sum k mod kRowLanes; the
  /// partial sums are combined in a binary tree. The elements left over follow one by one.
  template <class F, class... S>
  [[gnu::always_inline]] void sums(const F& f, S&... sums) const {
    for (const Segment<T>& s : segments_) of_segment_in_lanes(s, f, sums...);
  }
  /// Also calls `ahead(j)`, `distance` elements earlier; 0: not at all.
  template <class Ahead, class F, class... S>
  [[gnu::always_inline]] void sums(Index distance, const Ahead& ahead, const F& f, S&... sums) const {
    for (const Segment<T>& s : segments_) {
      const std::uint32_t* const list = s.coordinate;
      const T* const values = s.values;
      if (distance == 0 || list == nullptr || values == nullptr || !s.no_zeros) {
        of_segment_in_lanes(s, f, sums...);
        continue;
      }
      const Index corner = s.corner, size = s.size;
      const Index last = size + s.behind - 1;
      const auto element = [&](Index k, S & ... to) __attribute__((always_inline)) {
        ahead(corner + list[std::min(k + distance, last)]);
        f(corner + list[k], not_zero(values[k]), to...);
      };
      for (Index k = in_lanes(size, element, sums...); k < size; ++k) element(k, sums...);
    }
  }

 private:
  /// Calls `f(k, partial sums...)` for as many elements as there are groups of kRowLanes among `size`, if there are two
  /// groups. Returns the number of elements.
  template <class F, class... S>
  [[gnu::always_inline]] static Index in_lanes(Index size, const F& f, S&... sums) {
    static_assert(kRowLanes == 4);
    if (size < 2 * kRowLanes) return 0;
    std::tuple<S...> a{S(0)...}, b{S(0)...}, c{S(0)...}, d{S(0)...};
    Index k = 0;
    for (; k + kRowLanes <= size; k += kRowLanes) {
      std::apply(
          [&](S & ... to) __attribute__((always_inline)) { f(k, to...); }, a);
      std::apply(
          [&](S & ... to) __attribute__((always_inline)) { f(k + 1, to...); }, b);
      std::apply(
          [&](S & ... to) __attribute__((always_inline)) { f(k + 2, to...); }, c);
      std::apply(
          [&](S & ... to) __attribute__((always_inline)) { f(k + 3, to...); }, d);
    }
    [&]<std::size_t... N>(std::index_sequence<N...>) {
      ((sums += (std::get<N>(a) + std::get<N>(c)) + (std::get<N>(b) + std::get<N>(d))), ...);
    }
    (std::index_sequence_for<S...>{});
    return k;
  }
  template <class F, class... S>
  [[gnu::always_inline]] static void of_segment_in_lanes(const Segment<T>& s, const F& f, S&... sums) {
    const std::uint32_t* const list = s.coordinate;
    const T* const values = s.values;
    const Index size = s.size;
    const Index corner = s.corner;
    const auto all = [&](const auto& element) __attribute__((always_inline)) {
      for (Index k = in_lanes(size, element, sums...); k < size; ++k) element(k, sums...);
    };
    if (list != nullptr && values != nullptr && s.no_zeros) {
      all([&](Index k, S & ... to) __attribute__((always_inline)) { f(corner + list[k], not_zero(values[k]), to...); });
    } else {
      all([&](Index k, S & ... to) __attribute__((always_inline)) { f(s.index(k), s.value(k), to...); });
    }
  }
  template <class Ahead, class F>
  [[gnu::always_inline]] void each_ahead(Index distance, const Ahead& ahead, const F& f) const {
    for (const Segment<T>& s : segments_) {
      Index k = 0;
      if (const std::uint32_t* const list = s.coordinate; list != nullptr && distance > 0) {
        const Index last = std::min(s.size, s.size + s.behind - distance);
        const T* const values = s.values;
        if constexpr (std::is_same_v<T, bool>) {
          for (; k < last; ++k) ahead(s.corner + list[k + distance]), f(s.corner + list[k], true);
        } else if (s.no_zeros) {
          for (; k < last; ++k) ahead(s.corner + list[k + distance]), f(s.corner + list[k], not_zero(values[k]));
        }
      }
      of_segment(s, k, f);
    }
  }
  template <class Ahead, class F>
  [[gnu::always_inline]] static void long_segment(const Segment<T>& s, Index distance, const Ahead& ahead, const F& f) {
    const Segment<T> all = s;  // f's writes may alias the segment
    if (all.coordinate == nullptr || (!std::is_same_v<T, bool> && (all.values == nullptr || !all.no_zeros))) {
      for (Index k = 0; k < all.size; ++k) f(all.index(k), all.value(k));
      return;
    }
    const Index known = distance == 0 ? 0 : std::min(all.size, all.size + all.behind - distance);
    for (Index k = 0; k < all.size; ++k) {
      if (k < known) ahead(all.corner + all.coordinate[k + distance]);
      if constexpr (std::is_same_v<T, bool>) {
        f(all.corner + all.coordinate[k], true);
      } else {
        f(all.corner + all.coordinate[k], not_zero(all.values[k]));
      }
    }
  }
  /// Starting at element k.
  template <class F>
  [[gnu::always_inline]] static void of_segment(const Segment<T>& s, Index k, const F& f) {
    const std::uint32_t* const list = s.coordinate;
    const T* const values = s.values;
    const Index size = s.size;  // in a local, because the compiler assumes that f's writes may alias the segment
    const Index corner = s.corner;
    if (list == nullptr) {
      for (; k < size; ++k) f(corner + k, values == nullptr ? T(1) : values[k]);
    } else if constexpr (std::is_same_v<T, bool>) {
      for (; k < size; ++k) f(corner + list[k], true);
    } else if (s.no_zeros) {
      for (; k < size; ++k) f(corner + list[k], not_zero(values[k]));
    } else {
      for (; k < size; ++k) f(corner + list[k], values[k]);
    }
  }
  /// Returns the value with a hint that it is nonzero, so that products need no zero test, which would cost up to a
  /// quarter of the loop time.
  [[nodiscard]] static T not_zero(T value) {
    if (value == T(0)) __builtin_unreachable();
    return value;
  }

  Index index_;
  std::span<const Segment<T>> segments_;
};

/// The rows of a band of parts that share them, ascending.
template <class T>
class MergedRows {
 public:
  MergedRows(const PartList<T>& parts, const typename PartList<T>::Band& band, Interval range);
  /// Advances to the first or next row; false at the end.
  [[nodiscard]] bool next();
  [[nodiscard]] Row<T> row() const { return Row<T>(row_, segments_); }

 private:
  std::span<const typename PartList<T>::Entry> entries_;
  std::vector<Children<T>> roots_;
  std::vector<Index> next_;
  std::vector<Segment<T>> segments_;
  Index end_;
  Index row_ = 0;
};

/// A sparse operand of rank R. Level l stores dimension `order[l]`; cursors take subscripts in level order.
template <class T, int R>
class Parts : public PartList<T> {
  using typename PartList<T>::Entry;
  using typename PartList<T>::Band;
  using PartList<T>::entries_;
  using PartList<T>::bands_;
  using PartList<T>::require_plain;

 public:
  explicit Parts(std::span<const Part> parts, std::span<const int> order = {}) : PartList<T>(parts, R, order) {}

  /// Calls `f(view, row, column, rows, alone)` for every band of rows, ascending, with a block and its corner; `alone`:
  /// no other part shares these rows.
  template <class F>
  void each_band(F&& f) const requires(R == 2) {
    require_plain();
    for (const Band& band : bands_) {
      const Entry& entry = entries_[band.first];
      f(entry.view, entry.corner[0], entry.corner[1], band.outer, band.last - band.first == 1);
    }
  }
  /// Calls `f(node)` for the outermost nodes of every part with subscripts in the interval, part by part.
  template <class F>
  void walk(Interval wanted, F&& f) const {
    require_plain();
    for (const Entry& e : entries_) {
      const Children<T> roots = Children<T>::roots(e.view, e.corner.data(), e.outer, wanted);
      for (Index k = roots.first(); k < roots.first() + roots.size(); ++k)
        f(Node<T>(e.view, e.corner.data(), 0, k, roots.index_of(k)));
    }
  }
  /// Calls `f(nodes, band)` for the outermost nodes of every part with subscripts in the interval; parts of one band
  /// are adjacent by columns.
  template <class F>
  void each_roots(Interval wanted, F&& f) const {
    require_plain();
    for (std::size_t band = 0; band < bands_.size(); ++band) {
      if (plan::intersect(bands_[band].outer, wanted).empty()) continue;
      for (std::size_t e = bands_[band].first; e < bands_[band].last; ++e) {
        f(Children<T>::roots(entries_[e].view, entries_[e].corner.data(), entries_[e].outer, wanted), band);
      }
    }
  }
  /// Calls `f(i, value)` for the elements of a vector in the interval, ascending.
  template <class... F>
  void each(Interval wanted, const F&... f) const requires(R == 1) {
    for (const Entry& e : entries_) {
      const Segment<T> segment =
          Segment<T>::of(e.view, e.corner.data(), Children<T>::roots(e.view, e.corner.data(), e.outer, wanted));
      if (segment.size > 0) Row<T>(0, {&segment, 1}).each(f...);
    }
  }
  /// The value at the subscripts; 0 if it is not stored.
  template <class... Subscripts>
  [[nodiscard]] T locate(Subscripts... x) const {
    static_assert(sizeof...(Subscripts) == R);
    require_plain();
    const std::array<Index, R> at{static_cast<Index>(x)...};
    const auto after = std::upper_bound(bands_.begin(), bands_.end(), at[0],
                                        [](Index i, const Band& band) { return i < band.outer.lo; });
    if (after == bands_.begin()) return T(0);
    for (std::size_t number = (after - 1)->first; number < (after - 1)->last; ++number) {
      const Entry& e = entries_[number];
      Children<T> children = Children<T>::roots(e.view, e.corner.data(), e.outer, e.outer);
      Index node = children.find(at[0]);
      for (int l = 1; l < R && node >= 0; ++l)
        node = Children<T>::below(e.view, e.corner.data(), l, node).find(at[static_cast<std::size_t>(l)]);
      if (node >= 0) return e.view.value(node);
    }
    return T(0);
  }

  /// Calls `f(row)` for stored rows of a matrix with subscripts in the interval, ascending: all rows of parts with
  /// dense rows or coded columns, the listed rows of others.
  template <class F>
  void rows(Interval wanted, F&& f) const requires(R == 2) {
    RowBlocks<T> blocks(*this, wanted, true);
    while (blocks.next()) {
      if (blocks.merged() == nullptr) {
        rows_of(blocks.rows(), f);
      } else {
        merge_rows(blocks, f);
      }
    }
  }
  /// The same, but calls `g(coded)` for the rows of a part with coded columns.
  template <class F, class G>
  void rows_or_codes(Interval wanted, F&& f, G&& g) const requires(R == 2) {
    RowBlocks<T> blocks(*this, wanted, false);
    while (blocks.next()) {
      if (const CodedRows<T>* const coded = blocks.coded()) {
        g(*coded);
      } else if (blocks.merged() == nullptr) {
        rows_of(blocks.rows(), f);
      } else {
        merge_rows(blocks, f);
      }
    }
  }
  /// Row i, which may be empty; `segments` is its storage.
  [[nodiscard]] Row<T> row(Index i, std::vector<Segment<T>>& segments) const requires(R == 2) {
    require_plain();
    segments.clear();
    const auto after =
        std::upper_bound(bands_.begin(), bands_.end(), i, [](Index x, const Band& band) { return x < band.outer.lo; });
    if (after != bands_.begin() && i < (after - 1)->outer.hi) {
      for (std::size_t e = (after - 1)->first; e < (after - 1)->last; ++e) {
        const Entry& entry = entries_[e];
        const Index node = Children<T>::roots(entry.view, entry.corner.data(), entry.outer, entry.outer).find(i);
        if (node >= 0)
          segments.push_back(Segment<T>::of(entry.view, entry.corner.data(),
                                            Children<T>::below(entry.view, entry.corner.data(), 1, node)));
      }
    }
    return Row<T>(i, segments);
  }

 private:
  /// Iterates over the rows of one block; loop invariants are computed once.
  template <class F>
  static void rows_of(const BlockRows<T>& rows, F&& f) {
    const BlockRows<T> all = rows;  // f's writes may alias it
    Segment<T> segment;
    segment.corner = all.column;
    segment.no_zeros = all.no_zeros;
    for (Index node = all.nodes.lo; node < all.nodes.hi; ++node) {
      const Index first = all.position == nullptr ? node * all.extent : all.position[node];
      segment.size = all.position == nullptr ? all.extent : all.position[node + 1] - first;
      segment.coordinate = all.coordinate == nullptr ? nullptr : all.coordinate + first;
      segment.values = all.values == nullptr ? nullptr : all.values + first;
      segment.behind = all.stored - first - segment.size;
      f(Row<T>(all.index_of(node), {&segment, 1}));
    }
  }
  /// Rows shared by several parts, which occur only in plans that cut columns. Out of line, because this rare case does
  /// not justify another inlined copy of `f` in every version of a kernel.
  template <class F>
  [[gnu::noinline]] void merge_rows(const RowBlocks<T>& blocks, F&& f) const {
    MergedRows<T> rows(*this, *blocks.merged(), blocks.range());
    while (rows.next()) f(rows.row());
  }
};

}  // namespace tdsl::rt::sparse
