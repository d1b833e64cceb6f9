#include "runtime/plan/cost/machine.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace tdsl::plan {

namespace {

constexpr std::array<std::pair<std::string_view, double Machine::*>, 15> kConstants{
    {{"latency", &Machine::latency},
     {"bandwidth", &Machine::bandwidth},
     {"near_latency", &Machine::near_latency},
     {"near_bandwidth", &Machine::near_bandwidth},
     {"flop_rate", &Machine::flop_rate},
     {"row_product_rate", &Machine::row_product_rate},
     {"loop_rate", &Machine::loop_rate},
     {"stream_rate", &Machine::stream_rate},
     {"last_cache", &Machine::last_cache},
     {"task_overhead", &Machine::task_overhead},
     {"exchange_overhead", &Machine::exchange_overhead},
     {"grain", &Machine::grain},
     {"disk_read_rate", &Machine::disk_read_rate},
     {"disk_write_rate", &Machine::disk_write_rate},
     {"write_call", &Machine::write_call}}};

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

void read_line(Machine& machine, std::string_view line) {
  line = trimmed(line.substr(0, line.find('#')));
  if (line.empty()) return;
  const std::size_t equals = line.find('=');
  if (equals == std::string_view::npos) throw std::runtime_error("not of the form `name = value`");
  const std::string_view name = trimmed(line.substr(0, equals));
  const std::string_view text = trimmed(line.substr(equals + 1));
  for (const auto& [known, member] : kConstants) {
    if (known != name) continue;
    double value = 0;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
    if (result.ec != std::errc() || result.ptr != text.data() + text.size() || !std::isfinite(value) || value <= 0) {
      throw std::runtime_error("`" + std::string(text) + "` is not a positive number");
    }
    machine.*member = value;
    return;
  }
  throw std::runtime_error("no constant is called `" + std::string(name) + "`");
}

}  // namespace

Machine Machine::within_node() const {
  Machine machine = *this;
  machine.latency = latency_within();
  machine.bandwidth = bandwidth_within();
  machine.near_latency = machine.near_bandwidth = 0;
  return machine;
}

double seconds_of_bytes(const Traffic& traffic, const Machine& machine) {
  if (!traffic.nodes) return traffic.bytes / machine.bandwidth;
  return (traffic.bytes - traffic.far) / machine.bandwidth_within() + traffic.entering / machine.bandwidth;
}

double seconds_of_messages(const Traffic& traffic, const Machine& machine) {
  if (traffic.messages == 0) return 0;
  if (!traffic.nodes) return machine.exchange_overhead + traffic.messages * machine.latency;
  const double far = traffic.bytes > 0 ? traffic.far / traffic.bytes : 0;
  return machine.exchange_overhead + traffic.messages * (far * machine.latency + (1 - far) * machine.latency_within());
}

double seconds_of_tasks(double tasks, const Machine& machine, int threads) {
  return tasks > 0 ? std::max(1.0, tasks / threads) * machine.task_overhead : 0;
}

std::string machine_text(const Machine& machine) {
  std::string text =
      "# Constants of this machine for choosing plans: seconds, bytes and floating-point operations per second.\n";
  for (const auto& [name, member] : kConstants) {
    if (machine.*member == 0) continue;  // zero: it follows from another constant
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), machine.*member).ptr;
    text += std::string(name) + " = " + std::string(digits.data(), end) + "\n";
  }
  return text;
}

Machine parse_machine(std::string_view text) {
  Machine machine;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    try {
      read_line(machine, text.substr(0, end));
    } catch (const std::runtime_error& error) {
      throw std::runtime_error("line " + std::to_string(number) + ": " + error.what());
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return machine;
}

namespace {

/// Rows of a block around a product (runtime/kernels/rows.h).
constexpr double kBlockRows = 128;
/// Rate of packing from cache, in multiples of the stream rate.
constexpr double kCacheRate = 4;

}  // namespace

double seconds_of_flops(const Op& op, double flops, const Machine& machine) {
  if (op.op_class == OpClass::kContraction) return flops / machine.flop_rate;
  const double products = op.product_share;
  return flops * (products * machine.product_in_rows() + (1 - products) * machine.flop_in_loop()) / machine.flop_rate;
}

double seconds_of_loop(double flops, const Machine& machine) {
  return flops * machine.flop_in_loop() / machine.flop_rate;
}

double seconds_of_point(const Op& op, const Machine& machine) {
  constexpr double kElementBytes = 8;
  const double bytes =
      kElementBytes * (streams_operands(op) ? 0 : static_cast<double>(op.reads.size() + op.outputs.size()));
  return std::max(seconds_of_flops(op, op.flops_per_point, machine), bytes / machine.stream_rate);
}

double reads_of_shared(const Op& op, double points) {
  double row = 1;
  for (std::size_t d = 0; d < op.shape.size(); ++d) {
    if (op.is_uncut(d)) row *= static_cast<double>(std::max<Index>(op.shape[d], 1));
  }
  return std::max(1.0, std::ceil(points / row / kBlockRows));
}

double seconds_to_pack(double bytes, const Machine& machine) {
  const double rate = bytes > machine.last_cache / 2 ? 1 : kCacheRate;
  return bytes / (rate * machine.stream_rate);
}

bool is_shared(const Access& access) {
  return !access.dims.empty() &&
         std::ranges::all_of(access.dims, [](const DimAccess& d) { return d.whole || d.terms.empty(); });
}

}  // namespace tdsl::plan
