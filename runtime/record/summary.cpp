#include "runtime/record/summary.h"

#include <algorithm>

#include "runtime/plan/op_builder.h"

namespace tdsl::record {

using plan::Index;
using plan::Interval;

namespace {

/// NumPy abbreviates larger arrays.
constexpr Index kThreshold = 1000;

/// Maximal runs of consecutive numbers.
std::vector<Interval> runs_of(const std::vector<Index>& numbers) {
  std::vector<Interval> runs;
  for (const Index n : numbers) {
    if (!runs.empty() && runs.back().hi == n) {
      ++runs.back().hi;
    } else {
      runs.push_back({n, n + 1});
    }
  }
  return runs;
}

}  // namespace

std::vector<std::vector<Index>> summary_indices(std::span<const Index> shape) {
  std::vector<std::vector<Index>> indices(shape.size());
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return indices;
  Index count = 1;
  for (const Index extent : shape) count = extent > kThreshold / count ? kThreshold + 1 : count * extent;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const bool cut = count > kThreshold && shape[d] > 2 * kSummaryEdge;
    for (Index i = 0; i < (cut ? kSummaryEdge : shape[d]); ++i) indices[d].push_back(i);
    for (Index i = shape[d] - kSummaryEdge; cut && i < shape[d]; ++i) indices[d].push_back(i);
  }
  return indices;
}

SummaryCorners::SummaryCorners(std::span<const Index> shape) {
  for (const std::vector<Index>& indices : summary_indices(shape)) runs_.push_back(runs_of(indices));
}

std::vector<std::vector<plan::DimAccess>> SummaryCorners::accesses() const {
  std::vector<std::vector<plan::DimAccess>> list;
  for_each([&](const std::vector<std::size_t>& choice) {
    std::vector<plan::DimAccess>& dims = list.emplace_back();
    for (std::size_t d = 0; d < choice.size(); ++d)
      dims.push_back(plan::fixed(runs_[d][choice[d]].lo, runs_[d][choice[d]].hi));
  });
  return list;
}

Index SummaryCorners::count() const {
  Index count = 1;
  for (const std::vector<Interval>& list : runs_) {
    Index along = 0;
    for (const Interval& run : list) along += run.size();
    count *= along;
  }
  return count;
}

}  // namespace tdsl::record
