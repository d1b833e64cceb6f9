#pragma once

#include <deque>

#include "runtime/plan/space/index.h"

namespace tdsl::rt {

/// Admitted, unfinished steps of a rank, numbered in the order of admission.
class OpenSteps {
 public:
  /// Admits a step; returns its number.
  plan::Index begin(plan::Index tasks, int site) {
    if (tasks > 0) ++open_;
    tasks_ += tasks;
    unfinished_.push_back({tasks, site});
    drop_finished();
    return next_++;
  }
  void end_task(plan::Index step) {
    --tasks_;
    if (--unfinished_[static_cast<std::size_t>(step - first_)].tasks > 0) return;
    --open_;
    drop_finished();
  }
  /// The oldest open step; if there is none, the next to be admitted.
  [[nodiscard]] plan::Index least() const { return first_; }
  /// Site of the oldest open step; `none` if there is none.
  [[nodiscard]] int least_site(int none) const { return unfinished_.empty() ? none : unfinished_.front().site; }
  [[nodiscard]] plan::Index count() const { return open_; }
  /// Unfinished tasks of all steps.
  [[nodiscard]] plan::Index tasks() const { return tasks_; }

 private:
  void drop_finished() {
    while (!unfinished_.empty() && unfinished_.front().tasks == 0) {
      unfinished_.pop_front();
      ++first_;
    }
  }

  struct OpenStep {
    plan::Index tasks = 0;  ///< unfinished
    int site = 0;
  };
  std::deque<OpenStep> unfinished_;  ///< from the step `first_` on
  plan::Index first_ = 0;
  plan::Index next_ = 0;
  plan::Index open_ = 0;
  plan::Index tasks_ = 0;
};

}  // namespace tdsl::rt
