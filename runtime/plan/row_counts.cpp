#include "runtime/plan/row_counts.h"

#include <algorithm>
#include <cmath>

namespace tdsl::plan {

namespace {

/// Rounded to few digits, so that sums over tasks equal the prediction for a rank.
double rounded(double x) {
  constexpr int kDigits = 16;
  int exponent = 0;
  const double digits = std::frexp(x, &exponent);
  return std::ldexp(std::round(std::ldexp(digits, kDigits)), exponent - kDigits);
}

/// The label that indexes the rows of the access alone; -1: none.
int row_label(const Access& access) {
  if (access.dims.size() != 2 || !access.dims[1].whole) return -1;
  const DimAccess& dim = access.dims[0];
  const bool plain = !dim.whole && dim.divisor == 1 && dim.terms.size() == 1 && dim.terms[0].coefficient == 1 &&
                     dim.offset == Interval{0, 1};
  return plain ? dim.terms[0].label : -1;
}

}  // namespace

Index counted_before(const RowCounts& counts, Index row) {
  row = std::clamp<Index>(row, 0, counts.rows);
  if (row == counts.rows) return counts.before.back();
  const Tiling bins = Tiling::near_equal(counts.rows, counts.bins());
  const Index number = bins.tile_of(row);
  const Interval bin = bins.tile(number);
  const auto b = static_cast<std::size_t>(number);
  const auto here = static_cast<double>(counts.before[b + 1] - counts.before[b]);
  return counts.before[b] +
         static_cast<Index>(here * static_cast<double>(row - bin.lo) / static_cast<double>(bin.size()));
}

VisitedRows::VisitedRows(const Op& op, const TensorLookup& tensors) {
  for (const Access& access : op.reads) {
    const int label = row_label(access);
    if (label < 0) continue;
    const TensorDesc& matrix = tensors(access.tensor).desc;
    const bool counted = matrix.rows != nullptr && matrix.rows->bins() > 0 && matrix.rows->before.back() > 0;
    if (!counted || op.labels[static_cast<std::size_t>(label)].range != Interval{0, matrix.rows->rows}) continue;
    label_ = label;
    rows_ = matrix.rows;
    per_row_ = op.dense_flops_per_point;
    per_element_ = rounded((op.flops_per_point - per_row_) * static_cast<double>(rows_->rows) /
                           static_cast<double>(rows_->before.back()));
    return;
  }
}

double VisitedRows::flops(const std::vector<Interval>& values, double others) const {
  Index elements = 0, all = 0;
  for (const Interval& rows : values) {
    elements += rows.empty() ? 0 : counted_before(*rows_, rows.hi) - counted_before(*rows_, rows.lo);
    all += std::max<Index>(rows.size(), 0);
  }
  return (static_cast<double>(elements) * per_element_ + static_cast<double>(all) * per_row_) * others;
}

double flops_of_points(const Op& op, const VisitedRows& visited, const std::vector<Interval>& labels, double points) {
  if (visited.label() < 0 || points == 0) return op.flops_per_point * points;
  const Interval& rows = labels[static_cast<std::size_t>(visited.label())];
  return visited.flops({rows}, points / static_cast<double>(rows.size()));
}

}  // namespace tdsl::plan
