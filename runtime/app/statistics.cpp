#include "runtime/app/statistics.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <span>
#include <string_view>
#include <utility>

#include "runtime/app/json_writer.h"
#include "runtime/check.h"
#include "runtime/plan/cost/sent_bytes.h"

namespace tdsl::rt {

namespace {

/// One rank's numbers of one site.
struct SiteNumbers {
  double site = 0;
  double bytes_received = 0, bytes_sent = 0, messages = 0, flops = 0, tasks = 0, kernels = 0, seconds = 0;
  plan::Range predicted_bytes, predicted_sent, predicted_from_other_nodes, predicted_messages, predicted_flops, predicted_tasks, predicted_seconds;
};
/// One rank's numbers without its sites.
struct RankNumbers {
  double bytes_received = 0, bytes_from_other_nodes = 0, bytes_sent = 0, control_bytes = 0, blocks_at_exit = 0;
  double peak_block_bytes = 0, start_rss_bytes = 0, peak_rss_bytes = 0;
  double predicted_peak_block_bytes = 0;
  double packed_bytes = 0;
  double longest_silence = 0;
  plan::Range baseline_bytes, baseline_tasks, baseline_seconds;
  Phases phases;
};

std::vector<std::byte> encode(const RankNumbers& rank, std::span<const SiteNumbers> sites) {
  const auto head = std::as_bytes(std::span(&rank, 1));
  const auto tail = std::as_bytes(sites);
  std::vector<std::byte> bytes(head.begin(), head.end());
  bytes.insert(bytes.end(), tail.begin(), tail.end());
  return bytes;
}

struct Rank {
  RankNumbers numbers;
  std::vector<SiteNumbers> sites;
};

Rank decode(std::span<const std::byte> bytes) {
  Rank rank;
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
    n.seconds = s.last_end - s.first_start;
  }
  for (const auto& [site, prediction] : mine.predictions.sites()) {
    SiteNumbers& n = sites[site];
    n.predicted_bytes = prediction.cost.bytes_received;
    n.predicted_sent = prediction.bytes_sent;
    n.predicted_from_other_nodes = prediction.bytes_from_other_nodes;
    n.predicted_messages = plan::messages_of(prediction.cost);
    n.predicted_flops = prediction.cost.flops;
    n.predicted_tasks = prediction.cost.tasks;
    n.predicted_seconds = prediction.cost.seconds;
  }
  std::vector<SiteNumbers> list;
  for (auto& [site, numbers] : sites) {
    numbers.site = site;
    list.push_back(numbers);
  }
  return list;
}

void range_field(JsonWriter& json, std::string_view name, const plan::Range& range) {
  if (range.lo == range.hi) {
    json.field(name, range.lo);
  } else {
    json.key(name).begin_array().value(range.lo).value(range.hi).end_array();
  }
}

void raise_to(plan::Range& most, const plan::Range& r) {
  most.lo = std::max(most.lo, r.lo);
  most.hi = std::max(most.hi, r.hi);
}

/// Sums over ranks; seconds are the slowest rank's.
SiteNumbers over_ranks(const std::vector<Rank>& ranks, int site) {
  SiteNumbers sum;
  for (const Rank& rank : ranks) {
    for (const SiteNumbers& n : rank.sites) {
      if (n.site != site) continue;
      sum.bytes_received += n.bytes_received;
      sum.bytes_sent += n.bytes_sent;
      sum.messages += n.messages;
      sum.flops += n.flops;
      sum.tasks += n.tasks;
      sum.kernels += n.kernels;
      sum.seconds = std::max(sum.seconds, n.seconds);
      sum.predicted_bytes += n.predicted_bytes;
      sum.predicted_sent += n.predicted_sent;
      sum.predicted_messages += n.predicted_messages;
      sum.predicted_flops += n.predicted_flops;
      sum.predicted_tasks += n.predicted_tasks;
      raise_to(sum.predicted_seconds, n.predicted_seconds);
    }
  }
  return sum;
}

void write_statements(JsonWriter& json, const std::vector<Rank>& ranks, const RankStatistics& mine) {
  json.key("statements").begin_array();
  for (const auto& [site, prediction] : mine.predictions.sites()) {
    const SiteNumbers n = over_ranks(ranks, site);
    json.begin_object().field("line", prediction.line).field("kind", prediction.kind);
    json.key("predicted").begin_object();
    range_field(json, "bytes_received", n.predicted_bytes);
    range_field(json, "bytes_sent", n.predicted_sent);
    range_field(json, "messages", n.predicted_messages);
    range_field(json, "flops", n.predicted_flops);
    range_field(json, "tasks", n.predicted_tasks);
    range_field(json, "seconds", n.predicted_seconds);
    json.end_object();
    if (mine.measured) {
      json.key("measured").begin_object();
      json.field("bytes_received", n.bytes_received).field("bytes_sent", n.bytes_sent).field("messages", n.messages);
      json.field("flops", n.flops).field("tasks", n.tasks).field("kernels", n.kernels).field("seconds", n.seconds);
      json.end_object();
    }
    json.end_object();
  }
  json.end_array();
}

void write_rank(JsonWriter& json, const Rank& rank, std::size_t number, const RunDescription& run, bool measured) {
  plan::Range bytes;
  plan::Range from_other_nodes;
  plan::Range sent;
  plan::Range flops;
  plan::Range tasks;
  for (const SiteNumbers& n : rank.sites) {
    bytes += n.predicted_bytes;
    sent += n.predicted_sent;
    from_other_nodes += n.predicted_from_other_nodes;
    flops += n.predicted_flops;
    tasks += n.predicted_tasks;
  }
  const auto predictions = [&] {
    range_field(json, "bytes_received", bytes);
    range_field(json, "bytes_sent", sent);
    if (run.ranks_per_node > 1) range_field(json, "bytes_from_other_nodes", from_other_nodes);
    range_field(json, "flops", flops);
    range_field(json, "tasks", tasks);
    json.field("peak_block_bytes", rank.numbers.predicted_peak_block_bytes);
  };
  json.begin_object().field("rank", number);
  if (!measured) {
    predictions();
    json.end_object();
    return;
  }
  const RankNumbers& n = rank.numbers;
  json.field("bytes_received", n.bytes_received).field("bytes_sent", n.bytes_sent).field("control_bytes", n.control_bytes);
  json.field("bytes_from_other_nodes", n.bytes_from_other_nodes);
  json.field("longest_silence", n.longest_silence);
  json.field("peak_block_bytes", n.peak_block_bytes).field("start_rss_bytes", n.start_rss_bytes).field("peak_rss_bytes", n.peak_rss_bytes);
  json.field("blocks_at_exit", n.blocks_at_exit);
  json.key("predicted").begin_object();
  predictions();
  json.end_object().end_object();
}

/// What the switch changed: predictions with and without it, and what was copied to give every rank the same strides.
void write_reproducible(JsonWriter& json, const std::vector<Rank>& ranks, bool measured) {
  plan::Range bytes, tasks, seconds, bytes_baseline, tasks_baseline, seconds_baseline;
  double packed = 0;
  for (const Rank& rank : ranks) {
    plan::Range rank_seconds;
    for (const SiteNumbers& n : rank.sites) {
      bytes += n.predicted_bytes;
      tasks += n.predicted_tasks;
      rank_seconds += n.predicted_seconds;
    }
    raise_to(seconds, rank_seconds);
    bytes_baseline += rank.numbers.baseline_bytes;
    tasks_baseline += rank.numbers.baseline_tasks;
    raise_to(seconds_baseline, rank.numbers.baseline_seconds);
    packed += rank.numbers.packed_bytes;
  }
  json.key("reproducible").begin_object();
  if (measured) json.field("packed_bytes", packed);
  const auto figures = [&](std::string_view name, const plan::Range& b, const plan::Range& t, const plan::Range& s) {
    json.key(name).begin_object();
    range_field(json, "bytes_received", b);
    range_field(json, "tasks", t);
    range_field(json, "seconds", s);
    json.end_object();
  };
  figures("predicted", bytes, tasks, seconds);
  figures("predicted_without", bytes_baseline, tasks_baseline, seconds_baseline);
  json.end_object();
}

/// The slowest rank's phases.
void write_phases(JsonWriter& json, const std::vector<Rank>& ranks) {
  Phases most;
  for (const Rank& rank : ranks) {
    const Phases& p = rank.numbers.phases;
    most = {std::max(most.start, p.start),     std::max(most.read, p.read),   std::max(most.plan, p.plan),
            std::max(most.compute, p.compute), std::max(most.write, p.write), std::max(most.total, p.total)};
  }
  json.key("phases").begin_object();
  json.field("start", most.start).field("read", most.read).field("plan", most.plan);
  json.field("compute", most.compute).field("write", most.write).field("total", most.total);
  json.end_object();
}

}  // namespace

void Predictions::add(const plan::PlannedOp& op, const plan::TensorLookup& lookup, const plan::PlanInputs& inputs,
                      const std::vector<plan::TensorId>& dead) {
  if (!enabled_) return;
  Site& site = sites_[op.op.site];
  if (site.kind.empty()) {
    site.line = line_in(op.op.line);
    site.kind = name_of(op.op.op_class);
  }
  const plan::Cost cost = plan::cost_of(op.op, op.plan, lookup, rank_, inputs.machine, inputs.threads);
  site.cost.bytes_received += cost.bytes_received;
  site.bytes_sent += plan::sent_bytes(op.op, op.plan, lookup, rank_, inputs.machine);
  site.bytes_from_other_nodes += plan::bytes_from_other_nodes(op.op, op.plan, lookup, rank_, inputs.machine);
  site.cost.boxes += cost.boxes;
  site.cost.flops += cost.flops;
  site.cost.tasks += cost.tasks;
  site.cost.output_bytes += cost.output_bytes;
  site.cost.seconds += cost.seconds;
  resident_.run(op, cost.step_bytes.hi, dead);
}

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
  std::vector<Rank> ranks;
  for (const std::vector<std::byte>& bytes : gathered) ranks.push_back(decode(bytes));

  JsonWriter json;
  json.begin_object().field("version", 1).field("program", run.program).field("plan_hash", std::to_string(run.plan_hash));
  if (run.survey) {
    json.key("region").begin_object().field("hash", std::to_string(run.survey->hash)).field("operations", run.survey->operations);
    json.field("whole", run.survey->whole).field("unsurveyed", run.survey->unsurveyed).end_object();
  }
  json.field("ranks", world.size()).field("ranks_per_node", run.ranks_per_node).field("threads", run.threads);
  json.key("constants").begin_object();
  json.field("latency", run.machine.latency).field("bandwidth", run.machine.bandwidth).field("flop_rate", run.machine.flop_rate);
  json.field("stream_rate", run.machine.stream_rate).field("task_overhead", run.machine.task_overhead).end_object();
  if (mine.measured) write_phases(json, ranks);
  if (mine.baseline) write_reproducible(json, ranks, mine.measured);
  write_statements(json, ranks, mine);
  json.key("per_rank").begin_array();
  for (std::size_t r = 0; r < ranks.size(); ++r) write_rank(json, ranks[r], r, run, mine.measured);
  json.end_array().end_object();
  return json.text();
}

}  // namespace tdsl::rt
