#include "runtime/app/report/statistics.h"

#include <cstring>
#include <fstream>
#include <limits>
#include <span>
#include <utility>

namespace tdsl::rt {

namespace {

std::vector<std::byte> encode(const RankNumbers& rank, std::span<const SiteNumbers> sites) {
  const auto head = std::as_bytes(std::span(&rank, 1));
  const auto tail = std::as_bytes(sites);
  std::vector<std::byte> bytes(head.begin(), head.end());
  bytes.insert(bytes.end(), tail.begin(), tail.end());
  return bytes;
}

RankFigures decode(std::span<const std::byte> bytes) {
  RankFigures rank;
  std::memcpy(&rank.numbers, bytes.data(), sizeof rank.numbers);
  bytes = bytes.subspan(sizeof rank.numbers);
  rank.sites.resize(bytes.size() / sizeof(SiteNumbers));
  if (!bytes.empty()) std::memcpy(rank.sites.data(), bytes.data(), bytes.size());
  return rank;
}

std::vector<SiteNumbers> site_numbers(const RankStatistics& mine) {
  std::map<int, SiteNumbers> sites;
  for (const SiteStatistics& s : mine.sites) {
    SiteNumbers& n = sites[s.site];
    n.bytes_received = static_cast<double>(s.bytes_received);
    n.bytes_sent = static_cast<double>(s.bytes_sent);
    n.messages = static_cast<double>(s.messages);
    n.bytes_by_lists = static_cast<double>(s.bytes_by_lists);
    n.list_bytes = static_cast<double>(s.list_bytes);
    n.bytes_in_place = static_cast<double>(s.bytes_in_place);
    n.flops = s.flops;
    n.tasks = static_cast<double>(s.tasks);
    n.kernels = static_cast<double>(s.kernels);
    n.stored = static_cast<double>(s.stored);
    n.stored_bytes = static_cast<double>(s.stored_bytes);
    n.disk_read = static_cast<double>(s.disk_read);
    n.disk_written = static_cast<double>(s.disk_written);
    n.begin = s.first_start;
    n.seconds = s.last_end - s.first_start;
    n.wall = s.front.wall;
    n.kernel_seconds = s.kernel_seconds;
    n.waiting_seconds = s.front.waiting;
    n.disk_waiting_seconds = s.front.disk;
  }
  for (const auto& [site, written] : mine.writes) {
    sites[site].writes = static_cast<double>(written.calls);
    sites[site].written_bytes = static_cast<double>(written.bytes);
  }
  add_predictions(sites, mine.predictions);
  std::vector<SiteNumbers> list;
  for (auto& [site, numbers] : sites) {
    numbers.site = site;
    list.push_back(numbers);
  }
  return list;
}

}  // namespace

plan::Index peak_rss() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stoll(line.substr(6)) * 1024;
  }
  return 0;
}

namespace {

/// Gathers the matrix; complete on rank 0 only.
TrafficMatrix traffic_matrix(World& world, const std::vector<std::int64_t>& received_from) {
  TrafficMatrix matrix;
  const std::vector<int> rows = matrix_rows(world.topology().node_of_rank, matrix);
  std::vector<double> mine(matrix.bytes.size(), 0.0);
  for (std::size_t r = 0; r < received_from.size(); ++r)
    mine[static_cast<std::size_t>(rows[r])] += static_cast<double>(received_from[r]);
  const auto gathered = world.access()->all_gather_values<double>(mine);
  for (std::size_t r = 0; r < gathered.size(); ++r) {
    std::vector<double>& row = matrix.bytes[static_cast<std::size_t>(rows[r])];
    for (std::size_t c = 0; c < row.size(); ++c) row[c] += gathered[r][c];
  }
  return matrix;
}

}  // namespace

std::string statistics_json(World& world, const RunDescription& run, const RankStatistics& mine) {
  RankNumbers numbers;
  numbers.bytes_received = static_cast<double>(mine.traffic.bytes_received);
  numbers.bytes_from_other_nodes = static_cast<double>(mine.traffic.bytes_from_other_nodes);
  numbers.bytes_sent = static_cast<double>(mine.traffic.bytes_sent);
  numbers.control_bytes = static_cast<double>(mine.traffic.control_bytes_received);
  numbers.peak_block_bytes = static_cast<double>(mine.peak_block_bytes);
  numbers.predicted_peak_block_bytes = mine.predictions.peak_block_bytes();
  numbers.start_rss_bytes = static_cast<double>(mine.start_rss_bytes);
  numbers.peak_rss_bytes = static_cast<double>(mine.peak_rss_bytes);
  numbers.blocks_at_exit = static_cast<double>(mine.blocks_at_exit);
  numbers.disk_read = static_cast<double>(mine.disk.read);
  numbers.disk_written = static_cast<double>(mine.disk.written);
  numbers.peak_disk_bytes = static_cast<double>(mine.disk.most_held);
  numbers.disk_bytes_at_exit = static_cast<double>(mine.disk.held);
  numbers.phases = mine.phases;
  numbers.longest_silence = mine.silence.longest;
  numbers.between_wall = mine.between.wall;
  numbers.between_waiting = mine.between.waiting;
  numbers.between_disk_waiting = mine.between.disk;
  numbers.packed_bytes = static_cast<double>(mine.packed_bytes);
  if (mine.baseline) {
    numbers.baseline_bytes = mine.baseline->bytes_received;
    numbers.baseline_tasks = mine.baseline->tasks;
    numbers.baseline_seconds = mine.baseline->seconds;
  }
  const std::vector<std::vector<std::byte>> gathered = world.access()->all_gather(encode(numbers, site_numbers(mine)));
  TrafficMatrix matrix;
  if (mine.measured && world.size() > 1) matrix = traffic_matrix(world, mine.received_from);
  if (world.rank() != 0) return {};
  std::vector<RankFigures> ranks;
  for (const std::vector<std::byte>& bytes : gathered) ranks.push_back(decode(bytes));

  return statistics_text(run, ranks, mine.predictions, {mine.measured, mine.baseline.has_value(), std::move(matrix)});
}

namespace {

struct Counts {
  int line = 0;
  double bytes_received = 0, bytes_in_place = 0, bytes_sent = 0, tasks = 0, flops = 0, disk_read = 0, disk_written = 0;
};

/// Widens the range by rounding errors. Operations per point may be fractional, and tasks add them in completion order:
/// measured and predicted sums each have an error of at most half an ulp per term.
plan::Range with_rounding(const plan::Range& range, double terms) {
  const double share = 2 * (terms + 1) * std::numeric_limits<double>::epsilon();
  return {range.lo * (1 - share), range.hi * (1 + share)};
}

void compare(SourceLine place, const std::string& what, double measured, const plan::Range& predicted) {
  if (predicted.lo <= measured && measured <= predicted.hi) return;
  throw RunError(place, "this rank counted " + std::to_string(measured) + " " + what + " where " +
                            std::to_string(predicted.lo) + " to " + std::to_string(predicted.hi) +
                            " were predicted: a fault of the compiler, please report it [internal-error]");
}

}  // namespace

void check_counts(const Predictions& predictions, const std::vector<SiteStatistics>& measured,
                  const std::map<int, WriteCount>& writes, const std::function<SourceLine(int)>& place) {
  std::map<int, Counts> sites;
  for (const SiteStatistics& s : measured) {
    Counts& counts = sites[s.site];
    counts.line = s.line;
    counts.bytes_received += static_cast<double>(s.bytes_received);
    counts.bytes_in_place += static_cast<double>(s.bytes_in_place);
    counts.bytes_sent += static_cast<double>(s.bytes_sent);
    counts.tasks += static_cast<double>(s.tasks);
    counts.flops += s.flops;
    counts.disk_read += static_cast<double>(s.disk_read);
    counts.disk_written += static_cast<double>(s.disk_written);
  }
  for (const auto& [site, prediction] : predictions.sites()) {
    const Counts counts = sites[site];
    const SourceLine line = place(counts.line != 0 ? counts.line : prediction.line);
    compare(line, "bytes received", counts.bytes_received, prediction.cost.bytes_received);
    compare(line, "bytes read in place", counts.bytes_in_place, {prediction.bytes_in_place, prediction.bytes_in_place});
    compare(line, "bytes sent", counts.bytes_sent, prediction.bytes_sent);
    compare(line, "bytes read from disk", counts.disk_read, prediction.cost.disk_read);
    // Results that are dead on completion are not written.
    compare(line, "bytes written to disk", counts.disk_written, {0, prediction.cost.disk_written.hi});
    const auto written = writes.find(site);
    if (written != writes.end() && prediction.cost.writes.hi > 0)
      compare(line, "writes", static_cast<double>(written->second.calls), prediction.cost.writes);
    compare(line, "tasks", counts.tasks, prediction.cost.tasks);
    compare(line, "operations", counts.flops, with_rounding(prediction.cost.flops, counts.tasks));
  }
}

}  // namespace tdsl::rt
