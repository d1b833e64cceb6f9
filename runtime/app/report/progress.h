#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>

#include "runtime/engine/watch/status.h"

// How far a run is: predicted seconds of what has ended among those of all there is, on one rank.

namespace tdsl::rt {

class Progress {
 public:
  /// Of the whole program. Without it there is no share.
  void expect(double seconds) { expected_ = seconds; }
  /// The run goes on where `done` of `expected` seconds were over; both 0: nobody knows. After `expect`, which counts
  /// for more.
  void go_on(double done, double expected);
  /// The next operation, in the order of submission.
  void submitted(double seconds);
  /// The share of the whole that is over; below 0: nobody knows.
  [[nodiscard]] double share(const RankStatus& status);
  /// That was over when the run began.
  [[nodiscard]] double begun() const { return begun_; }
  [[nodiscard]] double expected() const { return expected_; }
  /// Seconds of what has been submitted, and of what was over when the run began.
  [[nodiscard]] double recorded();

 private:
  std::mutex mutex_;  // the program's thread adds, the watch asks
  double expected_ = 0;
  double begun_ = 0;
  plan::Index first_ = 0;  ///< the operation that `seconds_` begins with
  double before_ = 0;      ///< seconds of those before it
  std::deque<double> seconds_;
};

/// What a line of progress is made of.
struct ProgressState {
  double elapsed = 0;           ///< seconds
  double share = -1;            ///< below 0: not known
  plan::Index iteration = 0;    ///< of the outermost loop; 0: in none
  double flops_per_second = 0;  ///< since the line before, of this rank
  double received_per_second = 0;
  plan::Index live_bytes = 0;
  plan::Index memory_bytes = 0;  ///< the limit; 0: none
  double begun = 0;              ///< the share with which the run went on from a checkpoint
};
/// `43 %, iteration 17, 12.3 GFLOP/s and 1.2 GiB/s received on rank 0, 3.1 GiB of 4.0 GiB, 5 min left`
[[nodiscard]] std::string progress_text(const ProgressState& state);
/// `40 s`, `12 min`, `3 h 20 min`
[[nodiscard]] std::string duration_text(double seconds);
/// When a log gets its next line, in seconds: after 10 s, 1, 2, 5, 10 min, then every 10 min.
[[nodiscard]] double next_line(double elapsed);

}  // namespace tdsl::rt
