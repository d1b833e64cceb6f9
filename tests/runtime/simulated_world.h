#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "runtime/engine/link.h"

// Many ranks in one process: the real engine over a network that is made up. A seed decides who runs when, how long
// every message takes and which of several arrives first, so that a run can be repeated exactly. Of what MPI promises
// nothing is added: messages of one sender and tag keep their order, nothing else does; memory that is being sent is
// looked at late.

namespace tdsl::tests {

class Simulation {
 public:
  /// With `ranks_per_node` the ranks are on nodes of so many.
  Simulation(int ranks, std::uint64_t seed, int ranks_per_node = 0);
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  /// Runs `program` once per rank. An exception on any rank is thrown again, that of the lowest rank. When no rank can
  /// go on, one of them gets an InternalError.
  void run(const std::function<void(rt::World&)>& program);

  /// By the rank whose turn it is: something has moved that the network knows nothing of.
  void touch();

  /// Counts of a rank that has run.
  [[nodiscard]] const rt::Traffic& traffic(int rank) const { return traffic_[static_cast<std::size_t>(rank)]; }

 private:
  class SimulatedLink;
  struct Network;
  std::unique_ptr<Network> network_;
  std::vector<rt::Traffic> traffic_;
};

}  // namespace tdsl::tests
