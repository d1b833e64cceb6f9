#include <algorithm>
#include <chrono>
#include <cstdint>

#include "runtime/engine/engine_state.h"

namespace tdsl::rt {

namespace {
/// Shortest nap between polls, and the longest one on oversubscribed cores.
constexpr std::chrono::microseconds kPollPause{50}, kLongestNap{1000};
/// Seconds of empty polls after which the rank naps between polls to yield the core.
constexpr double kPatience = 1e-3;
/// Seconds between calls of EngineOptions::stop.
constexpr double kAskEvery = 0.1;

/// Nap after a poll without progress, `idle` seconds since the last work. On oversubscribed cores naps grow to a tenth
/// of the idle time: other ranks compute, and polls cost them processor time.
std::chrono::microseconds nap_after(double idle, bool oversubscribed) {
  if (!oversubscribed) return idle > kPatience ? kPollPause : std::chrono::microseconds{0};
  return std::clamp(std::chrono::microseconds{static_cast<std::int64_t>(idle * 1e5)}, kPollPause, kLongestNap);
}

}  // namespace

/// The main loop of a worker.
void Engine::State::work() {
  while (true) {
    try {
      Lock lock(context.mutex);
      IdleTime waiting(context, profile, tracer);
      while (!workers.stopping) {
        TaskRun* const task = failure.failed() ? nullptr : ready.pop();
        if (task != nullptr) {
          workers.was_idle = false;
          waiting.end();
          run_task(lock, *task);
        } else if (!failure.failed() && ready.shares()) {
          waiting.end();
          help(lock);
        } else {
          waiting.begin();
          idle(lock, nullptr);
        }
      }
      return;
    } catch (...) { failure.fail(std::current_exception()); }
  }
}

/// Throws if the caller ends the run. Called and returns with the lock held.
void Engine::State::ask_to_stop(Lock& lock) {
  const double time = context.now();
  if (time - workers.asked_to_stop < kAskEvery) return;
  workers.asked_to_stop = time;
  lock.unlock();
  const bool stops = context.options.stop();
  lock.lock();
  if (stops) throw RunError("the caller has ended the run [stopped]");
}

/// One thread of an idle rank polls, the others sleep. Called and returns with the lock held.
void Engine::State::idle(Lock& lock, const std::function<bool()>* done) {
  if (!must_poll() || workers.polling || failure.failed()) {
    if (done == nullptr) return ready.sleep(lock);
    return ready.sleep_as_program(lock, *done, context.options.stop ? kAskEvery : 0);
  }
  workers.polling = true;
  const double start = context.now();
  if (!workers.was_idle) workers.idle_since = start;
  lock.unlock();
  bool moved = false;
  try {
    moved = poll();
  } catch (...) {
    lock.lock();
    workers.polling = false;
    throw;
  }
  if (!moved) { context.world.rest(nap_after(start - workers.idle_since, context.options.oversubscribed)); }
  lock.lock();
  workers.polling = false;
  workers.was_idle = !moved && ready.empty();
  // If this thread takes a long task, another must poll.
  ready.offer(true);
  ready.offer_poll();
}

// Note [Workers]
// A rank that runs alone and has no disk has nothing to wait for, so its workers start with the first work that needs
// them: small programs never start any. Until they start, workers count as idle.

void Engine::State::begin_workers() {
  const int others = context.options.threads - 1;
  if (others == 0) return;
  const Lock lock(context.mutex);
  profile.front.idle(context.now(), others);
  if (!context.single() || context.options.disk != nullptr) return start_workers();
  ready.start_workers_by([this] { start_workers(); });
}

/// Called once, under the lock, by the program's thread.
void Engine::State::start_workers() {
  profile.front.idle(context.now(), 1 - context.options.threads);
  workers.team.emplace(context.options.threads, [this](int thread) {
    Trace* const trace = context.options.trace;
    const TraceScope scope(trace != nullptr ? &trace->buffer(thread) : nullptr);
    if (trace != nullptr) thread_trace->add(tracer.event(TraceKind::kWait, 0, context.now()));
    work();
  });
}

/// Called by the program's thread, without the lock, after the program.
void Engine::State::end_workers() {
  {
    const Lock lock(context.mutex);
    ready.start_workers_by(nullptr);
    workers.stopping = true;
    ready.wake_all();
  }
  if (workers.team) return workers.team.reset();
  const Lock lock(context.mutex);
  profile.front.idle(context.now(), 1 - context.options.threads);
  Trace* const trace = context.options.trace;
  for (int thread = 1; trace != nullptr && thread < context.options.threads; ++thread)
    trace->buffer(thread).add(tracer.event(TraceKind::kWait, 0, context.now()));
}

}  // namespace tdsl::rt
