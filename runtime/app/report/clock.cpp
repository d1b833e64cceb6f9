#include "runtime/app/report/clock.h"

#include <cstring>
#include <limits>

#include "runtime/app/watch/rank_messages.h"

namespace tdsl::rt {

namespace {

constexpr int kRounds = 8;

}  // namespace

double clock_offset(World& world) {
  if (world.rank() == 0) {
    for (int left = kRounds * (world.size() - 1); left > 0; --left) {
      const int asking = await_message(world, kClockAsk).source;
      const double now = world.now();
      send_message(world, asking, kClockAnswer, std::as_bytes(std::span(&now, 1)));
    }
    return 0;
  }
  double offset = 0;
  double fastest = std::numeric_limits<double>::infinity();
  for (int round = 0; round < kRounds; ++round) {
    const double before = world.now();
    send_message(world, 0, kClockAsk, {});
    const ControlMessage answer = await_message(world, kClockAnswer);
    const double after = world.now();
    double there = 0;
    TDSL_CHECK(answer.bytes.size() == sizeof there, "a clock's answer is a time");
    std::memcpy(&there, answer.bytes.data(), sizeof there);
    if (after - before >= fastest) continue;
    fastest = after - before;
    offset = there - (before + after) / 2;
  }
  return offset;
}

}  // namespace tdsl::rt
