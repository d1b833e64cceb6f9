#pragma once

#include <vector>

#include "runtime/plan/op_plan.h"

namespace tdsl::plan {

/// Stored elements of a sized matrix in a range of its rows, from the tensor's RowCounts. Elements counted twice are
/// stored once.
[[nodiscard]] Estimate stored_in_rows(const TensorDesc& tensor, Interval rows);

/// Counted elements before a row, assuming equal rows within a bin.
[[nodiscard]] Index counted_before(const RowCounts& counts, Index row);

/// The matrix whose rows an operation iterates over along one of its labels, if the row distribution of its elements is
/// known: the operation's points are not uniform along that label. With several such matrices, the first one read.
class VisitedRows {
 public:
  VisitedRows() = default;
  VisitedRows(const Op& op, const TensorLookup& tensors);

  [[nodiscard]] int label() const { return label_; }  ///< -1: none
  /// Floating-point operations if the label takes the values of disjoint intervals and the other labels have `others`
  /// points together.
  [[nodiscard]] double flops(const std::vector<Interval>& values, double others) const;

 private:
  int label_ = -1;
  std::shared_ptr<const RowCounts> rows_;
  double per_element_ = 0, per_row_ = 0;
};

/// Flops of a task with these label intervals and `points` points; if the points are at stored elements, those in its
/// rows.
[[nodiscard]] double flops_of_points(const Op& op, const VisitedRows& visited, const std::vector<Interval>& labels,
                                     double points);

}  // namespace tdsl::plan
