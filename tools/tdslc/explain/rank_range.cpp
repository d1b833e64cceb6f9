#include "tools/tdslc/explain/rank_range.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/app/options/machine_file.h"
#include "runtime/base/environment.h"
#include "runtime/check.h"
#include "runtime/io/text_file.h"
#include "runtime/shapes.h"
#include "tools/tdslc/explain/plan_output.h"
#include "tools/tdslc/explain/plan_report.h"
#include "tools/tdslc/job/size.h"
#include "tools/tdslc/job/text.h"
#include "tools/tdslc/streams.h"
#include "tools/tdslc/submit/site_file.h"

namespace tdsl::tools {

namespace {

/// A node's memory if no profile of the site gives it.
constexpr std::int64_t kUsualNode = std::int64_t{64} << 30;

/// The nodes that the rows are about.
struct Nodes {
  std::int64_t ranks = 1;       ///< on each node
  std::int64_t rank_limit = 0;  ///< bytes of a rank's blocks
  std::int64_t bytes = 0;       ///< of a node; 0: --memory is given instead
  std::string memory_text;      ///< --memory as given
};

struct Row {
  std::int64_t ranks = 1;
  bool fits = false;
  double received = 0;      ///< bytes, the sum over operations of the rank that receives most
  double seconds = 0;       ///< predicted
  std::int64_t needed = 0;  ///< bytes of blocks that suffice for a rank
  std::string place;        ///< the line with most of the time; of a row that does not fit, with the largest need
  double share = 0;         ///< the part of the time that it takes
};

void refuse_single_questions(const CommandLine& line, const rt::AppOptions& options) {
  const std::pair<const char*, bool> questions[] = {{"--rank", line.rank.has_value()},
                                                    {"--why", !line.why.empty()},
                                                    {"--stage", !line.stage.empty()},
                                                    {"--costs", !line.costs.empty()},
                                                    {"--dot", line.dot},
                                                    {"--time-plan", line.time_plan},
                                                    {"--plan", options.plan_file.has_value()},
                                                    {"--save-plan", options.save_plan_file.has_value()},
                                                    {"--use-plan", options.use_plan_file.has_value()},
                                                    {"--place", !options.place.empty()}};
  for (const auto& [name, asked] : questions) {
    if (asked)
      throw UsageError(
          fmt::format("{}: one number of ranks is needed, not -n {}..{}", name, *line.ranks, *line.last_ranks));
  }
}

std::int64_t node_bytes(const CommandLine& line) {
  const std::string path = site_path(line);
  std::error_code error;
  if (path.empty() || !std::filesystem::exists(path, error)) return kUsualNode;
  return parse_site(rt::read_text_file(path), path).memory;
}

Nodes nodes_of(const CommandLine& line, const rt::AppOptions& options) {
  Nodes nodes;
  nodes.ranks = line.ranks_per_node.value_or(1);
  for (const std::int64_t ranks : {*line.ranks, *line.last_ranks}) {
    if (ranks > nodes.ranks && ranks % nodes.ranks != 0)
      throw UsageError(fmt::format("--per-node {}: {} ranks do not fill nodes of {}", nodes.ranks, ranks, nodes.ranks));
  }
  if (options.memory_bytes) {
    nodes.rank_limit = *options.memory_bytes;
    nodes.memory_text = options.memory_text;
    return nodes;
  }
  nodes.bytes = node_bytes(line);
  const double available = kMemoryShare * static_cast<double>(nodes.bytes);
  if (available <= static_cast<double>(nodes.ranks * kProcessBytes))
    throw UsageError(fmt::format("--per-node {}: this many ranks do not fit in the memory of a node, {}", nodes.ranks,
                                 binary_bytes(static_cast<double>(nodes.bytes))));
  nodes.rank_limit = blocks_of_rank(available, nodes.ranks);
  return nodes;
}

/// A, the powers of two between, and B; beyond one node, times the ranks of a node.
std::vector<std::int64_t> counts_between(std::int64_t first, std::int64_t last, std::int64_t per_node) {
  std::vector<std::int64_t> counts = {first};
  const auto add = [&](std::int64_t ranks) {
    if (ranks > counts.back() && ranks < last) counts.push_back(ranks);
  };
  for (std::int64_t power = 1; power < per_node; power *= 2) add(power);
  for (std::int64_t power = 1; power * per_node < last; power *= 2) add(power * per_node);
  if (last > first) counts.push_back(last);
  return counts;
}

/// On a terminal: a line that names the number of ranks being planned, from the second second on. Removed at the end.
class ProgressLine {
 public:
  ProgressLine() = default;
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine() {
    if (shown_) print_error("\r\x1b[K");
  }
  void plans_on(std::int64_t ranks) {
    if (!terminal_ || std::chrono::steady_clock::now() - begin_ < std::chrono::seconds(1)) return;
    print_error(fmt::format("\rplanning on {} …\x1b[K", rt::counted(static_cast<std::size_t>(ranks), "rank")));
    shown_ = true;
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  bool terminal_ = ::isatty(STDERR_FILENO) != 0;
  bool shown_ = false;
};

/// Plans the program on several numbers of ranks.
class RangePlanner {
 public:
  RangePlanner(const CommandLine& line, const Front& front, const codegen::OperationProgram& operations,
               const rt::AppOptions& options, Nodes nodes)
      : operations_(operations),
        outputs_(options.outputs),
        nodes_(std::move(nodes)),
        machine_(rt::load_machine(rt::read_environment())) {
    CommandLine one_node = line;
    one_node.ranks = nodes_.ranks;
    one_node.last_ranks.reset();
    request_ = request_of(one_node, front, operations, options);
    request_.ranks.clear();
    request_.plan.compare = false;
    request_.spill = false;
    request_.suggest_ranks = false;
  }

  [[nodiscard]] Row planned_on(std::int64_t ranks) {
    progress_.plans_on(ranks);
    const PlanReport report = make_report(operations_, on(ranks));
    Row row;
    row.ranks = ranks;
    row.fits = report.fits;
    row.needed = report.memory.bytes;
    if (!report.fits) {
      row.place = place_of(report.memory.line);
      return row;
    }
    std::map<int, double> seconds;  // by place
    for (const PlanRow& operation : report.rows) {
      row.received += operation.summary.max_bytes;
      row.seconds += operation.summary.max_seconds;
      seconds[operation.line] += operation.summary.max_seconds;
    }
    if (row.seconds <= 0) return row;
    const auto most = std::ranges::max_element(seconds, {}, [](const auto& entry) { return entry.second; });
    row.place = place_of(most->first);
    row.share = most->second / row.seconds;
    return row;
  }

  /// The smallest number of ranks that fits, given one that does not and a larger one that does; nodes remain full.
  [[nodiscard]] std::int64_t first_fitting(std::int64_t too_few, std::int64_t enough) {
    const std::int64_t unit = too_few < nodes_.ranks ? 1 : nodes_.ranks;
    while (enough - too_few > unit) {
      const std::int64_t middle = too_few + (enough - too_few) / unit / 2 * unit;
      (planned_on(middle).fits ? enough : too_few) = middle;
    }
    return enough;
  }

  [[nodiscard]] const std::string& assumption() const { return request_.assumption; }
  [[nodiscard]] const std::vector<std::string>& reading() const { return request_.reading; }

 private:
  [[nodiscard]] ReportRequest on(std::int64_t ranks) const {
    ReportRequest request = request_;
    plan::PlanInputs& inputs = request.inputs;
    inputs.machine = machine_;
    if (ranks > 1) rt::price_writes(inputs.machine, outputs_);
    inputs.ranks = ranks;
    inputs.ranks_per_node = std::min(nodes_.ranks, ranks);
    inputs.settle_nodes();
    inputs.memory = nodes_.rank_limit;
    request.walk.ranks = ranks;
    request.walk.deciding_ranks = inputs.deciding_ranks();
    return request;
  }

  /// `line 7`, or `lib.tdsl:7` for a line of an imported file.
  [[nodiscard]] std::string place_of(int line) const {
    const auto file = static_cast<std::size_t>(line >> rt::kLineBits);
    if (file == 0 || file >= operations_.files.size()) return fmt::format("line {}", rt::line_in(line));
    return fmt::format("{}:{}", operations_.files[file], rt::line_in(line));
  }

  const codegen::OperationProgram& operations_;
  std::map<std::string, std::string> outputs_;
  Nodes nodes_;
  plan::Machine machine_;
  ReportRequest request_;
  ProgressLine progress_;
};

std::int64_t nodes_for(std::int64_t ranks, const Nodes& nodes) { return (ranks + nodes.ranks - 1) / nodes.ranks; }

/// `12 nodes of 64 GiB`, or `12 ranks with --memory 64GiB each`.
std::string size_text(std::int64_t ranks, const Nodes& nodes) {
  if (nodes.bytes == 0)
    return fmt::format("{} with --memory {} each", rt::counted(static_cast<std::size_t>(ranks), "rank"),
                       nodes.memory_text);
  return fmt::format("{} of {:.3g} GiB", rt::counted(static_cast<std::size_t>(nodes_for(ranks, nodes)), "node"),
                     static_cast<double>(nodes.bytes) / static_cast<double>(std::int64_t{1} << 30));
}

/// The smallest number of ranks of the range on which the program fits.
std::optional<std::int64_t> fits_from(const std::vector<Row>& rows, RangePlanner& planner) {
  const auto first = std::ranges::find_if(rows, &Row::fits);
  if (first == rows.end()) return std::nullopt;
  return first == rows.begin() ? first->ranks : planner.first_fitting((first - 1)->ranks, first->ranks);
}

std::string head_of(const std::vector<Row>& rows, std::optional<std::int64_t> enough, const Nodes& nodes) {
  if (!enough)
    return fmt::format("does not fit on {}: {} needs {} on a rank\n", size_text(rows.back().ranks, nodes),
                       rows.back().place, human_bytes(static_cast<double>(rows.back().needed)));
  return fmt::format("fits from {}{}\n", size_text(*enough, nodes),
                     *enough == rows.front().ranks ? ", the first of the range" : "");
}

std::string text_of_rows(const std::vector<Row>& rows, const Nodes& nodes) {
  std::string text = fmt::format("{:>7} {:>7} {:>10} {:>10} {:>10}  {}\n", "ranks", "nodes", "received", "peak",
                                 "seconds", "most time");
  for (const Row& row : rows) {
    text += fmt::format("{:>7} {:>7}", row.ranks, nodes_for(row.ranks, nodes));
    const std::string peak = human_bytes(static_cast<double>(row.needed));
    if (!row.fits) {
      text += fmt::format(" {:>10} {:>10} {:>10}  does not fit: {}\n", "", peak, "", row.place);
      continue;
    }
    text += fmt::format(" {:>10} {:>10} {:>10.3g}  {}\n", human_bytes(row.received), peak, row.seconds,
                        row.place.empty() ? "" : fmt::format("{}, {:.0f} %", row.place, 100 * row.share));
  }
  return text;
}

std::string json_of_rows(const std::vector<Row>& rows, std::optional<std::int64_t> enough, const Nodes& nodes) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    list.push_back({{"ranks", row.ranks},
                    {"nodes", nodes_for(row.ranks, nodes)},
                    {"fits", row.fits},
                    {"needed_bytes", row.needed},
                    {"place", row.place}});
    if (row.fits) list.back()["predicted"] = {{"bytes_received_max", row.received}, {"seconds", row.seconds}};
  }
  nlohmann::ordered_json result = {{"rank_limit_bytes", nodes.rank_limit}, {"ranks_per_node", nodes.ranks}};
  if (nodes.bytes > 0) result["node_bytes"] = nodes.bytes;
  result["fits_from_ranks"] = enough ? nlohmann::ordered_json(*enough) : nlohmann::ordered_json();
  result["rows"] = std::move(list);
  return result.dump(2) + "\n";
}

}  // namespace

std::string rank_range_text(const CommandLine& line, const Front& front, const codegen::OperationProgram& operations,
                            const rt::AppOptions& options) {
  refuse_single_questions(line, options);
  const Nodes nodes = nodes_of(line, options);
  RangePlanner planner(line, front, operations, options, nodes);
  std::vector<Row> rows;
  for (const std::int64_t ranks : counts_between(*line.ranks, *line.last_ranks, nodes.ranks))
    rows.push_back(planner.planned_on(ranks));
  const std::optional<std::int64_t> enough = fits_from(rows, planner);
  if (line.json) return json_of_rows(rows, enough, nodes);
  std::string text = head_of(rows, enough, nodes) + text_of_rows(rows, nodes);
  if (!planner.assumption().empty()) text += fmt::format("note: {}\n", planner.assumption());
  for (const std::string& note : planner.reading()) text += fmt::format("note: {}\n", note);
  return text;
}

}  // namespace tdsl::tools
