#include "runtime/plan/sparsity.h"

#include <algorithm>
#include <cmath>

namespace tdsl::plan {

PointBound from(int label, Index row, Index constant) { return {label, true, row, constant}; }
PointBound up_to(int label, Index row, Index constant) { return {label, false, row, constant}; }

namespace {

/// A linear bound on the column as a function of the row. Floating point, because constants may be as large as integers
/// allow.
struct BoundingLine {
  double slope = 0;
  double constant = 0;
  [[nodiscard]] double at(double row) const { return slope * row + constant; }
};

/// The columns of a row that satisfy the lower and upper bounding lines.
class Columns {
 public:
  explicit Columns(Index columns) : below_{{0, 0}}, above_{{0, static_cast<double>(columns) - 1}} {}

  void add(const PointBound& bound) {
    (bound.from_below ? below_ : above_)
        .push_back({static_cast<double>(bound.row), static_cast<double>(bound.constant)});
  }
  [[nodiscard]] double in(double row) const {
    double first = below_.front().at(row), last = above_.front().at(row);
    for (const BoundingLine& line : below_) first = std::max(first, line.at(row));
    for (const BoundingLine& line : above_) last = std::min(last, line.at(row));
    return std::max(0.0, last - first + 1);
  }
  /// Rows in [first, last], ascending, between which the count is linear in the row: bounding lines cross only at these
  /// rows.
  [[nodiscard]] std::vector<double> pieces(double first, double last) const {
    std::vector<BoundingLine> lines = below_;
    lines.insert(lines.end(), above_.begin(), above_.end());
    std::vector<double> ends = {first, last};
    for (const BoundingLine& a : lines) {
      for (const BoundingLine& b : lines) {
        if (a.slope <= b.slope) continue;
        // If lines cross exactly at a row, that row may belong to neither side: 0, 0, 1, 2.
        const double row = (b.constant - a.constant) / (a.slope - b.slope);
        for (const double next : {std::ceil(row), std::floor(row) + 1}) {
          if (first < next && next < last) ends.push_back(next);
        }
      }
    }
    std::ranges::sort(ends);
    return ends;
  }

 private:
  std::vector<BoundingLine> below_, above_;
};

}  // namespace

RowCounts points_within(Index rows, Index columns, const std::vector<PointBound>& bounds) {
  constexpr Index kBins = 2048;
  double first = 0, last = static_cast<double>(rows);
  Columns within(columns);
  for (const PointBound& bound : bounds) {
    if (bound.label == 1) {
      within.add(bound);
    } else if (bound.from_below) {
      first = std::max(first, static_cast<double>(bound.constant));
    } else {
      last = std::min(last, static_cast<double>(bound.constant) + 1);
    }
  }
  RowCounts counts{rows, {0}};
  if (rows == 0) return counts;
  const Tiling bins = Tiling::near_equal(rows, std::min(rows, kBins));
  const std::vector<double> pieces = first < last ? within.pieces(first, last) : std::vector<double>{};
  double sum = 0, row = first;
  std::size_t piece = 1;
  for (Index b = 0; b < std::min(rows, kBins); ++b) {
    const auto end = static_cast<double>(bins.tile(b).hi);
    while (piece < pieces.size() && row < end) {
      const double next = std::min(end, pieces[piece]);
      if (row < next) sum += (next - row) * (within.in(row) + within.in(next - 1)) / 2;
      row = next;
      if (row >= pieces[piece]) ++piece;
    }
    counts.before.push_back(static_cast<Index>(std::min(sum, 0x1p62)));
  }
  return counts;
}

}  // namespace tdsl::plan
