#pragma once

#include <deque>
#include <mutex>
#include <string>
#include <string_view>

#include "runtime/engine/watch/status.h"

// Progress of a run on one rank: predicted seconds of completed operations over predicted seconds of the program.

namespace tdsl::rt {

class Progress {
 public:
  /// Sets the total for the whole program. Without it there is no share.
  void expect(double seconds) { expected_ = seconds; }
  /// Resuming: `done` of `expected` seconds were complete; both 0 if unknown. A total set by `expect` takes precedence.
  void go_on(double done, double expected);
  /// Adds the next operation, in submission order.
  void submitted(double seconds);
  /// The completed share of the program; negative if unknown.
  [[nodiscard]] double share(const RankStatus& status);
  /// The share that was complete when the run started.
  [[nodiscard]] double begun() const { return begun_; }
  [[nodiscard]] double expected() const { return expected_; }
  /// Seconds of all submitted operations, plus those complete when the run started.
  [[nodiscard]] double recorded();

 private:
  std::mutex mutex_;  // the program's thread writes, the watch thread reads
  double expected_ = 0;
  double begun_ = 0;
  plan::Index first_ = 0;  ///< the first operation in `seconds_`
  double before_ = 0;      ///< seconds of operations before that
  std::deque<double> seconds_;
};

/// Contents of a progress line.
struct ProgressState {
  double elapsed = 0;           ///< seconds
  double share = -1;            ///< negative if unknown
  plan::Index iteration = 0;    ///< of the outermost loop; 0 outside loops
  plan::Index iterations = 0;   ///< the number of the last one; 0: unknown
  int line = 0;                 ///< of the oldest unfinished operation; 0: none
  double flops_per_second = 0;  ///< of this rank, since the previous line
  double received_per_second = 0;
  plan::Index received_bytes = 0;  ///< by this rank so far
  plan::Index live_bytes = 0;
  plan::Index memory_bytes = 0;  ///< the limit; 0: none
  double begun = 0;              ///< share complete when the run resumed from a checkpoint
};
/// `43 %, iteration 17 of 40, line 12, 12.3 GFLOP/s and 1.2 GiB/s received (70 GiB) on rank 0, 3.1 GiB of 4.0 GiB,
/// 5 min left`
[[nodiscard]] std::string progress_text(const ProgressState& state);
/// The same as a JSON object on one line. Unknown values are absent.
[[nodiscard]] std::string progress_json(std::string_view program, const ProgressState& state);
/// `40 s`, `12 min`, `3 h 20 min`
[[nodiscard]] std::string duration_text(double seconds);
/// Time of the next log line, in seconds: after 10 s, 1, 2, 5, 10 min, then every 10 min.
[[nodiscard]] double next_line(double elapsed);

}  // namespace tdsl::rt
