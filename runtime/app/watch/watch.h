#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "runtime/app/report/progress.h"
#include "runtime/engine/engine.h"
#include "runtime/engine/trace.h"

namespace tdsl::rt {

struct WatchOptions {
  int rank = 0;
  std::string program;           ///< program name, for messages
  plan::Index memory_bytes = 0;  ///< the limit; 0: none
  Progress* progress = nullptr;  ///< on rank 0; outlives the watch; null: no progress output
  TraceBuffer* trace = nullptr;  ///< for messages of this thread; null: no tracing
  bool json = false;             ///< progress as a JSON object per line, each second
  struct Iteration {
    plan::Index now = 0, last = 0;  ///< 0: unknown
  };
  std::function<Iteration()> iteration;  ///< of the program, for progress; called on the watch thread
};

/// A thread that wakes once a second: it exchanges signs of life, prints progress on standard error, and prints the
/// state of the ranks on SIGUSR2 (to any rank) or when the run makes no progress.
class Watch {
 public:
  /// Starts the thread, on every rank. The engine must outlive it.
  Watch(Engine& engine, WatchOptions options);
  /// Stops the thread, and ends the progress line on a terminal.
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  void live();
  void look();
  void print_statuses(const Engine::RollCall& call) const;
  void print_progress();
  [[nodiscard]] double elapsed() const;

  Engine& engine_;
  WatchOptions options_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  bool terminal_ = false;  ///< progress is a single line that is redrawn
  bool drawn_ = false;
  double next_line_ = 10;  ///< time of the next line in a log
  double last_time_ = 0;   ///< time of the previous line
  RankStatus last_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool over_ = false;
  std::thread thread_;
};

/// At most `most` lines about the state of the ranks; ranks that do not respond come first.
[[nodiscard]] std::string status_lines(const Engine::RollCall& call, std::size_t most);

}  // namespace tdsl::rt
