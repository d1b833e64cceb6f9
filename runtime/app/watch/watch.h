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
  std::string program;                     ///< its name, for messages
  plan::Index memory_bytes = 0;            ///< the limit; 0: none
  Progress* progress = nullptr;            ///< of rank 0, outlives the watch; null: none is printed
  TraceBuffer* trace = nullptr;            ///< what this thread sends and receives; null: nothing is traced
  std::function<plan::Index()> iteration;  ///< that the program is in, for progress; called from the watch's thread
};

/// A thread beside a run of the engine, awake once a second: it gives and takes signs of life, prints progress on
/// standard error, and on SIGUSR2 (to any rank), or when nothing moves any more, where the ranks are.
class Watch {
 public:
  /// Starts the thread, on every rank. The engine outlives it.
  Watch(Engine& engine, WatchOptions options);
  /// Ends the thread, and the line of progress on a terminal.
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
  bool terminal_ = false;  ///< progress is one line that is drawn again
  bool drawn_ = false;
  double next_line_ = 10;  ///< when a log gets its next one
  double last_time_ = 0;   ///< of the line before
  RankStatus last_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool over_ = false;
  std::thread thread_;
};

/// The lines that say where ranks are, at most `most`: first the ranks that do not answer.
[[nodiscard]] std::string status_lines(const Engine::RollCall& call, std::size_t most);

}  // namespace tdsl::rt
