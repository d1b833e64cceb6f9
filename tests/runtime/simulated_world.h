#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "runtime/engine/link.h"

// Many ranks in one process: the real engine over a simulated network. A seed determines which rank runs, how long
// every message takes, and the order of arrival, so that a run can be repeated exactly. Only MPI's guarantees hold:
// messages with the same sender and tag are non-overtaking, nothing else is ordered; memory being sent is read late.

namespace tdsl::tests {

class Simulation {
 public:
  /// `ranks_per_node`: groups the ranks into nodes of this size.
  Simulation(int ranks, std::uint64_t seed, int ranks_per_node = 0);
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  /// Runs `program` once per rank. Rethrows the exception of the lowest rank that throws. In a deadlock one of the
  /// ranks gets an InternalError.
  void run(const std::function<void(rt::World&)>& program);

  /// Called by the running rank: reports progress that the network cannot see.
  void touch();

  /// Counts of a finished rank.
  [[nodiscard]] const rt::Traffic& traffic(int rank) const { return traffic_[static_cast<std::size_t>(rank)]; }

 private:
  class SimulatedLink;
  struct Network;
  std::unique_ptr<Network> network_;
  std::vector<rt::Traffic> traffic_;
};

}  // namespace tdsl::tests
