#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <mutex>
#include <vector>

#include "runtime/check.h"
#include "runtime/engine/mpi/mpi_world.h"

/// Transport of a World's messages: over MPI in executables (mpi_state.h), simulated ranks in one process in tests.
/// Callers hold `mutex` unless stated otherwise.
namespace tdsl::rt {

class Link : public Transport {
 public:
  // Without `mutex`:

  virtual void abort_all(int exit_code) = 0;
  /// Suppresses messages of the underlying library: peers are about to exit.
  virtual void fall_silent() {}
  /// See World.
  virtual void expect_end(std::chrono::seconds /*limit*/, std::function<int()> /*otherwise*/) {}
  [[nodiscard]] virtual bool give_up() { return true; }
  virtual void rest(std::chrono::microseconds least) = 0;
  [[nodiscard]] virtual std::chrono::duration<double> now() const = 0;

  int rank = 0;
  int size = 1;
  bool has_mpi = false;
  int max_tag = std::numeric_limits<int>::max();
  Topology topology;
  mutable std::mutex mutex;  // guards communication

  Traffic total;
  std::vector<Traffic> statements;
  std::vector<std::int64_t> received_from;  ///< payload bytes by rank; ends with the last rank that sent any

  template <class F>
  void count(StatementId statement, F&& add) {
    add(total);
    if (statement == kNoStatement) { return; }
    const auto index = static_cast<std::size_t>(statement);
    if (index >= statements.size()) { statements.resize(index + 1); }
    add(statements[index]);
  }

  void count_received(int source, StatementId statement, std::int64_t bytes) {
    const auto from = static_cast<std::size_t>(source);
    if (from >= received_from.size()) received_from.resize(from + 1);
    received_from[from] += bytes;
    const bool other_node = is_on_other_node(source);
    count(statement, [=](Traffic& t) {
      t.bytes_received += bytes;
      t.bytes_from_other_nodes += other_node ? bytes : 0;
      ++t.messages_received;
    });
  }

  [[nodiscard]] bool is_on_other_node(int peer) const {
    return topology.node_of_rank[static_cast<std::size_t>(peer)] != topology.node;
  }

  /// Simulates nodes of `ranks_per_node` consecutive ranks. The ranks still share the same cores.
  void pretend_nodes(int ranks_per_node) {
    topology.node_count = (size + ranks_per_node - 1) / ranks_per_node;
    topology.node = rank / ranks_per_node;
    topology.node_of_rank.clear();
    for (int r = 0; r < size; ++r) topology.node_of_rank.push_back(r / ranks_per_node);
  }

  void check_peer(int peer, int tag) const {
    TDSL_CHECK(0 <= peer && peer < size && peer != rank, "data goes to another rank");
    TDSL_CHECK(0 <= tag && tag <= max_tag, "a tag that can be carried");
  }
};

}  // namespace tdsl::rt
