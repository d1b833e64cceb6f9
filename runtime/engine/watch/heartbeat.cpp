#include "runtime/engine/watch/heartbeat.h"

#include <algorithm>
#include <sstream>
#include <utility>

namespace tdsl::rt {

std::string encode(const Pulse& pulse) {
  return std::to_string(pulse.progress) + (pulse.idle ? " 1 " : " 0 ") + pulse.where;
}

Pulse decode_pulse(const std::string& text) {
  std::istringstream words(text);
  Pulse pulse;
  words >> pulse.progress >> pulse.idle;
  words.get();
  std::getline(words, pulse.where);
  return pulse;
}

Heartbeat::Heartbeat(int rank, int size, double patience, double now) : rank_(rank), patience_(patience), ticked_(now) {
  if (rank > 0) neighbours_.push_back((rank - 1) / kArity);
  for (int child = kArity * rank + 1; child <= kArity * rank + kArity && child < size; ++child)
    neighbours_.push_back(child);
  for (const int neighbour : neighbours_) state_[neighbour].heard = now;
}

void Heartbeat::hear(int rank, Pulse pulse, double now) {
  const auto found = state_.find(rank);
  if (found != state_.end()) found->second = {now, std::move(pulse), true};
}

std::optional<int> Heartbeat::tick(double now) {
  const double slept = now - std::exchange(ticked_, now);
  if (slept > kOwnSleep) {
    for (auto& [rank, neighbour] : state_) neighbour.heard = now;
  }
  if (patience_ <= 0) return std::nullopt;
  for (const auto& [rank, neighbour] : state_) {
    const double turn = rank < rank_ ? kTurn * static_cast<double>((rank_ - 1) % kArity) : 0;
    if (now - neighbour.heard >= patience_ + turn) return rank;
  }
  return std::nullopt;
}

Pulse Heartbeat::sum(Pulse own, double now) const {
  for (const auto& [rank, neighbour] : state_) {
    if (rank < rank_) continue;
    own.progress += neighbour.pulse.progress;
    own.idle = own.idle && neighbour.known && neighbour.pulse.idle && now - neighbour.heard < kOwnSleep;
  }
  return own;
}

std::string Heartbeat::where(int rank) const {
  const auto found = state_.find(rank);
  return found == state_.end() ? std::string() : found->second.pulse.where;
}

double Heartbeat::silence(int rank, double now) const {
  const auto found = state_.find(rank);
  return found == state_.end() ? 0 : now - found->second.heard;
}

}  // namespace tdsl::rt
