#include "runtime/engine/tasks/ready_queue.h"

#include <algorithm>
#include <chrono>

#include "runtime/kernels/progress.h"

namespace tdsl::rt {

namespace {

constexpr double kNanoseconds = 1e9;
/// Work of a task of unknown length: above any grain.
constexpr double kUnknownSeconds = 1;

}  // namespace

std::int64_t ReadyQueue::work_of(const TaskRun& task) {
  const SiteStatistics* const site = task.operation->measured;
  double seconds = task.inspects != nullptr ? kUnknownSeconds : task.predicted;
  // Tasks that only pass on their blocks are predicted as 0, and no kernel is counted.
  if (task.inspects == nullptr && seconds > 0 && site != nullptr && site->kernels > 0)
    seconds = site->kernel_seconds / static_cast<double>(site->kernels);
  return static_cast<std::int64_t>(kNanoseconds * std::clamp(seconds, 0.0, kUnknownSeconds));
}

void ReadyQueue::offer(bool takes) {
  auto left = static_cast<std::int64_t>(tasks_.size());
  std::int64_t work = work_;
  if (takes && left > 0) {
    --left;
    work -= tasks_.top()->work;
  }
  if (left == 0) return;
  const double grain = kNanoseconds * context_.options.grain;
  std::int64_t wanted = grain > 0 ? std::min(left, static_cast<std::int64_t>(static_cast<double>(work) / grain)) : left;
  wanted -= woken_;
  while (wanted > 0 && wake_worker()) --wanted;
  if (wanted <= 0) return;
  if (start_ != nullptr) return start_workers();
  if (awaited_ != nullptr && !program_woken_) wake_program();
}

void ReadyQueue::offer_poll() {
  if (tasks_.empty() || woken_ > 0) return;
  if (static_cast<double>(tasks_.top()->work) < kNanoseconds * context_.options.grain) return;
  wake_one();
}

bool ReadyQueue::wake_worker() {
  if (sleeping_ == 0) return false;
  --sleeping_;
  ++woken_;
  wake_.notify_one();
  return true;
}

void SharedLoop::run() {
  try {
    for (plan::Index k = next.fetch_add(1); k < count; k = next.fetch_add(1)) {
      (*body)(k);
      progress::tick();
    }
  } catch (...) {
    next = count;
    throw;
  }
}

void ReadyQueue::share(SharedLoop& loop) {
  loops_.push_back(&loop);
  plan::Index wanted = loop.count - 1;
  while (wanted > 0 && wake_worker()) --wanted;
  if (wanted == 0) return;
  if (start_ != nullptr) return start_workers();
  if (awaited_ != nullptr && !program_woken_) wake_program();
}

void ReadyQueue::end(Lock& lock, SharedLoop& loop) {
  std::erase(loops_, &loop);
  loop.left.wait(lock, [&loop] { return loop.helpers == 0; });
}

void ReadyQueue::wake_all() {
  woken_ += std::exchange(sleeping_, 0);
  if (woken_ > 0) wake_.notify_all();
  if (awaited_ != nullptr && !program_woken_) wake_program();
}

void ReadyQueue::sleep(Lock& lock) {
  ++sleeping_;
  wake_.wait(lock, [this] { return woken_ > 0; });
  --woken_;
}

void ReadyQueue::sleep_as_program(Lock& lock, const std::function<bool()>& done, double seconds) {
  awaited_ = &done;
  program_woken_ = false;
  const auto woken = [this] { return program_woken_; };
  if (seconds > 0) {
    program_.wait_for(lock, std::chrono::duration<double>(seconds), woken);
  } else {
    program_.wait(lock, woken);
  }
  awaited_ = nullptr;
}

}  // namespace tdsl::rt
