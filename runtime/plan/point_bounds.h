#pragma once

#include <vector>

#include "runtime/plan/storage.h"

// Points of a matrix that satisfy a condition, counted in closed form.

namespace tdsl::plan {

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

}  // namespace tdsl::plan
