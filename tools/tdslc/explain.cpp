#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "codegen/output_file.h"
#include "runtime/app/machine_file.h"
#include "runtime/io/npy.h"
#include "tools/tdslc/commands.h"
#include "tools/tdslc/declaration.h"
#include "tools/tdslc/front.h"
#include "tools/tdslc/plan_report.h"

namespace tdsl::tools {

namespace {

/// Ranks whose totals are shown without --rank: all of a small run, the first of a large one.
constexpr std::int64_t kFewRanks = 16;

/// The planning options as the executable's own: one parser for both.
rt::AppOptions options_of(const CommandLine& line, const ir::Program& program) {
  std::vector<std::string> arguments;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) arguments.insert(arguments.end(), {name, value});
  };
  for (const std::string& s : line.set) add("--set", s);
  add("--tile", line.tile);
  add("--memory", line.memory);
  add("--window", line.window);
  add("--schedule", line.schedule);
  if (line.threads) add("--threads", std::to_string(*line.threads));
  if (line.reproducible) arguments.emplace_back("--reproducible");
  arguments.insert(arguments.end(), line.program_arguments.begin(), line.program_arguments.end());
  return rt::parse_options(declaration_of(program), arguments, {false});
}

/// Extents that the headers of the given files bind.
void bind_files(const codegen::FamilyProgram& families, const rt::AppOptions& options, std::map<std::string, std::int64_t>& dimensions) {
  for (const codegen::Declarations::Tensor& input : families.declarations.inputs) {
    const auto file = options.inputs.find(input.name);
    if (file == options.inputs.end()) continue;
    const rt::NpyReader reader(file->second);
    if (reader.shape().size() != input.type.rank()) {
      throw rt::RunError({families.files.front(), input.line}, fmt::format("input {} has {} dimensions, but the array in '{}' has {}", input.name,
                                                                          input.type.rank(), file->second, reader.shape().size()));
    }
    for (std::size_t d = 0; d < input.type.rank(); ++d) {
      const auto value = input.type.shape[d].as_value();
      for (const auto& [v, name] : families.declarations.dimensions) {
        if (!value || v != *value) continue;
        const auto [entry, first] = dimensions.emplace(name, reader.shape()[d]);
        if (first || entry->second == reader.shape()[d]) continue;
        throw rt::RunError({families.files.front(), input.line}, fmt::format("dimension {} is {} in '{}', but {} before", name, reader.shape()[d],
                                                                            file->second, entry->second));
      }
    }
  }
}

/// Dimensions nobody gave are as long as the first one given with --set, so that `--set n=...` alone explains a program.
/// Returns what was assumed, as one sentence, or nothing.
std::string assume_missing(const codegen::FamilyProgram& families, const rt::AppOptions& options, std::map<std::string, std::int64_t>& dimensions) {
  std::string assumed;
  std::string like;
  for (const auto& [value, name] : families.declarations.dimensions) {
    if (like.empty() && options.dimensions.contains(name)) like = name;
  }
  if (like.empty()) return {};
  for (const auto& [value, name] : families.declarations.dimensions) {
    if (dimensions.emplace(name, options.dimensions.at(like)).second) assumed += (assumed.empty() ? "" : ", ") + name;
  }
  return assumed.empty() ? assumed : fmt::format("no extent was given for {}: assumed to be that of {}, {}", assumed, like, options.dimensions.at(like));
}

ReportRequest request_of(const CommandLine& line, const codegen::FamilyProgram& families, const rt::AppOptions& options) {
  ReportRequest request;
  plan::PlanInputs& inputs = request.inputs;
  inputs.ranks = line.ranks.value_or(1);
  inputs.machine = rt::load_machine(rt::read_environment());
  inputs.ranks_per_node = line.ranks_per_node.value_or(inputs.ranks);
  if (inputs.ranks % inputs.ranks_per_node != 0) {
    throw UsageError(fmt::format("--per-node {}: {} ranks do not fill nodes of so many", inputs.ranks_per_node, inputs.ranks));
  }
  inputs.threads = options.threads.value_or(1);
  inputs.tile = options.tile;
  inputs.memory = options.memory_bytes.value_or(0);
  inputs.window = options.window_bytes.value_or(0);
  inputs.reproducible = options.reproducible;
  request.schedule = options.schedule;
  codegen::WalkRequest& walk = request.walk;
  walk.ranks = inputs.ranks;
  walk.deciding_ranks = inputs.deciding_ranks();
  walk.factorise = options.factorise;
  for (const auto& [name, value] : options.params) walk.params[name] = literal_of(value);
  walk.dimensions = options.dimensions;
  bind_files(families, options, walk.dimensions);
  request.assumption = assume_missing(families, options, walk.dimensions);
  for (const auto& [name, file] : options.outputs) walk.files.insert(name);
  request.enumerate = line.rank.has_value();
  if (line.rank) {
    if (*line.rank < 0 || *line.rank >= inputs.ranks) {
      throw UsageError(fmt::format("--rank {}: ranks are 0 to {} with -n {}", *line.rank, inputs.ranks - 1, inputs.ranks));
    }
    request.ranks = {*line.rank};
  } else {
    const std::int64_t shown = inputs.ranks <= kFewRanks ? inputs.ranks : 1;
    for (std::int64_t r = 0; r < shown; ++r) request.ranks.push_back(r);
  }
  return request;
}

double ratio(double max, double mean) { return mean > 0 ? max / mean : 1; }

std::string notes_of(const PlanReport& report, const Front& front) {
  std::string text;
  for (const auto& [range, note] : report.notes) {
    text += fmt::format("{}note: {}\n", range.known() ? front.sources.place(range) + ": " : "", note);
  }
  return text;
}

/// The answer where no plan keeps to --memory.
std::string misfit_of(const PlanReport& report, const CommandLine& line, const Front& front) {
  const plan::MemoryNeed& need = report.memory;
  std::string text = fmt::format("{} on {} ranks with {} threads each does not fit --memory {}\n", line.program, report.ranks, report.threads, line.memory);
  text += fmt::format("'{}' (line {}) needs the most on a rank: {}, of them {} of operands, results and what lives beside them, and {} received or copied at once\n",
                      need.name, rt::line_in(need.line), human_bytes(static_cast<double>(need.bytes)), human_bytes(static_cast<double>(need.bytes - need.step)),
                      human_bytes(static_cast<double>(need.step)));
  return text + fmt::format("the least that is enough on {} ranks is --memory {}\n", report.ranks, need.bytes) + notes_of(report, front);
}

std::string text_of(const PlanReport& report, const CommandLine& line, const Front& front) {
  if (!report.fits) return misfit_of(report, line, front);
  const std::string per_node = line.ranks_per_node ? fmt::format(", {} a node,", *line.ranks_per_node) : "";
  std::string text = fmt::format("{} on {} ranks{} with {} threads each, plan {:016x}\n", line.program, report.ranks, per_node, report.threads,
                                 report.plan_hash);
  for (const plan::Alternative& a : report.alternatives) {
    const bool chosen = &a == &report.alternatives.front();
    text += fmt::format("{} plan: {} received by the busiest rank, {:.3g} s predicted{}{}\n", a.name, human_bytes(a.price.bytes_received), a.price.seconds,
                        a.fits ? "" : ", does not fit memory", chosen ? " (chosen" + (a.plan != nullptr ? ": " + report.found : "") + ")" : "");
  }
  text += fmt::format("{:>5}  {:<20} {:<12} {:>5} {:>21} {:>23} {:>10} {:>10}\n", "line", "statement", "kind", "times", "received max (/mean)",
                      "flops max (/mean)", "step", "seconds");
  for (const PlanRow& r : report.rows) {
    text += fmt::format("{:>5}  {:<20} {:<12} {:>5} {:>12} {:>8} {:>13} {:>9} {:>10} {:>10.3g}\n", r.line, r.name.substr(0, 20), r.kind, r.times,
                        human_bytes(r.summary.max_bytes), fmt::format("({:.3f})", ratio(r.summary.max_bytes, r.summary.mean_bytes)),
                        human_count(r.summary.max_flops), fmt::format("({:.3f})", ratio(r.summary.max_flops, r.summary.mean_flops)),
                        human_bytes(r.summary.max_step), r.summary.max_seconds);
    text += fmt::format("         {}{}\n", r.plan, r.why.empty() ? "" : " - " + r.why);
  }
  for (const RankReport& r : report.per_rank) {
    text += fmt::format("rank {}: {} tasks, {} messages, {} received, {}flops, peak {}", r.rank, human_count(static_cast<double>(r.tasks)),
                        human_count(static_cast<double>(r.messages)), human_bytes(r.bytes_received), human_count(r.predicted_flops) + " ",
                        human_bytes(r.peak_bytes));
    if (r.steps > 0) text += fmt::format(" in {} steps; predicted {} received", r.steps, human_bytes(r.predicted_bytes));
    text += '\n';
  }
  text += fmt::format("largest step: {} (the smallest legal --window)\n", human_bytes(static_cast<double>(report.largest_step)));
  if (report.memory.bytes > 0) {
    text += fmt::format("memory: '{}' (line {}) needs the most on a rank, {}\n", report.memory.name, rt::line_in(report.memory.line),
                        human_bytes(static_cast<double>(report.memory.bytes)));
  }
  if (report.baseline) {
    text += fmt::format("reproducible: {} received by all ranks instead of {}, {:.3g} s predicted instead of {:.3g}\n", human_bytes(report.bytes_received),
                        human_bytes(report.baseline->first), report.seconds, report.baseline->second);
  }
  return text + notes_of(report, front);
}

std::string json_of(const PlanReport& report, const Front& front) {
  using nlohmann::ordered_json;
  ordered_json statements = ordered_json::array();
  for (const PlanRow& r : report.rows) {
    statements.push_back({{"line", r.line}, {"name", r.name}, {"kind", r.kind}, {"site", r.site}, {"part", r.part}, {"times", r.times},
                          {"plan", r.plan}, {"why", r.why},
                          {"predicted", {{"bytes_received_max", r.summary.max_bytes}, {"bytes_received_mean", r.summary.mean_bytes},
                                         {"flops_max", r.summary.max_flops}, {"flops_mean", r.summary.mean_flops},
                                         {"step_bytes_max", r.summary.max_step}, {"seconds", r.summary.max_seconds}}}});
  }
  ordered_json ranks = ordered_json::array();
  for (const RankReport& r : report.per_rank) {
    ranks.push_back({{"rank", r.rank}, {"tasks", r.tasks}, {"messages", r.messages}, {"steps", r.steps}, {"bytes_received", r.bytes_received},
                     {"peak_block_bytes", r.peak_bytes},
                     {"predicted", {{"bytes_received", r.predicted_bytes}, {"flops", r.predicted_flops}}}});
  }
  ordered_json notes = ordered_json::array();
  for (const auto& [range, note] : report.notes) notes.push_back({{"line", range.line}, {"text", note}});
  ordered_json all = {{"version", 1}, {"program", front.graph.name}, {"plan_hash", fmt::format("{:016x}", report.plan_hash)},
                            {"ranks", report.ranks}, {"threads", report.threads}, {"largest_step_bytes", report.largest_step},
                            {"statements", statements}, {"per_rank", ranks}, {"notes", notes}};
  for (const plan::Alternative& a : report.alternatives) {
    all["alternatives"].push_back({{"schedule", a.name}, {"fits", a.fits}, {"predicted", {{"bytes_received_max", a.price.bytes_received}, {"seconds", a.price.seconds}}}});
  }
  if (report.memory.bytes > 0) {
    all["memory"] = {{"needed_bytes", report.memory.bytes}, {"fits", report.fits}, {"line", rt::line_in(report.memory.line)}, {"name", report.memory.name}};
  }
  if (report.baseline) {
    all["reproducible"] = {{"predicted", {{"bytes_received", report.bytes_received}, {"seconds", report.seconds}}},
                           {"predicted_without", {{"bytes_received", report.baseline->first}, {"seconds", report.baseline->second}}}};
  }
  return all.dump(2) + "\n";
}

std::string remarks_of(const Front& front) {
  std::string text;
  for (const passes::Remark& r : front.context.remarks()) {
    text += fmt::format("{}{}: {}{}\n", r.range.known() ? front.sources.place(r.range) + ": " : "", r.pass,
                        r.decision == passes::Decision::kApplied ? "" : "not applied: ", r.reason);
  }
  return text;
}

std::string answer_of(const CommandLine& line, const Front& front, const codegen::FamilyProgram& families, const ReportRequest& request) {
  PlanReport report = make_report(families, request);
  if (!request.assumption.empty()) report.notes.insert(report.notes.begin(), {ir::SourceRange{}, request.assumption});
  return line.json ? json_of(report, front) : text_of(report, line, front) + remarks_of(front);
}

/// What plans start from.
std::string stage_of(const CommandLine& line, const codegen::FamilyProgram& families, const ReportRequest& request) {
  const plan::Region region = codegen::survey_of(families, request.walk);
  if (line.stage == "region") return plan::text_of(region);
  try {
    const plan::Workflow workflow = plan::scheduled_workflow(request.schedule, region, request.inputs);
    return line.dot ? plan::print_dot(workflow, region) : plan::print(workflow, region);
  } catch (const plan::NoPlan& none) {
    throw UsageError(none.what());
  }
}

}  // namespace

int explain(const CommandLine& line) {
  if (line.dot && line.stage != "workflow") throw UsageError("--dot is for --stage=workflow");
  Front front;
  compile_front(line, {}, front);
  keep_sources(front, {line.output});
  const codegen::FamilyProgram families = lower(front);
  const rt::AppOptions options = options_of(line, front.graph);
  const ReportRequest request = request_of(line, families, options);
  const std::string text = line.stage.empty() ? answer_of(line, front, families, request) : stage_of(line, families, request);
  if (line.output.empty()) {
    fmt::print("{}", text);
    return 0;
  }
  codegen::write_text(line.output, text);
  return 0;
}

}  // namespace tdsl::tools
