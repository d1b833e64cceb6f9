#pragma once

#include <span>
#include <utility>
#include <vector>

#include "runtime/plan/op.h"

namespace tdsl::record {

/// A summary shows this many elements at either end of an abbreviated dimension.
inline constexpr plan::Index kSummaryEdge = 3;

/// The indices of each dimension that a summary shows: all if the array has at most 1000 elements or the dimension at
/// most 6, else the first and last three. The elements to collect are the product of these lists.
[[nodiscard]] std::vector<std::vector<plan::Index>> summary_indices(std::span<const plan::Index> shape);

/// The boxes that contain the elements shown in a tensor's summary: its corners.
class SummaryCorners {
 public:
  SummaryCorners() = default;
  explicit SummaryCorners(std::span<const plan::Index> shape);

  /// Per dimension, the maximal runs of shown indices: one interval, or the first and the last elements.
  [[nodiscard]] const std::vector<std::vector<plan::Interval>>& runs() const { return runs_; }
  /// Calls f(choice) for every corner, a choice of one run per dimension; the last dimension varies fastest.
  template <class F>
  void for_each(F&& f) const;
  /// One access per corner, in the order of for_each.
  [[nodiscard]] std::vector<std::vector<plan::DimAccess>> accesses() const;
  /// Number of shown elements.
  [[nodiscard]] plan::Index count() const;

 private:
  std::vector<std::vector<plan::Interval>> runs_;
};

template <class F>
void SummaryCorners::for_each(F&& f) const {
  std::vector<std::size_t> choice(runs_.size(), 0);
  for (const std::vector<plan::Interval>& list : runs_) {
    if (list.empty()) return;
  }
  while (true) {
    f(std::as_const(choice));
    std::size_t d = runs_.size();
    while (d > 0 && ++choice[d - 1] == runs_[d - 1].size()) choice[--d] = 0;
    if (d == 0) return;
  }
}

}  // namespace tdsl::record
