#pragma once

#include <cstdint>
#include <vector>

#include "runtime/plan/op.h"
#include "runtime/plan/point_bounds.h"

namespace tdsl::plan {

enum class SparseResult : std::uint8_t {
  kDense,        ///< not compressed
  kLikeVisited,  ///< compressed, with a subset of the coordinates of the first visited operands
  kOfPoints,     ///< compressed, with a subset of the coordinates of the visited points
  kElementsOf,   ///< compressed, with the elements of other tensors at other positions
  kGuessed,      ///< compressed from all points, with unknown density
  kAtVisited,    ///< compressed, with an element at every visited point
};

/// Sparse iteration over compressed operands, and the storage of the result. OpBuilder derives work and output from it.
template <class Number>
struct Sparsity {
  using Tensor = typename NumberTypes<Number>::Tensor;
  /// The visited points: at least one tensor of each list stores an element there. Rows of the first tensor are cut.
  std::vector<std::vector<Tensor>> visits;
  SparseResult result = SparseResult::kDense;
  std::vector<Tensor> elements_of;  ///< kElementsOf
  std::vector<Tensor> within;       ///< compressed tensors whose coordinates contain those of the result
  /// Elements outside the bounds are absent. A result that is compressed from all points is computed only within them.
  std::vector<BasicPointBound<Number>> bounds;

  [[nodiscard]] bool compresses() const {
    return result == SparseResult::kGuessed || result == SparseResult::kAtVisited;
  }
};

template <class Visitor, class... Sparsities>
void visit_sparsity(Visitor& v, Sparsities&... sparsity) {
  const auto tensor = [](auto& to, auto&... t) { to.tensor(t...); };
  v.list([&tensor](auto& to, auto&... list) { to.list(tensor, list...); }, sparsity.visits...);
  v.property(sparsity.result...);
  v.list(tensor, sparsity.elements_of...);
  v.list(tensor, sparsity.within...);
  v.list(
      [](auto& to, auto&... bound) {
        to.property(bound.label...);
        to.property(bound.from_below...);
        to.property(bound.row...);
        to.number(bound.constant...);
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
