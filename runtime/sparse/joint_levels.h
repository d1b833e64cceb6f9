#pragma once

#include <array>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/sparse/joint.h"

// Joint iteration over several vectors, or tensors of rank three and more, level by level:
//
//     either(a, b).each(range, [&](Index i, double a, double b) { … });
//     both(A, B).walk(range, [&](const auto& row) {
//       row.walk([&](const auto& fibre) { fibre.each([&](Index k, double a, double b) { … }); });
//     });

namespace tdsl::rt::sparse {

/// Cursor over one level of a tensor: the nodes with a given subscript, one from each part that has it.
template <class T>
class LevelCursor {
 public:
  void begin() {
    lists_.clear();
    active_ = {0, 0};
    index_ = kNoIndex;
  }
  /// Adds nodes to iterate over. Bands have increasing subscripts.
  void add(const Children<T>& nodes, std::size_t band = 0) {
    if (nodes.size() > 0) lists_.push_back({nodes, nodes.first(), nodes.first() + nodes.size(), band});
  }
  /// Call after the last `add`.
  void start() { settle(); }

  /// The subscript; kNoIndex at the end.
  [[nodiscard]] Index index() const { return index_; }
  /// Returns the nodes' children, valid until the next call, and advances.
  [[nodiscard]] std::span<const Children<T>> take();
  [[nodiscard]] static std::span<const Children<T>> none() { return {}; }
  /// Advances to the first subscript >= x.
  void seek(Index x);

 private:
  struct List {
    Children<T> nodes;
    Index next;
    Index last;
    std::size_t band;
  };
  [[nodiscard]] std::span<List> active() {
    return std::span(lists_).subspan(active_.first, active_.second - active_.first);
  }

  void settle();
  [[nodiscard]] bool next_band();

  std::vector<List> lists_;
  std::pair<std::size_t, std::size_t> active_;
  std::vector<Children<T>> below_;
  Index index_ = kNoIndex;
};

namespace detail {

/// Cursors of all operands at one level, and the elements below a node of each.
template <class... T>
struct JointLevel {
  std::tuple<LevelCursor<T>...> cursors;
  std::tuple<std::vector<Segment<T>>...> segments;
};

}  // namespace detail

/// Nodes of several tensors with the same subscripts, above `kBelow` more levels.
template <Joint kJoint, int kBelow, class... T>
class JointNode {
 public:
  JointNode(Index index, detail::JointLevel<T...>* levels, std::span<const Children<T>>... below)
      : index_(index), levels_(levels), below_(below...) {}
  [[nodiscard]] Index index() const { return index_; }

  /// Calls `f(node)` for the nodes below, ascending.
  template <class F>
  void walk(const F& f) const requires(kBelow > 1) {
    const auto visit = [&](Index i, std::span<const Children<T>>... below) {
      f(JointNode<kJoint, kBelow - 1, T...>(i, levels_ + 1, below...));
    };
    begin(std::index_sequence_for<T...>());
    std::apply([&](auto&... cursor) { walk_together<kJoint>(visit, cursor...); }, levels_->cursors);
  }
  /// Calls `f(k, values...)` for visited elements below, ascending.
  template <class F>
  [[gnu::flatten]] void each(const F& f) const requires(kBelow == 1) {
    row(std::index_sequence_for<T...>()).each(f);
  }

 private:
  template <std::size_t... k>
  void begin(std::index_sequence<k...>) const {
    const auto one = [](auto& cursor, const auto& below) {
      cursor.begin();
      for (const auto& nodes : below) cursor.add(nodes);
      cursor.start();
    };
    (one(std::get<k>(levels_->cursors), std::get<k>(below_)), ...);
  }
  template <std::size_t... k>
  [[nodiscard]] JointRow<kJoint, T...> row(std::index_sequence<k...>) const {
    const auto one = [](auto& segments, const auto& below) {
      segments.clear();
      for (const auto& nodes : below) segments.push_back(nodes.elements());
    };
    (one(std::get<k>(levels_->segments), std::get<k>(below_)), ...);
    return JointRow<kJoint, T...>(index_, std::span<const Segment<T>>(std::get<k>(levels_->segments))...);
  }

  Index index_;
  detail::JointLevel<T...>* levels_;
  std::tuple<std::span<const Children<T>>...> below_;
};

/// Tensors of the same shape that are not matrices; they must outlive this object.
template <Joint kJoint, int R, class... T>
class JointTensors {
 public:
  explicit JointTensors(const Parts<T, R>&... parts) : parts_(&parts...) {}

  /// Calls `f(node)` for the outermost subscripts in the interval with visited elements below, ascending; may include
  /// nodes without any.
  template <class F>
  void walk(Interval wanted, const F& f) const requires(R > 1) {
    std::array<detail::JointLevel<T...>, R> levels;  // the outermost level, and the levels below nodes
    begin(levels[0], wanted, std::index_sequence_for<T...>());
    const auto visit = [&](Index i, std::span<const Children<T>>... below) {
      f(JointNode<kJoint, R - 1, T...>(i, levels.data() + 1, below...));
    };
    std::apply([&](auto&... cursor) { walk_together<kJoint>(visit, cursor...); }, levels[0].cursors);
  }
  /// Calls `f(i, values...)` for visited elements of vectors in the interval, ascending.
  template <class F>
  [[gnu::flatten]] void each(Interval wanted, const F& f) const requires(R == 1) {
    detail::JointLevel<T...> level;
    row(level, wanted, std::index_sequence_for<T...>()).each(f);
  }

 private:
  template <std::size_t... k>
  void begin(detail::JointLevel<T...>& level, Interval wanted, std::index_sequence<k...>) const {
    const auto one = [&](auto& cursor, const auto& parts) {
      cursor.begin();
      parts.each_roots(wanted, [&](const auto& nodes, std::size_t band) { cursor.add(nodes, band); });
      cursor.start();
    };
    (one(std::get<k>(level.cursors), *std::get<k>(parts_)), ...);
  }
  template <std::size_t... k>
  [[nodiscard]] JointRow<kJoint, T...> row(detail::JointLevel<T...>& level, Interval wanted,
                                           std::index_sequence<k...>) const {
    const auto one = [&](auto& segments, const auto& parts) {
      parts.each_roots(wanted, [&](const auto& nodes, std::size_t) { segments.push_back(nodes.elements()); });
    };
    (one(std::get<k>(level.segments), *std::get<k>(parts_)), ...);
    return JointRow<kJoint, T...>(0, std::span<const Segment<T>>(std::get<k>(level.segments))...);
  }

  std::tuple<const Parts<T, R>*...> parts_;
};

template <int R, class... T>
requires(R != 2) [[nodiscard]] JointTensors<Joint::kEither, R, T...> either(const Parts<T, R>&... parts) {
  return JointTensors<Joint::kEither, R, T...>(parts...);
}
template <int R, class... T>
requires(R != 2) [[nodiscard]] JointTensors<Joint::kBoth, R, T...> both(const Parts<T, R>&... parts) {
  return JointTensors<Joint::kBoth, R, T...>(parts...);
}
template <int R, class... T>
requires(R != 2) [[nodiscard]] JointTensors<Joint::kFirst, R, T...> along(const Parts<T, R>&... parts) {
  return JointTensors<Joint::kFirst, R, T...>(parts...);
}

}  // namespace tdsl::rt::sparse
