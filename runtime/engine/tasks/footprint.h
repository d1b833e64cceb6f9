#pragma once

#include <deque>
#include <string>

#include "runtime/engine/context.h"
#include "runtime/plan/op.h"
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
  /// Adds a task to an open step.
  void add_task(plan::Index step) {
    ++tasks_;
    ++unfinished_[static_cast<std::size_t>(step - first_)].tasks;
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

/// Bytes of admitted steps, against window and memory. The least unfinished step may exceed both (README.md).
struct Footprint {
  explicit Footprint(const Context& c) : context(c) {}

  /// Bytes that blocks of unknown sizes count in memory.
  [[nodiscard]] Index counted(const plan::Estimate& bytes) const {
    return context.options.most_bytes > 0 ? bytes.expected_bytes() : bytes.most_bytes();
  }
  /// True if memory has room for `more` bytes.
  [[nodiscard]] bool memory_has(Index more) const;
  /// True if the window has room for received boxes, loaded pieces and other blocks of these bytes. `own_bound`: the
  /// operation's own limit on received bytes; 0: none.
  [[nodiscard]] bool window_has(Index received, Index loads, Index others, Index own_bound) const;
  /// Throws RunError if the operation, which runs alone, needs more memory than the system has.
  void require_room(const plan::Op& op, Index more) const;
  /// Throws RunError: a block of the operation, which runs alone, exceeds the memory.
  [[noreturn]] void stop_for_block(const plan::Op& op, Index bytes) const;

  const Context& context;
  Index loaded = 0;    ///< pieces of own blocks on disk or in files
  Index fetched = 0;   ///< receive buffers; sized pieces without a buffer at their expected size
  Index reserved = 0;  ///< under a memory limit, sized pieces without a buffer: counted()
  Index promised = 0;  ///< output blocks of tasks not yet started; sized ones until they are complete
  Index output = 0;    ///< output blocks until they are complete
  Index serving = 0;   ///< boxes read from disk for peers

 private:
  [[noreturn]] void stop(const plan::Op& op, const std::string& needs, Index held) const;
};

}  // namespace tdsl::rt
