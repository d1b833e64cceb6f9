#include "runtime/app/watch/watch.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <utility>

#include "runtime/app/run/run_program_signals.h"
#include "runtime/check.h"

namespace tdsl::rt {

namespace {

constexpr std::chrono::seconds kBeat{1};
/// Maximum number of ranks with a line of their own.
constexpr std::size_t kMostRanksShown = 64;

}  // namespace

std::string status_lines(const Engine::RollCall& call, std::size_t most) {
  std::string text = call.reason + "\n";
  std::size_t shown = 0;
  for (const bool silent : {true, false}) {
    for (std::size_t rank = 0; rank < call.answers.size() && shown < most; ++rank) {
      if (call.answers[rank].empty() != silent) continue;
      text += "  rank " + std::to_string(rank) + ": " + (silent ? "does not answer" : call.answers[rank]) + "\n";
      ++shown;
    }
  }
  if (call.answers.size() > most) text += "  and " + std::to_string(call.answers.size() - most) + " more\n";
  return text;
}

Watch::Watch(Engine& engine, WatchOptions options)
    : engine_(engine),
      options_(std::move(options)),
      terminal_(!options_.json && ::isatty(STDERR_FILENO) != 0),
      thread_([this] { live(); }) {}

Watch::~Watch() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  wake_.notify_all();
  thread_.join();
  if (drawn_) std::fputs("\r\033[K", stderr);
}

void Watch::live() {
  const TraceScope traced(options_.trace);
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, kBeat, [this] { return over_; })) {
    lock.unlock();
    look();
    lock.lock();
  }
}

void Watch::look() {
  engine_.beat();
  if (was_asked()) engine_.ask_statuses("where the ranks are (SIGUSR2):");
  if (options_.rank == 0) {
    if (const auto call = engine_.statuses()) print_statuses(*call);
  }
  if (options_.progress != nullptr) print_progress();
}

void Watch::print_statuses(const Engine::RollCall& call) const {
  std::fprintf(stderr, "%s%s: %s", drawn_ ? "\r\033[K" : "", options_.program.c_str(),
               status_lines(call, kMostRanksShown).c_str());
  std::fflush(stderr);
  if (call.deadlock)
    engine_.stop(RunError("internal error of the runtime, please report it: " + call.reason + " [internal-error]"));
}

double Watch::elapsed() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
}

void Watch::print_progress() {
  const RankStatus status = engine_.status();
  ProgressState state;
  state.elapsed = elapsed();
  state.share = options_.progress->share(status);
  state.begun = options_.progress->begun();
  if (!terminal_ && !options_.json && state.elapsed < next_line_) return;
  const double seconds = state.elapsed - std::exchange(last_time_, state.elapsed);
  if (options_.iteration) {
    const WatchOptions::Iteration iteration = options_.iteration();
    state.iteration = iteration.now;
    state.iterations = iteration.last;
  }
  state.line = line_in(status.line);
  state.received_bytes = status.received;
  state.flops_per_second = (status.flops - last_.flops) / seconds;
  state.received_per_second = static_cast<double>(status.received - last_.received) / seconds;
  state.live_bytes = status.live_bytes;
  state.memory_bytes = options_.memory_bytes;
  last_ = status;
  next_line_ = next_line(state.elapsed);
  const std::string text =
      options_.json ? progress_json(options_.program, state) : options_.program + ": " + progress_text(state);
  std::fprintf(stderr, terminal_ ? "\r%s\033[K" : "%s\n", text.c_str());
  std::fflush(stderr);
  drawn_ = terminal_;
}

}  // namespace tdsl::rt
