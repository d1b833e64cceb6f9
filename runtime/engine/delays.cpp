#include "runtime/engine/delays.h"

#include <atomic>
#include <chrono>
#include <thread>

#include "runtime/kernels/philox.h"

namespace tdsl::rt {

void Delays::pause() const {
  if (seed_ == 0) return;
  static std::atomic<std::uint64_t> calls{0};
  const std::uint32_t bits = random_bits(random_stream(seed_, 0), calls++)[0];
  if (bits % 4 != 0) return;
  std::this_thread::sleep_for(std::chrono::microseconds((bits >> 8) % 2000));
}

}  // namespace tdsl::rt
