#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/sparse/parts.h"

// Joint iteration over several matrices, row by row and by ascending columns:
//
//     either(A, B).rows(rows, [&](const auto& row) {
//       C.row(row.index());
//       row.each([&](Index j, double a, double b) { C.put(j, a + b); });
//     });
//
// Elements not stored in an operand are passed as 0.

namespace tdsl::rt::sparse {

/// Iterates over the stored rows of one part; loop invariants are computed once.
template <class T>
class PartRows {
 public:
  PartRows(const BlockView<T>& view, const Index* corner, const Children<T>& rows)
      : row_list_(view.coordinate(0)),
        base_(row_list_ == nullptr ? rows.index_of(0) : corner[0]),
        node_(rows.first()),
        last_(rows.first() + rows.size()),
        position_(view.position(1)),
        list_(view.coordinate(1)),
        values_(view.values()) {
    const BlockHead& head = view.head();
    columns_ = head.count[0] == 0 ? 0 : head.count[1] / head.count[0];
    count_ = head.count[1];
    segment_.corner = corner[1];
    segment_.no_zeros = head.has(BlockHead::kNoZeros);
  }
  [[nodiscard]] bool more() const { return node_ < last_; }
  [[nodiscard]] Index index() const {
    return base_ + (row_list_ == nullptr ? node_ : static_cast<Index>(row_list_[node_]));
  }
  /// Returns the row and advances.
  [[nodiscard]] const Segment<T>& take() {
    const Index first = position_ == nullptr ? node_ * columns_ : position_[node_];
    segment_.size = position_ == nullptr ? columns_ : position_[node_ + 1] - first;
    segment_.coordinate = list_ == nullptr ? nullptr : list_ + first;
    segment_.values = values_ == nullptr ? nullptr : values_ + first;
    segment_.behind = count_ - first - segment_.size;
    ++node_;
    return segment_;
  }
  void seek(Index i) {
    if (row_list_ == nullptr) {
      node_ = std::clamp(i - base_, node_, last_);
    } else {
      while (more() && index() < i) ++node_;
    }
  }

 private:
  const std::uint32_t* row_list_;  ///< null: rows are dense
  Index base_;                     ///< subscript of node 0, or of coordinate 0
  Index node_;
  Index last_;
  const Index* position_;
  const std::uint32_t* list_;
  const T* values_;
  Index columns_ = 0;  ///< if columns are dense
  Index count_ = 0;
  Segment<T> segment_;
};

/// Cursor over the stored rows of a matrix, like `Parts::rows`.
template <class T>
class RowCursor {
 public:
  RowCursor(const PartList<T>& parts, Interval wanted);
  /// The row's subscript; the maximum of Index at the end.
  [[nodiscard]] Index index() const { return index_; }
  /// Returns the row, valid until the next call, and advances.
  [[nodiscard]] std::span<const Segment<T>> take() {
    if (only_ == nullptr) return take_of_band();
    const Segment<T>& row = only_->take();
    if (!only_->more()) return take_last(row);
    index_ = only_->index();
    return {&row, 1};
  }
  [[nodiscard]] static std::span<const Segment<T>> none() { return {}; }
  /// Advances to the first row with subscript >= i.
  void seek(Index i) {
    if (index_ >= i) return;
    if (only_ != nullptr) {
      only_->seek(i);
      if (only_->more()) {
        index_ = only_->index();
        return;
      }
    }
    seek_bands(i);
  }

 private:
  [[nodiscard]] std::span<const Segment<T>> take_last(const Segment<T>& row);
  [[nodiscard]] std::span<const Segment<T>> take_of_band();
  void seek_bands(Index i);
  void settle();
  [[nodiscard]] bool enter();

  const PartList<T>* parts_;
  Interval wanted_;
  std::size_t next_ = 0;  ///< next band
  std::vector<PartRows<T>> band_;
  PartRows<T>* only_ = nullptr;  ///< of a band with one part
  std::vector<Segment<T>> segments_;
  Index index_ = std::numeric_limits<Index>::max();
};

/// Which elements of several operands are visited.
enum class Joint : std::uint8_t {
  kEither,  ///< stored in at least one operand
  kBoth,    ///< stored in all operands
  kFirst    ///< stored in the first operand
};

/// Subscript of the end position.
inline constexpr Index kNoIndex = std::numeric_limits<Index>::max();

/// Cursor over the elements of a row.
template <class T>
class ElementCursor {
 public:
  explicit ElementCursor(std::span<const Segment<T>> segments)
      : segment_(segments.data()), last_(segments.data() + segments.size()) {
    settle();
  }
  /// kNoIndex at the end.
  [[nodiscard]] Index index() const { return index_; }
  /// Returns the element's value and advances.
  T take() {
    const T value = segment_->value(k_++);
    settle();
    return value;
  }
  /// Advances to the first element with subscript >= j.
  void seek(Index j) {
    while (index_ < j) {
      ++k_;
      settle();
    }
  }
  /// The value at subscript j; requires seek(j).
  [[nodiscard]] T at(Index j) const { return index_ == j ? segment_->value(k_) : T(0); }

 private:
  void settle() {
    while (segment_ != last_ && k_ == segment_->size) {
      ++segment_;
      k_ = 0;
    }
    index_ = segment_ == last_ ? kNoIndex : segment_->index(k_);
  }

  const Segment<T>* segment_;
  const Segment<T>* last_;
  Index k_ = 0;
  Index index_ = kNoIndex;
};

namespace detail {

/// Two lists of columns relative to the same corner, with their values.
template <class TA, class TB>
struct TwoLists {
  TwoLists(const Segment<TA>& x, const Segment<TB>& y)
      : a(x.coordinate),
        b(y.coordinate),
        va(x.values),
        vb(y.values),
        na(x.size),
        nb(y.size),
        corner(x.size == 0 ? y.corner : x.corner) {}

  const std::uint32_t* a;
  const std::uint32_t* b;
  const TA* va;
  const TB* vb;
  Index na;
  Index nb;
  Index corner;

  [[nodiscard]] TA value_a(Index k) const { return of(va, k); }
  [[nodiscard]] TB value_b(Index k) const { return of(vb, k); }

 private:
  /// Listed elements have values, except for bool.
  template <class T>
  [[nodiscard]] static T of(const T* values, Index k) {
    if constexpr (std::is_same_v<T, bool>) return true;
    return values[k];
  }
};

/// The value if the mask is -1, 0 if it is 0.
template <class T>
[[nodiscard]] T masked(Index mask, T value) {
  if constexpr (kIsComplex<T>) {
    return T(masked(mask, value.re), masked(mask, value.im));
  } else if constexpr (sizeof(T) == 8) {
    return std::bit_cast<T>(std::bit_cast<Index>(value) & mask);
  } else if constexpr (sizeof(T) == 4) {
    return std::bit_cast<T>(std::bit_cast<std::int32_t>(value) & static_cast<std::int32_t>(mask));
  } else {
    return static_cast<T>(static_cast<Index>(value) & mask);
  }
}

/// Compares two columns, giving masks: which list advances is unpredictable, and mispredicted branches would dominate
/// the cost.
struct Order {
  Order(std::uint32_t a, std::uint32_t b)
      : difference(static_cast<Index>(a) - static_cast<Index>(b)),
        in_a((difference - 1) >> 63),
        in_b(~difference >> 63) {}
  Index difference;
  Index in_a;  ///< -1 if a <= b
  Index in_b;  ///< -1 if b <= a
};

template <class TA, class TB, class F>
void either_of(TwoLists<TA, TB> l, const F& f) {
  Index x = 0, y = 0;
  while (x < l.na && y < l.nb) {
    const Order order(l.a[x], l.b[y]);
    f(l.corner + l.b[y] + (order.difference & order.in_a), masked(order.in_a, l.value_a(x)),
      masked(order.in_b, l.value_b(y)));
    x -= order.in_a;
    y -= order.in_b;
  }
  for (; x < l.na; ++x) f(l.corner + l.a[x], l.value_a(x), TB(0));
  for (; y < l.nb; ++y) f(l.corner + l.b[y], TA(0), l.value_b(y));
}

template <class TA, class TB, class F>
void both_merged(TwoLists<TA, TB> l, const F& f) {
  Index x = 0, y = 0;
  while (x < l.na && y < l.nb) {
    const Order order(l.a[x], l.b[y]);
    if (order.difference == 0) f(l.corner + l.a[x], l.value_a(x), l.value_b(y));
    x -= order.in_a;
    y -= order.in_b;
  }
}

/// Up to this number of columns, elements are marked instead of merged: 4 MiB of marks.
inline constexpr std::uint32_t kMarkedColumns = 1U << 20U;

/// Position of each column in the row marked last. Entries are never cleared but validated against the row.
/// Thread-local, with one list per nesting level of loops.
class Marks {
 public:
  Marks();
  ~Marks();
  Marks(const Marks&) = delete;
  Marks& operator=(const Marks&) = delete;
  [[nodiscard]] std::uint32_t* up_to(std::uint32_t columns) {
    if (list_->size() < columns) enlarge(columns);
    return list_->data();
  }

 private:
  void enlarge(std::uint32_t columns);

  std::vector<std::uint32_t>* list_;
};

/// Elements of the first list, with the second list's values at the same columns; missing ones are 0 or, with kAll,
/// skipped. One loop, since f, which is inlined, may be long.
template <bool kAll, class TA, class TB, class F>
void first_of(TwoLists<TA, TB> l, const F& f) {
  const bool wide = l.nb > 0 && l.b[l.nb - 1] >= kMarkedColumns;
  if (kAll && wide) return both_merged(l, f);
  Marks marks;
  const std::uint32_t behind = wide || l.nb == 0 ? 0 : l.b[l.nb - 1] + 1;
  std::uint32_t* const mark = marks.up_to(behind);
  for (Index y = 0; y < l.nb && !wide; ++y) mark[l.b[y]] = static_cast<std::uint32_t>(y);
  Index y = 0;
  for (Index x = 0; x < l.na; ++x) {
    const std::uint32_t j = l.a[x];
    if (wide) {
      while (y < l.nb && l.b[y] < j) ++y;
    } else {
      y = j < behind ? static_cast<Index>(mark[j]) : l.nb;
    }
    const bool found = y < l.nb && l.b[y] == j;
    if (kAll && !found) continue;
    f(l.corner + j, l.value_a(x), found ? l.value_b(y) : TB(0));
  }
}

/// A list whose columns are marked, for lookups.
template <class T>
class MarkedList {
 public:
  explicit MarkedList(const Segment<T>& list)
      : list_(list), behind_(list.size == 0 ? 0 : list.coordinate[list.size - 1] + 1), mark_(marks_.up_to(behind_)) {
    for (Index y = 0; y < list.size; ++y) mark_[list.coordinate[y]] = static_cast<std::uint32_t>(y);
  }
  [[nodiscard]] bool has(std::uint32_t j) const {
    return j < behind_ && mark_[j] < list_.size && list_.coordinate[mark_[j]] == j;
  }
  /// The value at the column; requires has(j).
  [[nodiscard]] T value(std::uint32_t j) const { return list_.value(mark_[j]); }

 private:
  Marks marks_;
  Segment<T> list_;
  std::uint32_t behind_;
  std::uint32_t* mark_;
};

/// Elements of the first list, with the values of several others at the same columns; missing ones are 0 or, with kAll,
/// skipped.
template <bool kAll, class F, class T, class... Others>
void first_of_many(const F& f, const Segment<T>& first, const Segment<Others>&... others) {
  const std::tuple<MarkedList<Others>...> lists(others...);
  std::apply(
      [&](const auto&... list) {
        for (Index x = 0; x < first.size; ++x) {
          const std::uint32_t j = first.coordinate[x];
          if (kAll && !(list.has(j) && ...)) continue;
          f(first.corner + static_cast<Index>(j), first.value(x), (kAll || list.has(j) ? list.value(j) : Others(0))...);
        }
      },
      lists);
}

}  // namespace detail

/// A row of several matrices.
template <Joint kJoint, class... T>
class JointRow {
 public:
  JointRow(Index index, std::span<const Segment<T>>... segments) : index_(index), segments_(segments...) {}
  [[nodiscard]] Index index() const { return index_; }

  /// Calls `f(j, values...)` for visited elements, ascending.
  template <class F>
  [[gnu::flatten]] void each(const F& f) const {
    if (kJoint == Joint::kBoth && std::apply([](const auto&... list) { return (is_bare(list) || ...); }, segments_))
      return;
    if constexpr (sizeof...(T) == 2) {
      const auto& a = std::get<0>(segments_);
      const auto& b = std::get<1>(segments_);
      if (is_list(a) && is_list(b) && (a.empty() || b.empty() || a[0].corner == b[0].corner))
        return each_of_two(list_of(a), list_of(b), f);
    }
    if constexpr (sizeof...(T) > 2 && kJoint != Joint::kEither) {
      const bool marked = std::apply([](const auto&... list) { return can_mark(list...); }, segments_);
      if (marked) {
        return std::apply(
            [&](const auto&... list) { detail::first_of_many<kJoint == Joint::kBoth>(f, list_of(list)...); },
            segments_);
      }
    }
    std::apply([&](const auto&... list) { merged(f, ElementCursor<T>(list)...); }, segments_);
  }

 private:
  template <class U>
  [[nodiscard]] static bool is_bare(std::span<const Segment<U>> s) {
    return s.empty() || (s.size() == 1 && s[0].size == 0);
  }
  template <class U>
  [[nodiscard]] static bool is_list(std::span<const Segment<U>> s) {
    return s.empty() || (s.size() == 1 && (s[0].coordinate != nullptr || s[0].size == 0));
  }
  /// True if all are lists relative to one corner, with columns that can be marked.
  template <class First, class... Others>
  [[nodiscard]] static bool can_mark(const First& first, const Others&... others) {
    if (!is_list(first) || !(is_list(others) && ...)) return false;
    const Index corner = list_of(first).corner;
    const auto fits = [corner](const auto& list) {
      return list.size == 0 || (list.corner == corner && list.coordinate[list.size - 1] < detail::kMarkedColumns);
    };
    return (fits(list_of(others)) && ...);
  }
  template <class U>
  [[nodiscard]] static Segment<U> list_of(std::span<const Segment<U>> s) {
    return s.empty() ? Segment<U>{} : s[0];
  }
  template <class A, class B, class F>
  static void each_of_two(const Segment<A>& a, const Segment<B>& b, const F& f) {
    const detail::TwoLists<A, B> lists(a, b);
    if constexpr (kJoint == Joint::kEither) {
      detail::either_of(lists, f);
    } else {
      detail::first_of<kJoint == Joint::kBoth>(lists, f);
    }
  }

  /// Out of line: the rare case that some rows are no lists.
  template <class F, class First, class... Others>
  [[gnu::noinline]] static void merged(const F& f, First first, Others... others) {
    if constexpr (kJoint == Joint::kFirst) {
      while (first.index() != kNoIndex) {
        const Index j = first.index();
        (others.seek(j), ...);
        f(j, first.take(), others.at(j)...);
      }
    } else if constexpr (kJoint == Joint::kBoth) {
      while (true) {
        const Index j = std::max({first.index(), others.index()...});
        if (j == kNoIndex) return;
        if (first.index() == j && ((others.index() == j) && ...)) {
          f(j, first.take(), others.take()...);
        } else {
          first.seek(j);
          (others.seek(j), ...);
        }
      }
    } else {
      while (true) {
        const Index j = std::min({first.index(), others.index()...});
        if (j == kNoIndex) return;
        f(j, taken(first, j), taken(others, j)...);
      }
    }
  }
  template <class U>
  [[nodiscard]] static U taken(ElementCursor<U>& cursor, Index j) {
    return cursor.index() == j ? cursor.take() : U(0);
  }

  Index index_;
  std::tuple<std::span<const Segment<T>>...> segments_;
};

/// Calls `f(i, …)` for the subscripts that the cursors visit jointly, ascending, with the node of each or an empty one.
template <Joint kJoint, class F, class First, class... Others>
void walk_together(const F& f, First&& first, Others&&... others) {
  while (true) {
    Index i = first.index();
    if constexpr (kJoint == Joint::kEither) i = std::min({i, others.index()...});
    if constexpr (kJoint == Joint::kBoth) i = std::max({i, others.index()...});
    if (i == kNoIndex) return;
    if constexpr (kJoint != Joint::kEither) (others.seek(i), ...);
    if constexpr (kJoint == Joint::kBoth) {
      first.seek(i);
      if (first.index() != i || ((others.index() != i) || ...)) continue;
    }
    const auto below = [i](auto& cursor) { return cursor.index() == i ? cursor.take() : cursor.none(); };
    f(i, below(first), below(others)...);
  }
}

/// Matrices of the same shape, which must outlive this object.
template <Joint kJoint, class... T>
class JointParts {
 public:
  explicit JointParts(const Parts<T, 2>&... parts) : parts_(&parts...) {}

  /// Calls `f(row)` for the rows of the interval with visited elements, ascending; may include rows without any.
  template <class F>
  void rows(Interval wanted, F&& f) const {
    const auto row = [&f](Index i, const auto&... rows) { f(JointRow<kJoint, T...>(i, rows...)); };
    std::apply([&](const auto*... parts) { walk_together<kJoint>(row, RowCursor<T>(*parts, wanted)...); }, parts_);
  }

 private:
  std::tuple<const Parts<T, 2>*...> parts_;
};

template <class... T>
[[nodiscard]] JointParts<Joint::kEither, T...> either(const Parts<T, 2>&... parts) {
  return JointParts<Joint::kEither, T...>(parts...);
}
template <class... T>
[[nodiscard]] JointParts<Joint::kBoth, T...> both(const Parts<T, 2>&... parts) {
  return JointParts<Joint::kBoth, T...>(parts...);
}
/// Visits the elements stored in the first operand, with the others' values there.
template <class... T>
[[nodiscard]] JointParts<Joint::kFirst, T...> along(const Parts<T, 2>&... parts) {
  return JointParts<Joint::kFirst, T...>(parts...);
}

}  // namespace tdsl::rt::sparse
