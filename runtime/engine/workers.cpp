#include <chrono>

#include "runtime/engine/engine_state.h"

namespace tdsl::rt {

namespace {
constexpr std::chrono::microseconds kNap{50};
/// Seconds of empty polls after which the rank naps in between: what others need of the core is no use to it.
constexpr double kPatience = 1e-3;
}  // namespace

/// A worker's life.
void Engine::State::work() {
  while (true) {
    try {
      Lock lock(mutex);
      IdleTime waiting(*this, profile, tracer);
      while (!stopping) {
        TaskRun* const task = failure.failed() ? nullptr : ready.pop();
        if (task != nullptr) {
          was_idle = false;
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

/// One thread of an idle rank polls, the others sleep. Called with the lock, returns with it.
void Engine::State::idle(Lock& lock) {
  if ((world.size() == 1 && !asks_disk) || polling || failure.failed()) {
    ready.sleep(lock);
    return;
  }
  polling = true;
  const double start = now();
  if (!was_idle) idle_since = start;
  lock.unlock();
  bool moved = false;
  try {
    moved = poll();
  } catch (...) {
    lock.lock();
    polling = false;
    throw;
  }
  if (!moved) {
    world.rest(options.oversubscribed || start - idle_since > kPatience ? kNap : std::chrono::microseconds{0});
  }
  lock.lock();
  polling = false;
  was_idle = !moved && ready.empty();
  // If this thread leaves for a task, somebody else must poll.
  if (!ready.empty()) ready.wake_all();
}

}  // namespace tdsl::rt
