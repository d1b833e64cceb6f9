#include "runtime/app/report/statistics_text.h"

#include <algorithm>
#include <string_view>

#include "runtime/base/json_writer.h"
#include "runtime/kernels/math_library.h"
#include "runtime/kernels/simd_level.h"

namespace tdsl::rt {

void add_predictions(std::map<int, SiteNumbers>& sites, const Predictions& predictions) {
  for (const auto& [site, prediction] : predictions.sites()) {
    SiteNumbers& n = sites[site];
    n.predicted_bytes = prediction.cost.bytes_received;
    n.predicted_sent = prediction.bytes_sent;
    n.predicted_from_other_nodes = prediction.bytes_from_other_nodes;
    n.predicted_in_place = prediction.bytes_in_place;
    n.predicted_messages = plan::messages_of(prediction.cost);
    n.predicted_flops = prediction.cost.flops;
    n.predicted_tasks = prediction.cost.tasks;
    n.predicted_seconds = prediction.cost.seconds;
    n.predicted_stored_bytes = prediction.stored_bytes;
    n.predicted_disk_read = prediction.cost.disk_read;
    n.predicted_disk_written = prediction.cost.disk_written;
    n.predicted_writes = prediction.cost.writes;
  }
}

std::vector<int> matrix_rows(const std::vector<int>& node_of_rank, TrafficMatrix& form) {
  std::vector<int> rows(node_of_rank.size());
  form.by_node = static_cast<int>(rows.size()) > kMatrixRows;
  int units = form.by_node ? 0 : static_cast<int>(rows.size());
  if (form.by_node) {
    for (const int node : node_of_rank) units = std::max(units, node + 1);
  }
  form.per_row = (units + kMatrixRows - 1) / kMatrixRows;
  for (std::size_t r = 0; r < rows.size(); ++r)
    rows[r] = (form.by_node ? node_of_rank[r] : static_cast<int>(r)) / form.per_row;
  form.bytes.assign(static_cast<std::size_t>((units + form.per_row - 1) / form.per_row), {});
  for (std::vector<double>& row : form.bytes) row.assign(form.bytes.size(), 0.0);
  return rows;
}

namespace {

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

/// Adds counts and predicted counts; not times.
void add_counts(SiteNumbers& sum, const SiteNumbers& n) {
  constexpr double SiteNumbers::*kCounts[] = {&SiteNumbers::bytes_received,
                                              &SiteNumbers::bytes_sent,
                                              &SiteNumbers::messages,
                                              &SiteNumbers::flops,
                                              &SiteNumbers::tasks,
                                              &SiteNumbers::kernels,
                                              &SiteNumbers::disk_read,
                                              &SiteNumbers::disk_written,
                                              &SiteNumbers::writes,
                                              &SiteNumbers::written_bytes,
                                              &SiteNumbers::stored,
                                              &SiteNumbers::stored_bytes,
                                              &SiteNumbers::bytes_by_lists,
                                              &SiteNumbers::list_bytes,
                                              &SiteNumbers::bytes_in_place,
                                              &SiteNumbers::predicted_in_place,
                                              &SiteNumbers::kernel_seconds,
                                              &SiteNumbers::waiting_seconds,
                                              &SiteNumbers::disk_waiting_seconds};
  constexpr plan::Range SiteNumbers::*kPredicted[] = {
      &SiteNumbers::predicted_stored_bytes, &SiteNumbers::predicted_bytes,
      &SiteNumbers::predicted_sent,         &SiteNumbers::predicted_from_other_nodes,
      &SiteNumbers::predicted_messages,     &SiteNumbers::predicted_flops,
      &SiteNumbers::predicted_tasks,        &SiteNumbers::predicted_disk_read,
      &SiteNumbers::predicted_disk_written, &SiteNumbers::predicted_writes};
  for (const auto count : kCounts) sum.*count += n.*count;
  for (const auto range : kPredicted) sum.*range += n.*range;
}

/// Sums over ranks, except: seconds are the slowest rank's, and the start is that of the earliest rank with tasks.
SiteNumbers over_ranks(const std::vector<RankFigures>& ranks, int site) {
  SiteNumbers sum;
  for (const RankFigures& rank : ranks) {
    for (const SiteNumbers& n : rank.sites) {
      if (n.site != site) continue;
      if (n.tasks > 0) sum.begin = sum.tasks > 0 ? std::min(sum.begin, n.begin) : n.begin;
      add_counts(sum, n);
      sum.seconds = std::max(sum.seconds, n.seconds);
      sum.wall = std::max(sum.wall, n.wall);
      raise_to(sum.predicted_seconds, n.predicted_seconds);
    }
  }
  return sum;
}

void write_predicted(JsonWriter& json, const SiteNumbers& n) {
  json.key("predicted").begin_object();
  range_field(json, "bytes_received", n.predicted_bytes);
  range_field(json, "bytes_sent", n.predicted_sent);
  if (n.predicted_in_place > 0) json.field("bytes_in_place", n.predicted_in_place);
  range_field(json, "messages", n.predicted_messages);
  range_field(json, "flops", n.predicted_flops);
  range_field(json, "tasks", n.predicted_tasks);
  if (n.predicted_disk_read.hi > 0) range_field(json, "disk_read", n.predicted_disk_read);
  if (n.predicted_disk_written.hi > 0) range_field(json, "disk_written", n.predicted_disk_written);
  // Unknown for compressed tensors.
  if (n.predicted_writes.hi > 0 && n.predicted_writes.lo == n.predicted_writes.hi)
    range_field(json, "writes", n.predicted_writes);
  range_field(json, "seconds", n.predicted_seconds);
  json.end_object();
}

void write_measured(JsonWriter& json, const SiteNumbers& n) {
  json.key("measured").begin_object();
  json.field("bytes_received", n.bytes_received).field("bytes_sent", n.bytes_sent).field("messages", n.messages);
  json.field("flops", n.flops).field("tasks", n.tasks).field("kernels", n.kernels);
  if (n.list_bytes > 0) json.field("bytes_by_lists", n.bytes_by_lists).field("list_bytes", n.list_bytes);
  if (n.bytes_in_place > 0) json.field("bytes_in_place", n.bytes_in_place);
  if (n.disk_read > 0 || n.disk_written > 0) json.field("disk_read", n.disk_read).field("disk_written", n.disk_written);
  if (n.writes > 0) json.field("writes", n.writes).field("mean_write_bytes", n.written_bytes / n.writes);
  json.field("begin", n.begin).field("seconds", n.seconds);
  json.field("wall", n.wall).field("kernel_seconds", n.kernel_seconds).field("waiting_seconds", n.waiting_seconds);
  if (n.disk_waiting_seconds > 0) json.field("disk_waiting_seconds", n.disk_waiting_seconds);
  json.end_object();
}

/// Traffic between ranks; omitted for a single rank.
void write_matrix(JsonWriter& json, const TrafficMatrix& matrix) {
  if (matrix.bytes.size() < 2) return;
  json.key("traffic").begin_object().field("row", matrix.by_node ? "nodes" : "ranks").field("per_row", matrix.per_row);
  json.key("received_bytes").begin_array();
  for (const std::vector<double>& row : matrix.bytes) {
    json.begin_array();
    for (const double bytes : row) json.value(bytes);
    json.end_array();
  }
  json.end_array().end_object();
}

/// Results with data-dependent size: elements, bytes, and the imbalance (maximum over mean).
void write_stored(JsonWriter& json, const std::vector<RankFigures>& ranks, int site,
                  const Predictions::Site& prediction, bool measured) {
  if (prediction.stored.hi == 0) return;
  const SiteNumbers all = over_ranks(ranks, site);
  json.key("stored").begin_object();
  json.field("expected", prediction.stored.expected);
  range_field(json, "predicted_bytes", all.predicted_stored_bytes);
  if (measured) {
    double most = 0;
    for (const RankFigures& rank : ranks) most = std::max(most, over_ranks({rank}, site).stored);
    json.field("elements", all.stored).field("bytes", all.stored_bytes);
    json.field("imbalance", all.stored > 0 ? most * static_cast<double>(ranks.size()) / all.stored : 1.0);
  }
  json.end_object();
}

/// Up to this many ranks, per-rank numbers of every statement are listed.
constexpr std::size_t kRanksListed = 16;

void write_statements(JsonWriter& json, const std::vector<RankFigures>& ranks, const Predictions& known,
                      bool measured) {
  json.key("statements").begin_array();
  for (const auto& [site, prediction] : known.sites()) {
    const SiteNumbers n = over_ranks(ranks, site);
    json.begin_object()
        .field("line", prediction.line)
        .field("site", site)
        .field("name", prediction.name)
        .field("kind", prediction.kind);
    write_predicted(json, n);
    if (measured) write_measured(json, n);
    write_stored(json, ranks, site, prediction, measured);
    if (ranks.size() <= kRanksListed) {
      json.key("per_rank").begin_array();
      for (const RankFigures& rank : ranks) {
        const SiteNumbers mine = over_ranks({rank}, site);
        json.begin_object();
        write_predicted(json, mine);
        if (measured) write_measured(json, mine);
        json.end_object();
      }
      json.end_array();
    }
    json.end_object();
  }
  json.end_array();
}

void write_rank(JsonWriter& json, const RankFigures& rank, std::size_t number, const RunDescription& run,
                bool measured) {
  SiteNumbers all;
  for (const SiteNumbers& n : rank.sites) add_counts(all, n);
  const auto predictions = [&] {
    range_field(json, "bytes_received", all.predicted_bytes);
    range_field(json, "bytes_sent", all.predicted_sent);
    if (run.ranks_per_node > 1) range_field(json, "bytes_from_other_nodes", all.predicted_from_other_nodes);
    if (all.predicted_in_place > 0) json.field("bytes_in_place", all.predicted_in_place);
    range_field(json, "flops", all.predicted_flops);
    range_field(json, "tasks", all.predicted_tasks);
    if (all.predicted_disk_read.hi > 0 || all.predicted_disk_written.hi > 0) {
      range_field(json, "disk_read", all.predicted_disk_read);
      range_field(json, "disk_written", all.predicted_disk_written);
    }
    json.field("peak_block_bytes", rank.numbers.predicted_peak_block_bytes);
  };
  json.begin_object().field("rank", number);
  if (!measured) {
    predictions();
    json.end_object();
    return;
  }
  const RankNumbers& n = rank.numbers;
  json.field("bytes_received", n.bytes_received)
      .field("bytes_sent", n.bytes_sent)
      .field("control_bytes", n.control_bytes);
  json.field("bytes_from_other_nodes", n.bytes_from_other_nodes);
  if (all.bytes_in_place > 0) json.field("bytes_in_place", all.bytes_in_place);
  json.field("longest_silence", n.longest_silence);
  json.field("wall_between_steps", n.between_wall).field("waiting_between_steps", n.between_waiting);
  if (n.between_disk_waiting > 0) json.field("disk_waiting_between_steps", n.between_disk_waiting);
  json.field("peak_block_bytes", n.peak_block_bytes)
      .field("start_rss_bytes", n.start_rss_bytes)
      .field("peak_rss_bytes", n.peak_rss_bytes);
  json.field("blocks_at_exit", n.blocks_at_exit);
  json.field("disk_read", n.disk_read)
      .field("disk_written", n.disk_written)
      .field("peak_disk_bytes", n.peak_disk_bytes)
      .field("disk_bytes_at_exit", n.disk_bytes_at_exit);
  json.key("predicted").begin_object();
  predictions();
  json.end_object().end_object();
}

/// Effect of --reproducible: predictions with and without it, and bytes copied to give all ranks equal strides.
void write_reproducible(JsonWriter& json, const std::vector<RankFigures>& ranks, bool measured) {
  plan::Range bytes, tasks, seconds, bytes_baseline, tasks_baseline, seconds_baseline;
  double packed = 0;
  for (const RankFigures& rank : ranks) {
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

/// Messages printed at the start.
void write_start(JsonWriter& json, const RunDescription& run) {
  json.field("source", run.source).field("memory_limit", run.memory_limit);
  const auto list = [&json](std::string_view name, const std::vector<std::string>& lines) {
    json.key(name).begin_array();
    for (const std::string& line : lines) json.value(line);
    json.end_array();
  };
  list("start_up", run.start_up);
  list("warnings", run.warnings);
}

/// Outputs as pictures, if there are any.
void write_pictures(JsonWriter& json, const RunDescription& run) {
  if (run.pictures.empty()) return;
  json.key("pictures").begin_array();
  for (const ShownPicture& picture : run.pictures) {
    json.begin_object().field("name", picture.name).field("caption", picture.caption).field("svg", picture.svg);
    json.end_object();
  }
  json.end_array();
}

/// The slowest rank's phases.
void write_phases(JsonWriter& json, const std::vector<RankFigures>& ranks) {
  Phases most;
  for (const RankFigures& rank : ranks) {
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

std::string statistics_text(const RunDescription& run, const std::vector<RankFigures>& ranks, const Predictions& known,
                            const StatisticsForm& form) {
  JsonWriter json;
  json.begin_object()
      .field("version", 1)
      .field("program", run.program)
      .field("plan_hash", std::to_string(run.plan_hash));
  if (run.survey) {
    json.key("region")
        .begin_object()
        .field("hash", std::to_string(run.survey->hash))
        .field("operations", run.survey->operations);
    json.field("whole", run.survey->whole).field("unsurveyed", run.survey->unsurveyed).end_object();
  }
  json.field("ranks", ranks.size()).field("ranks_per_node", run.ranks_per_node).field("threads", run.threads);
  json.key("constants").begin_object();
  json.field("latency", run.machine.latency)
      .field("bandwidth", run.machine.bandwidth)
      .field("flop_rate", run.machine.flop_rate)
      .field("row_product_rate", run.machine.flop_rate / run.machine.product_in_rows())
      .field("loop_rate", run.machine.flop_rate / run.machine.flop_in_loop());
  json.field("near_latency", run.machine.latency_within()).field("near_bandwidth", run.machine.bandwidth_within());
  json.field("stream_rate", run.machine.stream_rate)
      .field("last_cache", run.machine.last_cache)
      .field("task_overhead", run.machine.task_overhead)
      .field("exchange_overhead", run.machine.exchange_overhead)
      .field("grain", run.machine.grain);
  json.field("disk_read_rate", run.machine.disk_read_rate).field("disk_write_rate", run.machine.disk_write_rate);
  json.field("write_call", run.machine.write_call).end_object();
  if (form.measured) {
    write_start(json, run);
    json.field("vectors", name_of(simd_level())).field("functions", math::library());
    write_phases(json, ranks);
    json.key("replay").begin_object().field("recorded", run.repeats.kept);
    json.field("replayed", run.repeats.repeated).field("operations", run.repeats.operations).end_object();
    write_pictures(json, run);
  }
  if (form.baseline) write_reproducible(json, ranks, form.measured);
  write_statements(json, ranks, known, form.measured);
  if (form.measured) write_matrix(json, form.matrix);
  json.key("per_rank").begin_array();
  for (std::size_t r = 0; r < ranks.size(); ++r) write_rank(json, ranks[r], r, run, form.measured);
  json.end_array().end_object();
  return json.text();
}

}  // namespace tdsl::rt
