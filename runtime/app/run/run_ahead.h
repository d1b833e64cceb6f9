#pragma once

#include <algorithm>
#include <deque>

#include "runtime/plan/space/index.h"

namespace tdsl::rt {

/// Limits how far recording runs ahead of execution, because a checkpoint waits for all recorded operations: a few
/// seconds' worth of boundaries at the rate so far, at least one.
class RunAhead {
 public:
  static constexpr double kSeconds = 10;

  /// Called at a boundary, with `submitted` operations of which `complete` have finished, `seconds` after the start.
  /// Returns how many must be complete before the program continues.
  plan::Index at_boundary(plan::Index submitted, plan::Index complete, double seconds) {
    open_.push_back(submitted);
    while (!open_.empty() && open_.front() <= complete) {
      open_.pop_front();
      ++passed_;
    }
    const double allowed =
        passed_ == 0 ? 1 : std::max(1.0, kSeconds * static_cast<double>(passed_) / std::max(seconds, 1e-9));
    if (static_cast<double>(open_.size()) <= allowed) return 0;
    return open_[open_.size() - 1 - static_cast<std::size_t>(allowed)];
  }

 private:
  std::deque<plan::Index> open_;  ///< operations submitted at each boundary that is not complete yet
  plan::Index passed_ = 0;
};

}  // namespace tdsl::rt
