#pragma once

#include <string>
#include <string_view>

#include "runtime/plan/op.h"

namespace tdsl::plan {

/// Machine constants; all ranks plan with those of rank 0. Statistics print them by name. If near and far constants are
/// equal, nodes are ignored and `bandwidth` applies per rank. Otherwise the ranks of a node share its inbound
/// `bandwidth`.
struct Machine {
  double latency = 2e-6;        ///< seconds per message between nodes
  double bandwidth = 3e9;       ///< inbound bytes per second and node
  double flop_rate = 3e10;      ///< floating-point operations per second and thread of large matrix products
  double row_product_rate = 0;  ///< the same of products in blocks of rows; 0: same as flop_rate
  double loop_rate = 0;         ///< the same of vector loops that compute; 0: a fifth of flop_rate
  double stream_rate = 8e9;     ///< bytes per second and thread
  double last_cache = 3.2e7;    ///< bytes of the last-level cache
  double task_overhead =
      6e-6;  ///< seconds of overhead per task apart from its kernel, including recording and admission
  double exchange_overhead =
      3.3e-5;               ///< seconds per operation for which a rank receives data, apart from latency and bandwidth
  double grain = 2e-5;      ///< least seconds of work worth another thread: at least the time to wake one
  double near_latency = 0;  ///< seconds per message between ranks of a node; 0: same as between nodes
  double near_bandwidth = 0;     ///< bytes per second and rank from ranks of the same node; 0: same as between nodes
  double disk_read_rate = 1e9;   ///< bytes per second and node
  double disk_write_rate = 5e8;  ///< bytes per second and node
  double write_call =
      0;  ///< seconds per piece that a rank writes to an output in C order, apart from its bytes; 0: pieces are free

  [[nodiscard]] double latency_within() const { return near_latency > 0 ? near_latency : latency; }
  [[nodiscard]] double bandwidth_within() const { return near_bandwidth > 0 ? near_bandwidth : bandwidth; }
  [[nodiscard]] bool tells_nodes() const { return latency_within() != latency || bandwidth_within() != bandwidth; }
  /// Seconds of a flop of these classes over those of a large product.
  [[nodiscard]] double product_in_rows() const { return row_product_rate > 0 ? flop_rate / row_product_rate : 1; }
  [[nodiscard]] double flop_in_loop() const { return loop_rate > 0 ? flop_rate / loop_rate : kFlopInLoop; }
  /// The constants if all ranks are on one node.
  [[nodiscard]] Machine within_node() const;
  friend bool operator==(const Machine&, const Machine&) = default;

 private:
  static constexpr double kFlopInLoop = 5;
};

/// Data that a rank receives for one operation.
struct Traffic {
  double bytes = 0;
  double messages = 0;
  bool nodes = false;   ///< true: nodes have several ranks and are distinguished; the following fields are valid
  double far = 0;       ///< bytes that the rank itself receives from other nodes
  double entering = 0;  ///< bytes that enter its node
};
[[nodiscard]] double seconds_of_bytes(const Traffic& traffic, const Machine& machine);
[[nodiscard]] double seconds_of_messages(const Traffic& traffic, const Machine& machine);
[[nodiscard]] inline double seconds_of(const Traffic& traffic, const Machine& machine) {
  return seconds_of_bytes(traffic, machine) + seconds_of_messages(traffic, machine);
}

/// Overhead of `tasks` tasks of one operation on a rank, excluding kernels: threads share it, but a single task gains
/// nothing from them.
[[nodiscard]] double seconds_of_tasks(double tasks, const Machine& machine, int threads);

/// Seconds of one point of an operation on dense tensors, on one thread.
[[nodiscard]] double seconds_of_point(const Op& op, const Machine& machine);

/// Text of a constants file: one `name = value` per line, `#` begins a comment. Exact: parsing it gives equal numbers.
[[nodiscard]] std::string machine_text(const Machine& machine);
/// Parses such a text; constants it does not name keep their built-in values, and missing within-node constants take
/// the values between nodes. Throws std::runtime_error with the line number for an unknown name or a value that is not
/// positive and finite.
[[nodiscard]] Machine parse_machine(std::string_view text);

// Compute time of one thread by kind of kernel.

/// Seconds for `flops` floating-point operations of the operation: a large product, products in blocks of rows, or
/// emitted loops.
[[nodiscard]] double seconds_of_flops(const Op& op, double flops, const Machine& machine);
/// The same of an emitted loop.
[[nodiscard]] double seconds_of_loop(double flops, const Machine& machine);

/// True if the kernel streams its operands from memory once; otherwise every point of its loop reads them.
[[nodiscard]] inline bool streams_operands(const Op& op) { return op.op_class == OpClass::kContraction || op.by_rows; }

/// How often a fused operator in tasks of `points` points reads operands shared by all rows: once per row block.
[[nodiscard]] double reads_of_shared(const Op& op, double points);

/// Seconds in which a row block of a fused operator packs a shared operand of `bytes` bytes for a product: from memory
/// if it exceeds half of the last-level cache. This adds to the time of the product instead of overlapping with it.
[[nodiscard]] double seconds_to_pack(double bytes, const Machine& machine);

/// True if no subscript uses a label, so all points share the operand.
[[nodiscard]] bool is_shared(const Access& access);

}  // namespace tdsl::plan
