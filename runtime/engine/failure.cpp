#include <chrono>
#include <new>
#include <utility>

#include "runtime/engine/engine_state.h"
#include "runtime/engine/store/spare_memory.h"
#include "runtime/engine/wire.h"

namespace tdsl::rt {

namespace {

/// Seconds in which ranks that can still hear have heard how the run ends.
constexpr double kMostSettling = 10;

}  // namespace

// Note [Abort channel]
// A rank that fails stops working and tells rank 0. Rank 0 reports the first failure it hears of, once, and only then
// tells everybody; a rank ends when it has heard. So the message is out before any rank is gone, and all ranks end with
// the same code. Ranks inside a kernel hear of it at their next poll.

Engine::State::Failure Engine::State::describe(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const RunError& e) { return {e.what(), e.code()}; } catch (const std::bad_alloc&) {
    return {"out of memory", ExitCode::kRunTime};
  } catch (const std::exception& e) {
    return {std::string("internal error of the runtime, please report it: ") + e.what(), ExitCode::kRunTime};
  }
}

void Engine::State::fail(std::exception_ptr error) noexcept {
  spend_spare_memory();
  const Lock lock(mutex);
  if (failed) return;
  failed = true;
  Failure failure = describe(error);
  if (me == 0) {
    report(std::move(failure));
  } else {
    own_failure = failure;
    outbox.tell(0, wire::kFailure, wire::encode_note({static_cast<Index>(failure.code), failure.text}));
  }
  wake.notify_all();
}

/// On rank 0, under the lock.
void Engine::State::report(Failure failure) {
  if (verdict) return;
  failed = true;
  verdict = std::move(failure);
  if (options.report) options.report(RunError(verdict->text, verdict->code));
  outbox.tell_others(wire::kAbort, wire::encode_note({static_cast<Index>(verdict->code), verdict->text}));
  wake.notify_all();
}

/// Keeps talking until the verdict is known and, on rank 0, told; not for long, as who should hear or tell it may be
/// gone.
void Engine::State::settle_failure() {
  const double begin = now();
  while (world.size() > 1) {
    bool talks = true;
    try {
      poll();
    } catch (...) {  // another failure: this one is the run's
      talks = false;
    }
    if (!talks || now() - begin > kMostSettling) {
      const Lock lock(mutex);
      if (verdict) return;
      verdict = std::move(own_failure);
      verdict->agreed = false;
      if (options.report) options.report(RunError(verdict->text, verdict->code));
      return;
    }
    bool settled = false;
    {
      const Lock lock(mutex);
      settled = verdict && outbox.empty();
    }
    if (settled && world.access().pending_control() == 0) return;
    world.rest(std::chrono::microseconds{0});
  }
}

}  // namespace tdsl::rt
