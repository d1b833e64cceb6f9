#include "runtime/engine/failure.h"

#include <chrono>
#include <new>
#include <utility>

#include "runtime/engine/messages/wire.h"
#include "runtime/engine/store/spare_memory.h"
#include "runtime/engine/watch/heartbeat.h"

namespace tdsl::rt {

namespace {

/// Seconds after which a rank ends without a verdict.
constexpr double kMostSettling = 10;
/// Seconds after which rank 0 waits for no more notices.
constexpr double kMostCounting = 5;

Failure::Verdict describe(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const RunError& e) { return {e.what(), e.code()}; } catch (const std::bad_alloc&) {
    return {"out of memory [out-of-memory]", ExitCode::kRunTime};
  } catch (const std::exception& e) {
    return {std::string("internal error of the runtime, please report it: ") + e.what() + " [internal-error]",
            ExitCode::kRunTime};
  }
}

std::vector<std::byte> encode(const Failure::Verdict& verdict) {
  return wire::encode_note({static_cast<Index>(verdict.code), verdict.text});
}

}  // namespace

void Failure::fail(std::exception_ptr error) noexcept {
  spend_spare_memory();
  const Lock lock(context_.mutex);
  if (failed_) return;
  failed_ = true;
  Verdict failure = describe(error);
  if (context_.me == 0) {
    report(std::move(failure));
  } else {
    own_ = failure;
    outbox_.tell(0, wire::kFailure, encode(failure));
  }
  ready_.wake_all();
}

/// Called on rank 0, under the lock.
void Failure::report(Verdict failure) {
  if (verdict_) return;
  failed_ = true;
  verdict_ = std::move(failure);
  if (context_.options.report) context_.options.report(RunError(verdict_->text, verdict_->code));
  outbox_.tell_others(wire::kAbort, encode(*verdict_));
  ready_.wake_all();
}

void Failure::take(const ControlMessage& message) {
  if (message.tag == wire::kLeave) {
    may_leave_ = true;
    return;
  }
  wire::Note note = wire::decode_note(message.bytes);
  Verdict failure{std::move(note.text), static_cast<ExitCode>(note.number)};
  if (message.tag == wire::kFailure) return report(std::move(failure));
  verdict_ = std::move(failure);
  failed_ = true;
}

void Failure::end() {
  if (context_.me != 0 || may_leave_) return;
  may_leave_ = true;
  if (context_.options.ended) context_.options.ended();
  outbox_.tell_others(wire::kLeave, {});
}

/// Under the lock.
bool Failure::settled(bool noted) {
  if (!verdict_) return false;
  if (noted || verdict_->code == kLostRank) end();
  return may_leave_ && outbox_.empty();
}

void Failure::settle(const std::function<void()>& poll, const std::function<bool()>& noted) {
  const double begin = context_.now();
  while (context_.world.size() > 1) {
    bool talks = true;
    try {
      poll();
    } catch (...) {  // the first failure ends the run
      talks = false;
    }
    if (!talks || context_.now() - begin > kMostSettling) {
      const Lock lock(context_.mutex);
      if (verdict_) return;
      verdict_ = std::move(own_);
      verdict_->agreed = false;
      if (context_.options.report) context_.options.report(RunError(verdict_->text, verdict_->code));
      return;
    }
    bool over = false;
    {
      const Lock lock(context_.mutex);
      over = settled(noted() || context_.now() - begin > kMostCounting);
    }
    if (over && context_.world.access()->pending_control() == 0) return;
    context_.world.rest(std::chrono::microseconds{0});
  }
}

}  // namespace tdsl::rt
