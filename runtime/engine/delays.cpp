#include "runtime/engine/delays.h"

#include <atomic>
#include <chrono>
#include <thread>

#include "runtime/kernels/philox.h"

namespace tdsl::rt {

namespace {

constexpr std::uint64_t kLongPauses = 500'000;  // microseconds of sleep after which pauses become brief

}  // namespace

void Delays::pause() const {
  if (seed_ == 0) return;
  static std::atomic<std::uint64_t> calls{0};
  static std::atomic<std::uint64_t> paused{0};  // microseconds, of all threads
  const std::uint32_t bits = random_bits(random_stream(seed_, 0), calls++)[0];
  if (bits % 4 != 0) return;
  // Short pauses randomise the order of a thousand tasks equally well: a run with tiles of one element must not sleep
  // for minutes.
  const std::uint64_t most = paused < kLongPauses ? 2000 : 100;
  const std::uint64_t pause = (bits >> 8) % most;
  paused += pause;
  std::this_thread::sleep_for(std::chrono::microseconds(pause));
}

}  // namespace tdsl::rt
