#include "runtime/app/statistics.h"

#include <algorithm>
#include <cstring>
#include <fstream>
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
    n.flops = s.flops;
    n.tasks = static_cast<double>(s.tasks);
    n.kernels = static_cast<double>(s.kernels);
    n.stored = static_cast<double>(s.stored);
    n.stored_bytes = static_cast<double>(s.stored_bytes);
    n.begin = s.first_start;
    n.seconds = s.last_end - s.first_start;
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
  numbers.phases = mine.phases;
  numbers.longest_silence = mine.silence.longest;
  numbers.packed_bytes = static_cast<double>(mine.packed_bytes);
  if (mine.baseline) {
    numbers.baseline_bytes = mine.baseline->bytes_received;
    numbers.baseline_tasks = mine.baseline->tasks;
    numbers.baseline_seconds = mine.baseline->seconds;
  }
  const std::vector<std::vector<std::byte>> gathered = world.access().all_gather(encode(numbers, site_numbers(mine)));
  if (world.rank() != 0) return {};
  std::vector<RankFigures> ranks;
  for (const std::vector<std::byte>& bytes : gathered) ranks.push_back(decode(bytes));

  return statistics_text(run, ranks, mine.predictions, {mine.measured, mine.baseline.has_value()});
}

}  // namespace tdsl::rt
