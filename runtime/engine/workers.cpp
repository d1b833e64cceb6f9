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
        } else {
          waiting.begin();
          idle(lock);
        }
      }
      return;
    } catch (...) { failure.fail(std::current_exception()); }
  }
}

/// Throws if the caller ends the run. Called and returns with the lock held.
void Engine::State::ask_to_stop(Lock& lock) {
  constexpr double kSeconds = 0.1;
  const double time = context.now();
  if (time - workers.asked_to_stop < kSeconds) return;
  workers.asked_to_stop = time;
  lock.unlock();
  const bool stops = context.options.stop();
  lock.lock();
  if (stops) throw RunError("the caller has ended the run");
}

/// One thread of an idle rank polls, the others sleep. Called and returns with the lock held.
void Engine::State::idle(Lock& lock) {
  if ((context.single() && !polls.includes_disk) || workers.polling || failure.failed()) {
    ready.sleep(lock);
    return;
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
  // If this thread takes a task, another must poll.
  if (!ready.empty()) ready.wake_all();
}

}  // namespace tdsl::rt
