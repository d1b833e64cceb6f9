#include "tools/tdslc/explain/plan_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "runtime/app/report/statistics_text.h"
#include "runtime/check.h"
#include "runtime/plan/cost/rank_view.h"
#include "runtime/plan/lists.h"
#include "runtime/plan/region/memory_need.h"
#include "runtime/plan/row_counts.h"
#include "runtime/plan/steps/steps.h"
#include "runtime/record/planning_sink.h"
#include "runtime/record/start.h"
#include "tools/tdslc/explain/paper_costs_text.h"

namespace tdsl::tools {

namespace {

/// Thrown if an operation does not fit the memory limit: its plan would be the one that exceeds the limit least, with
/// steps of single elements.
struct Misfit {
  plan::MemoryNeed need;
};

/// Number of ranks sampled for counting stored elements.
constexpr plan::Index kRanksCounted = 1024;

/// Sums up planned operations. Throws Misfit.
class Reporter : public record::PlanningSink {
 public:
  explicit Reporter(const ReportRequest& request) : PlanningSink(request.inputs), request_(request) {
    report_.ranks = request.inputs.ranks;
    report_.threads = request.inputs.threads;
    report_.memory_text = request.memory_text;
    for (const std::int64_t r : request.ranks) {
      report_.per_rank.push_back({});
      report_.per_rank.back().rank = r;
      resident_.emplace_back(r);
    }
    if (request.inputs.reproducible) compare_with_baseline();
    if (!request.predictions) return;
    predictions_.resize(static_cast<std::size_t>(request.inputs.ranks));
    for (std::size_t r = 0; r < predictions_.size(); ++r) predictions_[r].enable(static_cast<int>(r));
  }

  void segment(plan::Segment segment) override {
    if (baseline_) baseline_->segment(segment);
    PlanningSink::segment(std::move(segment));
  }

  void note(codegen::SourceRange range, const std::string& text) {
    const auto entry = std::pair(range, text);
    const bool known =
        std::ranges::any_of(report_.notes, [&](const auto& n) { return n.first == range && n.second == text; });
    if (!known) report_.notes.push_back(entry);
  }

  /// Plans operations according to `start`, which was found in `seconds`.
  void choose(record::Start start, double seconds) {
    plan::ProgramPlans& plans = start.plans;
    if (request_.time_plan) report_.planning_seconds = seconds;
    report_.plan = std::move(start.saved);
    for (const std::string& warning : plans.warnings) note({}, warning);
    report_.whole = whole_plan_of(start.region, request_.inputs, plans);
    if (!plans.alternatives.empty()) {
      if (!request_.why.empty()) report_.why = why_of(start.region, request_.inputs, plans, request_.why);
      if (request_.why.empty()) next_ = runner_ups_of(start.region, request_.inputs, plans);
    }
    report_.found = plans.note;
    report_.alternatives = std::move(plans.alternatives);
    for (const std::string& none : plans.left_out) note({}, "no plan by " + none);
    if (request_.paper_costs) region_ = std::move(start.region);
    if (start.plan != nullptr && !start.plan->at.empty()) impose(std::make_unique<plan::ImposedPlan>(start.plan));
  }

  PlanReport finish() {
    report_.plan_hash = planner().hash();
    report_.largest_step = planner().largest_step();
    report_.memory = planner().needed_memory();
    if (!predictions_.empty()) report_.predictions = predictions_text();
    if (region_ && !report_.alternatives.empty())
      report_.paper_costs =
          paper_costs_text(*region_, request_.inputs, report_.alternatives.front(), received_by_site());
    return std::move(report_);
  }

 private:
  /// Predictions in the format of the executables' --plan.
  [[nodiscard]] std::string predictions_text() const {
    rt::RunDescription run;
    run.program = request_.plan.program;
    run.plan_hash = planner().hash();
    run.ranks_per_node = planner().inputs().ranks_per_node;
    run.threads = request_.inputs.threads;
    run.machine = request_.inputs.machine;
    std::vector<rt::RankFigures> ranks;
    for (const rt::Predictions& mine : predictions_) {
      ranks.push_back({});
      ranks.back().numbers.predicted_peak_block_bytes = mine.peak_block_bytes();
      std::map<int, rt::SiteNumbers> sites;
      rt::add_predictions(sites, mine);
      for (auto& [site, numbers] : sites) {
        numbers.site = site;
        ranks.back().sites.push_back(numbers);
      }
    }
    return rt::statistics_text(run, ranks, predictions_.front(), {false, false});
  }

  /// Bytes that the busiest rank receives per execution, by site.
  [[nodiscard]] std::map<int, double> received_by_site() const {
    std::map<int, double> received;
    for (const PlanRow& row : report_.rows)
      received[row.site] += row.summary.max_bytes / static_cast<double>(std::max<std::int64_t>(row.times, 1));
    return received;
  }

  [[nodiscard]] const std::shared_ptr<const plan::PlanValue>& chosen_plan() const {
    return report_.alternatives.front().plan;
  }

  void compare_with_baseline() {
    report_.baseline.emplace();
    baseline_.emplace(request_.inputs, [this](const plan::PlannedOp& op, const plan::TensorLookup& lookup,
                                              const plan::PlanInputs& inputs) {
      const plan::CostSummary s = plan::summarise(op.op, op.plan, lookup, inputs.machine, inputs.threads);
      report_.baseline->first += s.mean_bytes * static_cast<double>(report_.ranks);
      report_.baseline->second += s.max_seconds;
    });
  }

  void planned(const plan::PlannedSegment& segment) override {
    if (request_.inputs.memory > 0 && planner().needed_memory().bytes > request_.inputs.memory)
      throw Misfit{planner().needed_memory()};
    const plan::TensorLookup lookup = planner().lookup();
    for (plan::ResidentBytes& resident : resident_) {
      for (const plan::TensorId id : segment.ended) resident.free(id);
    }
    for (rt::Predictions& mine : predictions_) {
      for (const plan::TensorId id : segment.ended) mine.free(id);
      for (std::size_t n = 0; n < segment.ops.size(); ++n)
        mine.add(*segment.ops[n], lookup, planner().inputs(), segment.last_names[n]);
    }
    for (std::size_t n = 0; n < segment.ops.size(); ++n) {
      add_row(*segment.ops[n], lookup);
      for (std::size_t k = 0; k < report_.per_rank.size(); ++k)
        add_rank(k, *segment.ops[n], lookup, segment.last_names[n]);
    }
  }

  void add_row(const plan::PlannedOp& op, const plan::TensorLookup& lookup) {
    const plan::PlanInputs& inputs = request_.inputs;
    const std::string text = describe(op);
    auto row = std::ranges::find_if(report_.rows, [&](const PlanRow& r) {
      return r.site == op.op.site && r.part == op.part && r.plan == text && r.kind == plan::name_of(op.op.op_class);
    });
    if (row == report_.rows.end()) {
      PlanRow fresh;
      fresh.site = op.op.site;
      fresh.line = op.op.line;
      fresh.part = op.part;
      fresh.name = op.op.name;
      fresh.kind = plan::name_of(op.op.op_class);
      fresh.plan = text;
      add_layout(fresh);
      fresh.why = op.plan.why;
      add_stored(fresh, op);
      add_lists(fresh, op, lookup);
      report_.rows.push_back(std::move(fresh));
      row = report_.rows.end() - 1;
    }
    ++row->times;
    const plan::CostSummary s = plan::summarise(op.op, op.plan, lookup, inputs.machine, inputs.threads);
    row->summary.max_bytes += s.max_bytes;
    row->summary.mean_bytes += s.mean_bytes;
    row->summary.max_flops += s.max_flops;
    row->summary.mean_flops += s.mean_flops;
    row->summary.max_seconds += s.max_seconds;
    row->summary.max_writes += s.max_writes;
    row->summary.file_bytes += s.file_bytes;
    row->summary.max_step = std::max(row->summary.max_step, s.max_step);
    report_.bytes_received += s.mean_bytes * static_cast<double>(report_.ranks);
    report_.seconds += s.max_seconds;
  }

  static void add_lists(PlanRow& row, const plan::PlannedOp& op, const plan::TensorLookup& lookup) {
    for (const plan::Access& access : op.op.reads) {
      const std::string& name = lookup(access.tensor).desc.name;
      if (std::ranges::find(row.by_lists, name) == row.by_lists.end() &&
          plan::by_lists(op.op, op.plan, lookup, access.tensor))
        row.by_lists.push_back(name);
    }
  }

  static void add_stored(PlanRow& row, const plan::PlannedOp& op) {
    if (op.op.outputs.empty() || !op.op.outputs.front().sized()) return;
    const plan::TensorDesc& tensor = op.op.outputs.front();
    row.stored = tensor.stored.expected;
    const auto all = plan::Estimate::exactly(static_cast<double>(tensor.elements()));
    const auto blocks = plan::Estimate::exactly(static_cast<double>(op.plan.space.tile_count()));
    row.stored_bytes = plan::counting::bytes_of_blocks(tensor, op.plan.space, blocks, all).expected;
    if (tensor.rows == nullptr || !op.plan.space.by_axes() || op.plan.space.copies() > 1) return;
    double most = 0;
    const std::vector<plan::Index> ranks = plan::rank_sample(op.plan.space, kRanksCounted);
    for (const plan::Index rank : ranks) {
      double mine = 0;
      for (const plan::Interval& rows : plan::counting::owned_intervals(op.plan.space, rank, 0))
        mine += plan::stored_in_rows(tensor, rows).expected;
      most = std::max(most, mine);
    }
    if (row.stored > 0) row.imbalance = most * static_cast<double>(op.plan.space.ranks()) / row.stored;
  }

  /// Adds the whole-program layout to the row, and the runner-up to the first row of its site.
  void add_layout(PlanRow& row) {
    if (report_.alternatives.empty() || chosen_plan() == nullptr) return;
    const auto decided = chosen_plan()->at.find(row.site);
    if (decided == chosen_plan()->at.end()) return;
    const plan::Decision& decision = decided->second;
    if (row.part == 0) row.layout = decision.result.empty() ? decision.work : decision.work + " -> " + decision.result;
    if (row.part == 1) row.layout = decision.result;
    if (row.part == 2) row.layout = decision.copy;
    const auto next = next_.find(row.site);
    if (next == next_.end() || row.part != 0) return;
    row.next = next->second.layout;
    row.next_bytes = next->second.bytes;
    row.next_seconds = next->second.seconds;
  }

  static std::string describe(const plan::PlannedOp& op) {
    std::vector<std::string> names;
    for (std::size_t d = 0; d < op.op.out.size(); ++d) {
      const int label = op.op.out[d].label;
      names.push_back(label >= 0 ? op.op.labels[static_cast<std::size_t>(label)].name : fmt::format("{}", d));
    }
    std::string text = op.plan.space.describe(names);
    for (std::size_t k = 0; k < op.op.reduce.size(); ++k) {
      text += fmt::format(", {}: {} panels", op.op.labels[static_cast<std::size_t>(op.op.reduce[k].label)].name,
                          op.plan.reduce[k].tiles());
    }
    return text;
  }

  void add_rank(std::size_t k, const plan::PlannedOp& op, const plan::TensorLookup& lookup,
                const std::vector<plan::TensorId>& dead) {
    const plan::PlanInputs& inputs = request_.inputs;
    RankReport& r = report_.per_rank[k];
    const plan::Cost cost = plan::cost_of(op.op, op.plan, lookup, r.rank, inputs.machine, inputs.threads);
    r.predicted_bytes += cost.bytes_received.hi;
    r.predicted_flops += cost.flops.hi;
    if (!request_.enumerate) {
      r.tasks += static_cast<std::int64_t>(cost.tasks.hi);
      r.messages += static_cast<std::int64_t>(cost.boxes.hi);
      r.bytes_received += cost.bytes_received.hi;
    } else {
      enumerate(r, op, lookup);
    }
    resident_[k].run(op, cost.step_bytes.hi, dead);
    r.peak_bytes = resident_[k].peak();
  }

  static void enumerate(RankReport& r, const plan::PlannedOp& op, const plan::TensorLookup& lookup) {
    const plan::TaskSpace space(op.op, op.plan, lookup);
    plan::StepCursor cursor(space, lookup, r.rank);
    plan::Step step;
    while (cursor.next(step)) {
      ++r.steps;
      r.tasks += static_cast<std::int64_t>(step.tasks.size());
      r.messages += static_cast<std::int64_t>(step.fetch.size());
      r.bytes_received += step.fetch_bytes.expected;
    }
  }

  const ReportRequest& request_;
  PlanReport report_;
  std::map<int, RunnerUp> next_;  ///< by site
  std::vector<plan::ResidentBytes> resident_;
  std::vector<rt::Predictions> predictions_;  ///< per rank, if requested
  std::optional<record::BaselineSink> baseline_;
  std::optional<plan::Region> region_;  ///< for the papers' costs
};

}  // namespace

plan::HomeRequest home_request(const ReportRequest& report) {
  plan::HomeRequest request;
  request.certain = true;
  request.saves = report.saves;
  if (report.in_file)
    request.in_file = [in_file = report.in_file](const std::string& input, plan::Index row) {
      return row >= plan::kLeastFileRow && in_file(input);
    };
  return request;
}

namespace {

PlanReport report_of(const codegen::OperationProgram& program, const ReportRequest& request) {
  Reporter reporter(request);
  record::Recorder recorder(reporter);
  record::Forms forms;
  if (program.chooses || record::plans_are_wanted(request.plan, request.inputs)) {
    const std::clock_t begin = std::clock();  // CPU time: planning is sequential, and other programs may be running
    record::Start start = record::start_of(codegen::recording_of(program, request.walk), request.inputs, request.plan);
    const double taken = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    if (start.plan != nullptr) forms.at = start.plan->forms;
    reporter.choose(std::move(start), taken);
  }
  const auto note = [&reporter](codegen::SourceRange range, const std::string& text) { reporter.note(range, text); };
  codegen::walk_as_shown(program, request.walk, recorder, note, forms);
  return reporter.finish();
}

}  // namespace

namespace {

/// True if the program fits --memory on `ranks` ranks.
bool fits_on(const codegen::OperationProgram& program, ReportRequest request, std::int64_t ranks) {
  const bool one_node = request.inputs.ranks_per_node == request.inputs.ranks;
  request.inputs.ranks = ranks;
  if (one_node) request.inputs.ranks_per_node = ranks;
  request.walk.ranks = ranks;
  request.walk.deciding_ranks = request.inputs.deciding_ranks();
  request.ranks.clear();
  request.predictions = false;
  request.plan.compare = false;
  try {
    static_cast<void>(report_of(program, request));
    return true;
  } catch (const Misfit&) { return false; } catch (const rt::RunError&) {
    return false;  // the requested schedule has no plan for these ranks
  }
}

/// The smallest larger number of ranks on which the program fits. Nodes remain full.
std::optional<std::int64_t> enough_ranks(const codegen::OperationProgram& program, const ReportRequest& request,
                                         const plan::MemoryNeed& need) {
  const plan::PlanInputs& inputs = request.inputs;
  // An imposed plan is for this number of ranks.
  if (request.plan.use || !request.plan.place.empty()) return std::nullopt;
  // Lower bound assuming that memory is divided perfectly; if it is large, trying would take too long.
  const double shared = static_cast<double>(need.bytes - need.step) * static_cast<double>(inputs.ranks) /
                        static_cast<double>(inputs.memory);
  const std::int64_t unit = inputs.ranks_per_node < inputs.ranks ? inputs.ranks_per_node : 1;
  return plan::enough_ranks([&](plan::Index ranks) { return fits_on(program, request, ranks); }, inputs.ranks, unit,
                            shared);
}

/// The report with tensors on disk and in input files, if the program fits that way; the same search as in a run
/// (runtime/app/run/fitting_start.cpp).
std::optional<PlanReport> spilled_report(const codegen::OperationProgram& program, ReportRequest request) {
  if (!request.spill) return std::nullopt;
  plan::PlanInputs& inputs = request.inputs;
  const record::Start start = record::start_of(codegen::recording_of(program, request.walk), inputs, request.plan);
  plan::FoundHomes homes = plan::find_homes_and_room(start.region, inputs, start.plan, home_request(request));
  if (!homes.fits) return std::nullopt;
  inputs.memory = homes.memory;
  inputs.homes = homes.homes;
  try {
    PlanReport report = report_of(program, request);
    report.homes = std::move(homes);
    report.machine = inputs.machine;
    return report;
  } catch (const Misfit&) { return std::nullopt; }
}

}  // namespace

PlanReport make_report(const codegen::OperationProgram& program, const ReportRequest& request) {
  try {
    return report_of(program, request);
  } catch (const Misfit& misfit) {
    if (std::optional<PlanReport> spilled = spilled_report(program, request)) return std::move(*spilled);
    // Raises the memory to the need of each operation that does not fit; the last value is the least sufficient memory.
    PlanReport report;
    report.ranks = request.inputs.ranks;
    report.threads = request.inputs.threads;
    report.fits = false;
    report.memory_limit = request.inputs.memory;
    report.memory_text = request.memory_text;
    report.memory = misfit.need;
    if (request.why.empty() && request.suggest_ranks) report.enough_ranks = enough_ranks(program, request, misfit.need);
    for (ReportRequest more = request; true;) {
      more.inputs.memory = report.memory.bytes;
      more.plan.compare = false;
      try {
        static_cast<void>(report_of(program, more));
        return report;
      } catch (const Misfit& next) { report.memory = next.need; }
    }
  }
}

}  // namespace tdsl::tools
