#pragma once

#include <vector>

#include "runtime/plan/op_plan.h"

namespace tdsl::plan {

/// Elements of a sized matrix that are stored in a range of its rows, from RowCounts, which the tensor has. What is
/// counted twice is stored once.
[[nodiscard]] Estimate stored_in_rows(const TensorDesc& tensor, Interval rows);

/// Counted elements before a row. Inside a bin rows are taken to be alike.
[[nodiscard]] Index counted_before(const RowCounts& counts, Index row);

/// The matrix over whose rows an operation goes along one of its labels, if it is known where in them the elements are:
/// its points are not spread evenly along that label. Of several matrices, the first that is read.
class VisitedRows {
 public:
  VisitedRows() = default;
  VisitedRows(const Op& op, const TensorLookup& tensors);

  [[nodiscard]] int label() const { return label_; }  ///< -1: there is none
  /// Floating-point operations where the label has the values of disjoint intervals, and the others `others` points
  /// together.
  [[nodiscard]] double flops(const std::vector<Interval>& values, double others) const;

 private:
  int label_ = -1;
  std::shared_ptr<const RowCounts> rows_;
  double per_element_ = 0;
};

/// Of a task with these intervals of labels, which has `points` points: where they are at stored elements, those that
/// its rows have.
[[nodiscard]] double flops_of_points(const Op& op, const VisitedRows& visited, const std::vector<Interval>& labels,
                                     double points);

}  // namespace tdsl::plan
