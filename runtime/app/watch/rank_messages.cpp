#include "runtime/app/watch/rank_messages.h"

#include <chrono>
#include <optional>
#include <utility>

namespace tdsl::rt {

namespace {
constexpr int kPatience = 100;  ///< polls before the core is yielded
}

ControlMessage await_message(World& world, int tag) {
  for (int looks = 0;; ++looks) {
    std::optional<ControlMessage> message = world.access()->receive_control();
    if (message && message->tag == tag) return std::move(*message);
    if (!message) world.rest(std::chrono::microseconds(looks < kPatience ? 0 : 50));
  }
}

void send_message(World& world, int rank, int tag, std::span<const std::byte> bytes) {
  world.access()->send_control(rank, tag, bytes);
  while (world.access()->pending_control() > 0) world.rest(std::chrono::microseconds(0));
}

}  // namespace tdsl::rt
