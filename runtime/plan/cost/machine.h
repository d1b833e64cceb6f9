#pragma once

#include <string>
#include <string_view>

namespace tdsl::plan {

/// Machine constants; all ranks plan with those of rank 0. Statistics name them. Where near and far are equal, nodes
/// are not told apart: `bandwidth` is that of every rank. Where they differ, the ranks of a node share the `bandwidth`
/// that enters it.
struct Machine {
  double latency = 2e-6;        ///< seconds per message between nodes
  double bandwidth = 3e9;       ///< bytes per second that enter a node
  double flop_rate = 3e10;      ///< floating-point operations per second and thread, BLAS
  double stream_rate = 8e9;     ///< bytes per second and thread
  double task_overhead = 6e-6;  ///< seconds per task beside its kernel, recording and admission included
  double exchange_overhead =
      3.3e-5;                    ///< seconds per operation of which a rank receives anything, beside latency and bytes
  double near_latency = 0;       ///< seconds per message between ranks of a node; 0: as between nodes
  double near_bandwidth = 0;     ///< bytes per second and rank from ranks of the same node; 0: as between nodes
  double disk_read_rate = 1e9;   ///< bytes per second and node
  double disk_write_rate = 5e8;  ///< bytes per second and node
  double write_call =
      0;  ///< seconds per piece that a rank writes to an output in C order, beside its bytes; 0: pieces cost nothing

  [[nodiscard]] double latency_within() const { return near_latency > 0 ? near_latency : latency; }
  [[nodiscard]] double bandwidth_within() const { return near_bandwidth > 0 ? near_bandwidth : bandwidth; }
  [[nodiscard]] bool tells_nodes() const { return latency_within() != latency || bandwidth_within() != bandwidth; }
  /// The constants where all ranks are on one node.
  [[nodiscard]] Machine within_node() const;
  friend bool operator==(const Machine&, const Machine&) = default;
};

/// What a rank receives for one operation.
struct Traffic {
  double bytes = 0;
  double messages = 0;
  bool nodes = false;   ///< nodes have several ranks and are told apart: the following holds
  double far = 0;       ///< of the bytes, those that it receives from other nodes itself
  double entering = 0;  ///< bytes that enter its node
};
[[nodiscard]] double seconds_of_bytes(const Traffic& traffic, const Machine& machine);
[[nodiscard]] double seconds_of_messages(const Traffic& traffic, const Machine& machine);
[[nodiscard]] inline double seconds_of(const Traffic& traffic, const Machine& machine) {
  return seconds_of_bytes(traffic, machine) + seconds_of_messages(traffic, machine);
}

/// What `tasks` of one operation cost a rank beside their kernels: threads share them, and one alone is no quicker for
/// them.
[[nodiscard]] double seconds_of_tasks(double tasks, const Machine& machine, int threads);

/// The text of a file of constants: a line `name = value` each, `#` begins a comment. Exact: reading it back gives
/// equal numbers.
[[nodiscard]] std::string machine_text(const Machine& machine);
/// Reads such a text; constants it does not name keep their built-in values, those within a
/// node the values between nodes. Throws std::runtime_error with the line's number for
/// an unknown name or a value that is no positive finite number.
[[nodiscard]] Machine parse_machine(std::string_view text);

}  // namespace tdsl::plan
