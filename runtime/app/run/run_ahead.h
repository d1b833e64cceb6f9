#pragma once

#include <algorithm>
#include <deque>

#include "runtime/plan/space/index.h"

namespace tdsl::rt {

/// How far recording may be ahead of what is carried out: a checkpoint waits for all of it. A few seconds of boundaries
/// at the speed at which they have been passed so far, and at least one.
class RunAhead {
 public:
  static constexpr double kSeconds = 10;

  /// The program is at a boundary, with `submitted` operations of which `complete` are, `seconds` after it began.
  /// Returns how many have to be complete before it goes on.
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
  std::deque<plan::Index> open_;  ///< boundaries before which something is not complete: operations submitted there
  plan::Index passed_ = 0;
};

}  // namespace tdsl::rt
