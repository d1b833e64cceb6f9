#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>

#include "runtime/app/options/machine_file.h"
#include "runtime/app/run/fitting_start.h"
#include "runtime/app/session/entry_memory.h"
#include "runtime/io/file_kind.h"
#include "runtime/io/input_file.h"
#include "runtime/io/series/record_file.h"
#include "runtime/io/text_file.h"
#include "runtime/record/start.h"
#include "runtime/shapes.h"
#include "tools/build/output_file.h"
#include "tools/tdslc/commands.h"
#include "tools/tdslc/explain/plan_output.h"
#include "tools/tdslc/explain/rank_range.h"
#include "tools/tdslc/explain/relations_plan.h"
#include "tools/tdslc/front.h"
#include "tools/tdslc/streams.h"

namespace tdsl::tools {

namespace {

/// Number of ranks with totals shown by default: all of a small run, the first of a large one.
constexpr std::int64_t kFewRanks = 16;

/// Parses `--set A.stored=N` for an input A.
std::optional<std::pair<std::string, double>> stored_in(const std::string& setting, const ir::Program& program) {
  static constexpr std::string_view kStored = ".stored";
  const std::size_t equals = setting.find('=');
  const std::string left = setting.substr(0, equals);
  if (equals == std::string::npos || !left.ends_with(kStored)) return std::nullopt;
  const std::string input = left.substr(0, left.size() - kStored.size());
  const rt::ProgramDeclaration declared = declaration_of(program);
  if (std::ranges::none_of(declared.inputs, [&](const auto& i) { return i.name == input; })) return std::nullopt;
  double elements = -1;
  const char* const end = setting.data() + setting.size();
  const auto [read, error] = std::from_chars(setting.data() + equals + 1, end, elements);
  if (error != std::errc() || read != end || !(elements >= 0))
    throw UsageError(fmt::format("--set {}: a number of elements is expected", setting));
  return std::pair(input, std::floor(elements));
}

}  // namespace

rt::AppOptions options_of(const CommandLine& line, const ir::Program& program) {
  std::vector<std::string> arguments;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) arguments.insert(arguments.end(), {name, value});
  };
  for (const std::string& s : line.set) {
    if (!stored_in(s, program)) add("--set", s);
  }
  add("--tile", line.tile);
  add("--memory", line.memory);
  add("--window", line.window);
  add("--schedule", line.schedule);
  add("--node-grid", line.node_grid);
  if (line.threads) add("--threads", std::to_string(*line.threads));
  add("--plan", line.plan);
  add("--use-plan", line.use_plan);
  add("--save-plan", line.save_plan);
  for (const std::string& p : line.place) add("--place", p);
  if (line.reproducible) arguments.emplace_back("--reproducible");
  arguments.insert(arguments.end(), line.program_arguments.begin(), line.program_arguments.end());
  return rt::parse_options(declaration_of(program), arguments, {false});
}

namespace {

std::string reading_of(const std::string& input, const std::string& path, const rt::Entries& entries,
                       std::int64_t ranks) {
  const auto bytes = static_cast<double>(entries.form().bytes());
  return fmt::format(
      "reading {} takes {} on a rank of {}: its share of {} entries in `{}`, {} bytes each and twice while they are "
      "brought to their tiles",
      input, human_bytes(rt::entry_peak_bytes(static_cast<double>(entries.count()), bytes, static_cast<double>(ranks))),
      ranks, human_count(static_cast<double>(entries.count())), path, entries.form().bytes());
}

/// Counts and locates the stored elements of compressed inputs by reading their files, unless --set gives the number.
void count_stored(const codegen::OperationProgram& operations, const rt::AppOptions& options,
                  codegen::WalkRequest& walk, std::vector<std::string>& reading) {
  for (const codegen::Declarations::Tensor& input : operations.declarations.inputs) {
    const auto file = options.inputs.find(input.name);
    if (file == options.inputs.end() || !input.type.has_sparse() || walk.stored.contains(input.name)) continue;
    const rt::InputFile opened(file->second);
    if (opened.entries() == nullptr) continue;
    auto [shape, entries] = rt::read_whole(*opened.entries(), input.type.scalar);
    for (const auto& [v, name] :
         operations.declarations.dimensions) {  // the shape implied by the entries may be smaller
      for (std::size_t d = 0; d < shape.size(); ++d) {
        const auto value = input.type.shape[d].as_value();
        if (value && v == *value && walk.dimensions.contains(name))
          shape[d] = std::max(shape[d], walk.dimensions.at(name));
      }
    }
    reading.push_back(reading_of(input.name, file->second, entries, walk.ranks));
    std::vector<std::int64_t> by_columns;
    if (shape.size() == 2) by_columns = rt::entries_by_bin(entries, shape[1], 1);
    walk.stored[input.name] = {rt::stored_of(entries.count(), shape),
                               rt::row_counts_of(shape[0], rt::entries_by_bin(entries, shape[0]), by_columns)};
  }
}

/// Binds extents from headers of the given files. If a file only gives a lower bound (`at_least`), its entries' shape
/// is used unless another source fixes the extent.
void bind_files(const codegen::OperationProgram& operations, const rt::AppOptions& options, codegen::WalkRequest& walk,
                bool at_least) {
  std::map<std::string, std::int64_t>& dimensions = walk.dimensions;
  std::set<std::string> open;  // names bound by such files only
  for (const codegen::Declarations::Tensor& input : operations.declarations.inputs) {
    const auto file = options.inputs.find(input.name);
    if (file == options.inputs.end()) continue;
    const rt::InputFile opened(file->second);
    if (at_least != opened.may_be_longer()) continue;
    const std::vector<std::int64_t> shape =
        opened.dense() != nullptr ? opened.dense()->shape() : rt::find_shape(*opened.entries(), input.type.scalar);
    if (shape.size() != input.type.rank()) {
      throw rt::RunError(
          {operations.files.front(), input.line},
          rt::other_rank_text(input.name, input.type.rank(), " in `" + file->second + "`", shape.size(), shape) +
              " [wrong-shape]");
    }
    for (std::size_t d = 0; d < input.type.rank(); ++d) {
      const auto value = input.type.shape[d].as_value();
      for (const auto& [v, name] : operations.declarations.dimensions) {
        if (!value || v != *value) continue;
        const auto [entry, first] = dimensions.emplace(name, shape[d]);
        if (at_least && first) open.insert(name);
        if (open.contains(name)) entry->second = std::max(entry->second, shape[d]);
        if (entry->second == shape[d] || (at_least && entry->second > shape[d])) continue;
        throw rt::RunError({operations.files.front(), input.line},
                           fmt::format("dimension {} is {} in `{}`, but {} before [wrong-shape]", name, shape[d],
                                       file->second, entry->second));
      }
    }
  }
}

/// Dimensions that are not set get the value of the first --set, so that `--set n=...` alone explains a program.
/// Returns the assumption as a sentence, or an empty text.
std::string assume_missing(const codegen::OperationProgram& operations, const rt::AppOptions& options,
                           std::map<std::string, std::int64_t>& dimensions) {
  std::string assumed;
  std::string like;
  for (const auto& [value, name] : operations.declarations.dimensions) {
    if (like.empty() && options.dimensions.contains(name)) like = name;
  }
  if (like.empty()) return {};
  for (const auto& [value, name] : operations.declarations.dimensions) {
    if (dimensions.emplace(name, options.dimensions.at(like)).second) assumed += (assumed.empty() ? "" : ", ") + name;
  }
  return assumed.empty() ? assumed
                         : fmt::format("no extent was given for {}: assumed to be that of {}, {}", assumed, like,
                                       options.dimensions.at(like));
}

plan::PlanRequest plan_request_of(const rt::AppOptions& options, const std::string& program) {
  plan::PlanRequest plan;
  plan.program = program;
  plan.schedule = options.schedule;
  plan.place = options.place;
  if (options.use_plan_file)
    plan.use = plan::PlanFile{*options.use_plan_file, rt::read_text_file(*options.use_plan_file)};
  plan.compare = true;
  return plan;
}

/// True if any box of the input's file can be read at any time. Inputs without a file are assumed to be in C order.
bool is_in_order(const std::map<std::string, std::string>& files, const std::string& input) {
  const auto file = files.find(input);
  if (file == files.end()) return true;
  try {
    return rt::InputFile(file->second).in_order();
  } catch (const rt::RunError&) { return false; }
}

}  // namespace

ReportRequest request_of(const CommandLine& line, const Front& front, const codegen::OperationProgram& operations,
                         const rt::AppOptions& options) {
  ReportRequest request;
  plan::PlanInputs& inputs = request.inputs;
  inputs.ranks = line.ranks.value_or(1);
  inputs.machine = rt::load_machine(rt::read_environment());
  if (inputs.ranks > 1) rt::price_writes(inputs.machine, options.outputs);
  inputs.ranks_per_node = line.ranks_per_node.value_or(inputs.ranks);
  if (inputs.ranks % inputs.ranks_per_node != 0) {
    throw UsageError(fmt::format("--per-node {}: {} ranks do not fill nodes of {}", inputs.ranks_per_node, inputs.ranks,
                                 inputs.ranks_per_node));
  }
  inputs.settle_nodes();
  inputs.threads = options.threads.value_or(1);
  inputs.tile = options.tile;
  inputs.node_grid = options.node_grid;
  inputs.memory = options.memory_bytes.value_or(0);
  request.memory_text = options.memory_text;
  inputs.window = options.window_bytes.value_or(0);
  request.window_text = options.window_text;
  inputs.reproducible = options.reproducible;
  request.plan = plan_request_of(options, front.graph.name);
  request.spill = options.spill != "none";
  request.saves = options.checkpoint_directory || options.resume_directory;
  request.in_file = [files = options.inputs](const std::string& input) { return is_in_order(files, input); };
  request.why = line.why;
  request.predictions = options.plan_file.has_value();
  request.time_plan = line.time_plan;
  request.paper_costs = !line.costs.empty();
  request.plan.always = options.save_plan_file || line.dot || !line.why.empty() || request.paper_costs;
  if (request.paper_costs && inputs.ranks == 1) throw UsageError("--costs: one rank receives nothing; give -n");
  if (line.stage == "rules" && inputs.ranks == 1) throw UsageError("--stage=rules: one site moves nothing; give -n");
  if (!line.why.empty() && inputs.ranks == 1) throw UsageError("--why: one rank has all of every tensor; give -n");
  codegen::WalkRequest& walk = request.walk;
  walk.ranks = inputs.ranks;
  walk.deciding_ranks = inputs.deciding_ranks();
  walk.factorise = options.factorise;
  walk.time_tile = options.time_tile;
  walk.machine = inputs.machine;
  walk.threads = inputs.threads;
  for (const auto& [name, value] : options.params) walk.params[name] = literal_of(value);
  walk.dimensions = options.dimensions;
  for (const std::string& setting : line.set) {
    if (const auto known = stored_in(setting, front.graph))
      walk.stored[known->first] = {plan::Estimate::exactly(known->second)};
  }
  bind_files(operations, options, walk, false);
  bind_files(operations, options, walk, true);
  count_stored(operations, options, walk, request.reading);
  request.assumption = assume_missing(operations, options, walk.dimensions);
  for (const auto& [name, file] : options.outputs) {
    walk.files.insert(name);
    if (rt::lies_in_rows(file)) walk.row_files.emplace(name, rt::most_record_in_rows(file));
    if (rt::takes_whole_records(file)) walk.line_files.insert(name);
  }
  request.enumerate = line.rank.has_value();
  if (line.rank) {
    if (*line.rank < 0 || *line.rank >= inputs.ranks) {
      throw UsageError(
          fmt::format("--rank {}: ranks are 0 to {} with -n {}", *line.rank, inputs.ranks - 1, inputs.ranks));
    }
    request.ranks = {*line.rank};
  } else {
    const std::int64_t shown = inputs.ranks <= kFewRanks ? inputs.ranks : 1;
    for (std::int64_t r = 0; r < shown; ++r) request.ranks.push_back(r);
  }
  translate_plan(operations, request);
  return request;
}

namespace {

std::string remarks_of(const Front& front) {
  std::string text;
  for (const passes::Remark& r : front.context.remarks()) {
    text += fmt::format("{}{}: {}{}\n", r.range.known() ? front.sources.place(r.range) + ": " : "", r.pass,
                        r.decision == passes::Decision::kApplied ? "" : "not applied: ", r.reason);
  }
  return text;
}

/// Output files besides the answer.
struct Written {
  std::string save_plan, plan;
};

/// A requested schedule that exceeds --memory or --window is an error, as in a run.
void check_limits(const ReportRequest& request, const PlanReport& report, const codegen::OperationProgram& operations) {
  const plan::Schedule* const schedule = request.plan.schedule;
  if (schedule == nullptr || !schedule->whole || request.inputs.ranks == 1) return;
  const auto file = static_cast<std::size_t>(report.memory.line >> rt::kLineBits);
  if (!report.fits)
    throw rt::RunError({operations.files.at(file), rt::line_in(report.memory.line)},
                       rt::too_little_memory(report.memory, report.memory_limit, request.memory_text) +
                           rt::other_schedules(request.plan) + " [out-of-memory]",
                       rt::ExitCode::kUsage);
  const plan::Index window = request.inputs.window;
  if (window > 0 && report.largest_step > window)
    throw rt::RunError(rt::too_small_window(report.largest_step, window, request.window_text) +
                           rt::other_schedules(request.plan) + " [out-of-memory]",
                       rt::ExitCode::kUsage);
}

std::string answer_of(const CommandLine& line, const Front& front, const codegen::OperationProgram& operations,
                      const ReportRequest& request, const Written& files) {
  PlanReport report = make_report(operations, request);
  check_limits(request, report, operations);
  if (!files.save_plan.empty() && report.fits) codegen::write_text(files.save_plan, plan::print(report.plan));
  if (!files.plan.empty() && report.fits) codegen::write_text(files.plan, report.predictions);
  for (const std::string& text : request.reading) report.notes.push_back({ir::SourceRange{}, text});
  if (!request.assumption.empty()) report.notes.insert(report.notes.begin(), {ir::SourceRange{}, request.assumption});
  if (line.dot) return dot_of(report, front);
  return line.json ? json_of(report, front)
                   : text_of(report, line, front) + (line.why.empty() ? remarks_of(front) : "");
}

/// The operations a run would record, with the variants it would select.
plan::Region region_of(const codegen::OperationProgram& operations, const ReportRequest& request) {
  const record::Recording program = codegen::recording_of(operations, request.walk);
  return operations.chooses ? record::start_of(program, request.inputs, request.plan).region : record::survey(program);
}

std::string workflow_text(const CommandLine& line, const codegen::OperationProgram& operations,
                          const ReportRequest& request) {
  const plan::Region region = region_of(operations, request);
  try {
    const plan::Workflow workflow = plan::scheduled_workflow(request.plan.schedule, region, request.inputs);
    if (line.dot) return plan::print_dot(workflow, region);
    return plan::print(workflow, region) +
           (region.whole ? "" : fmt::format("this is not the whole program: {}\n", region.fence));
  } catch (const plan::NoPlan& none) { throw UsageError(none.what()); }
}

/// Prints the answer, or writes it to the file of -o. Returns the exit code.
int show(const CommandLine& line, const std::string& text) {
  if (line.output.empty()) {
    fmt::print("{}", text);
  } else {
    codegen::write_text(line.output, text);
  }
  return 0;
}

}  // namespace

int explain(const CommandLine& line) {
  Front front;
  compile_front(line, {}, front);
  link_own_functions(line, front);
  const codegen::OperationProgram operations = lower(front);
  const rt::AppOptions options = options_of(line, front.graph);
  const Written files{options.save_plan_file.value_or(""), options.plan_file.value_or("")};
  rt::RunFiles run_files = kept_files(front);
  if (!line.output.empty()) run_files.write_text("-o", line.output);
  run_files.add(options);
  if (line.last_ranks) return show(line, rank_range_text(line, front, operations, options));
  const ReportRequest request = request_of(line, front, operations, options);
  if (!line.stage.empty()) {
    // A stage without operations prints nothing: explain why, as the plan does.
    const plan::Region region = region_of(operations, request);
    if (region.ops.empty() && !region.whole) {
      print_error(region.fence + "\n");
      return 1;
    }
  }
  const std::string text = line.stage == "region"     ? plan::text_of(region_of(operations, request))
                           : line.stage == "workflow" ? workflow_text(line, operations, request)
                           : line.stage == "algebra"  ? algebra_text(operations, request)
                           : line.stage == "rules"    ? rules_text(operations, request)
                           : line.stage == "kernels"  ? kernels_text(operations, request)
                                                      : answer_of(line, front, operations, request, files);
  return show(line, text);
}

}  // namespace tdsl::tools
