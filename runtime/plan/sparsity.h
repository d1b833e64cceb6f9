#pragma once

#include <cstdint>
#include <vector>

#include "runtime/plan/op.h"
#include "runtime/plan/storage.h"

namespace tdsl::plan {

// Points of a matrix that satisfy a condition, counted in closed form.

/// A bound `label >= row * i + constant`, or `<=`: on label 0, the row, by a number, or on label 1, the column, by a
/// linear function of the row.
template <class Number>
struct BasicPointBound {
  int label = 1;
  bool from_below = true;
  Index row = 0;  ///< 0 for label 0
  Number constant = 0;
};
using PointBound = BasicPointBound<Index>;
/// `label >= row * i + constant`.
[[nodiscard]] PointBound from(int label, Index row, Index constant);
/// `label <= row * i + constant`.
[[nodiscard]] PointBound up_to(int label, Index row, Index constant);

/// The points of a matrix with these extents that satisfy all bounds, by rows. Exact below 2^53; time is proportional
/// to the number of bins, at most 2048.
[[nodiscard]] RowCounts points_within(Index rows, Index columns, const std::vector<PointBound>& bounds);

enum class SparseResult : std::uint8_t {
  kDense,                ///< not compressed
  kLikeVisited,          ///< compressed, with a subset of the coordinates of the first visited operands
  kOfPoints,             ///< compressed, with a subset of the coordinates of the visited points
  kElementsOf,           ///< compressed, with the elements of other tensors at other positions, each at most once
  kSelectedFrom,         ///< the same, each any number of times
  kRowsSelectedFrom,     ///< the same, every row, or every column, with those of one row of another tensor
  kColumnsSelectedFrom,  ///< the same, with those of one column
  kGuessed,              ///< compressed from all points, with unknown density
  kAtVisited,            ///< compressed, with an element at every visited point
  kAssembled,            ///< compressed, with an entry for every point at its computed position
};

/// Sparse iteration over compressed operands, and the storage of the result. OpBuilder derives work and output from it.
template <class Number>
struct Sparsity {
  using Tensor = typename NumberTypes<Number>::Tensor;
  /// The visited points: at least one tensor of each list stores an element there. Rows of the first tensor are cut.
  std::vector<std::vector<Tensor>> visits;
  SparseResult result = SparseResult::kDense;
  std::vector<Tensor> elements_of;  ///< of other tensors at other positions: once per part
  std::vector<Tensor> within;       ///< compressed tensors whose coordinates contain those of the result
  /// Elements outside the bounds are absent. A result that is compressed from all points is computed only within them.
  std::vector<BasicPointBound<Number>> bounds;

  [[nodiscard]] bool compresses() const {
    return result == SparseResult::kGuessed || result == SparseResult::kAtVisited;
  }
};

template <class Visitor, class... Sparsities>
void visit_sparsity(Visitor& v, Sparsities&... sparsity) {
  const auto tensor = [](auto& to, auto&... t) { to.tensor("", t...); };
  v.list(
      "visits", [&tensor](auto& to, auto&... list) { to.list("", tensor, list...); }, sparsity.visits...);
  v.property("result", sparsity.result...);
  v.list("elements_of", tensor, sparsity.elements_of...);
  v.list("within", tensor, sparsity.within...);
  v.list(
      "bounds",
      [](auto& to, auto&... bound) {
        to.property("", bound.label...);
        to.property("from_below", bound.from_below...);
        to.property("row", bound.row...);
        to.number("plus", bound.constant...);
      },
      sparsity.bounds...);
}
/// See visit_fields in op.h.
template <class Visitor, class Number>
void visit_fields(Visitor& v, const Sparsity<Number>& sparsity) {
  visit_sparsity(v, sparsity);
}
template <class Visitor, class From, class To>
void visit_fields(Visitor& v, const Sparsity<From>& from, Sparsity<To>& to) {
  visit_sparsity(v, from, to);
}

}  // namespace tdsl::plan
