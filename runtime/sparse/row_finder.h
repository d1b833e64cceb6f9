#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "runtime/sparse/parts.h"

namespace tdsl::rt::sparse {

/// Access to matrix rows in any order; fastest if ascending. Blocks with listed rows are searched, or indexed if they
/// list enough of them.
template <class T>
class RowFinder {
 public:
  explicit RowFinder(const Parts<T, 2>& matrix);

  /// Row i, which may be empty; valid until the next call.
  [[nodiscard]] Row<T> operator()(Index i) {
    const Panel* const panel = find(i);
    if (panel == nullptr) return Row<T>(i, {});
    if (!panel->alone) return of_several_parts(i);
    const Index node = node_of(*panel, i);
    if (node < 0) return Row<T>(i, {});
    segment_ = panel->row;
    const Index first = first_of(*panel, node);
    segment_.size = first_of(*panel, node + 1) - first;
    segment_.coordinate = panel->coordinate == nullptr ? nullptr : panel->coordinate + first;
    segment_.values = panel->values == nullptr ? nullptr : panel->values + first;
    segment_.behind = panel->stored - first - segment_.size;
    return Row<T>(i, {&segment_, 1});
  }

  /// Number of elements in the rows selected by the columns of a row.
  template <class Columns>
  [[nodiscard]] Index stored(const Columns& columns) {
    Index sum = 0;
    columns.each([&](Index i, auto...) { sum += stored_in(i); });
    return sum;
  }
  /// Number of elements in the rows selected by a node's children, for tensors of higher rank.
  template <class Node>
  [[nodiscard]] Index stored_below(const Node& node) {
    Index sum = 0;
    node.walk([&](const auto& below) { sum += stored_in(below.index()); });
    return sum;
  }

  /// Prefetches the beginning of row i.
  void fetch_ahead(Index i) {
    const Panel* const panel = find(i);
    if (panel == nullptr || !panel->alone) return;
    const Index node = node_of(*panel, i);
    if (node < 0) return;
    const Index first = first_of(*panel, node);
    if (panel->coordinate != nullptr) __builtin_prefetch(panel->coordinate + first);
    if (panel->values != nullptr) __builtin_prefetch(panel->values + first);
  }

 private:
  [[nodiscard, gnu::cold]] Row<T> of_several_parts(Index i);
  [[nodiscard]] Index stored_in(Index i) {
    const Panel* const panel = find(i);
    if (panel == nullptr) return 0;
    if (!panel->alone) {
      Index sum = 0;
      for (const Segment<T>& s : matrix_->row(i, segments_).segments()) sum += s.size;
      return sum;
    }
    const Index node = node_of(*panel, i);
    return node < 0 ? 0 : first_of(*panel, node + 1) - first_of(*panel, node);
  }

  /// An index takes one word per row of the block.
  static constexpr Index kIndexed = 16;

  struct Panel {
    Interval rows;
    bool alone = true;  ///< no other part has elements in these rows
    Index first = 0;    ///< the row of node 0, or of coordinate 0
    const std::uint32_t* listed = nullptr;
    std::vector<std::int32_t> index;  ///< for listed rows: row to node, or -1
    Index count = 0;                  ///< number of nodes
    const Index* position = nullptr;  ///< null: columns are dense
    Index extent = 0;
    Index stored = 0;
    const std::uint32_t* coordinate = nullptr;
    const T* values = nullptr;
    Segment<T> row;  ///< fields common to all rows
  };

  static void add_index(Panel& panel);

  [[nodiscard]] const Panel* find(Index i) {
    if (last_ < panels_.size() && panels_[last_].rows.lo <= i && i < panels_[last_].rows.hi) return &panels_[last_];
    const auto after = std::upper_bound(panels_.begin(), panels_.end(), i,
                                        [](Index x, const Panel& panel) { return x < panel.rows.lo; });
    if (after == panels_.begin() || i >= (after - 1)->rows.hi) return nullptr;
    last_ = static_cast<std::size_t>(after - 1 - panels_.begin());
    return &panels_[last_];
  }
  [[nodiscard]] static Index node_of(const Panel& panel, Index i) {
    if (panel.listed == nullptr) return i - panel.first;
    if (!panel.index.empty()) return panel.index[static_cast<std::size_t>(i - panel.rows.lo)];
    const auto coordinate = static_cast<std::uint32_t>(i - panel.first);
    const std::uint32_t* const end = panel.listed + panel.count;
    const std::uint32_t* const at = std::lower_bound(panel.listed, end, coordinate);
    return at != end && *at == coordinate ? at - panel.listed : -1;
  }
  [[nodiscard]] static Index first_of(const Panel& panel, Index node) {
    return panel.position == nullptr ? node * panel.extent : panel.position[node];
  }

  const Parts<T, 2>* matrix_;
  std::vector<Panel> panels_;  ///< by ascending rows
  std::size_t last_ = 0;       ///< the panel found last
  Segment<T> segment_;
  std::vector<Segment<T>> segments_;
};

/// Elements of one matrix row indexed by column, for many lookups in the same row: a bit per column, and a value if it
/// is set; memory is reused between rows. Columns beyond four million are searched in the row itself.
template <class T>
class MarkedRow {
 public:
  explicit MarkedRow(const Parts<T, 2>& matrix) : rows_(matrix) {}

  /// Selects row i.
  void mark(Index i);
  /// The element in column j; 0 if it is not stored.
  [[nodiscard]] T operator()(Index j) {
    if (j >= kMostMarked) return rows_(at_).find(j);
    const auto c = static_cast<std::size_t>(j);
    if (c >= values_.size() || (bits_[c >> 6] >> (c & 63) & 1) == 0) return T(0);
    return values_[c].value;
  }

 private:
  static constexpr Index kMostMarked = Index{1} << 22;
  struct Cell {
    T value{};
  };
  void grow(std::size_t column);

  RowFinder<T> rows_;
  std::vector<Cell> values_;
  std::vector<std::uint64_t> bits_;
  Index at_ = 0;
  bool marked_ = false;
};

}  // namespace tdsl::rt::sparse
