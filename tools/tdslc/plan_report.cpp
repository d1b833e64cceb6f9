#include "tools/tdslc/plan_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/plan/steps/steps.h"
#include "runtime/record/planning_sink.h"

namespace tdsl::tools {

namespace {

/// An operation does not fit the memory limit: its plan would be what exceeds the limit least, in steps of single elements.
struct Misfit {
  plan::MemoryNeed need;
};

/// Adds up what is planned. Throws Misfit.
class Reporter : public record::PlanningSink {
 public:
  explicit Reporter(const ReportRequest& request) : PlanningSink(request.inputs), request_(request) {
    report_.ranks = request.inputs.ranks;
    report_.threads = request.inputs.threads;
    for (const std::int64_t r : request.ranks) {
      report_.per_rank.push_back({});
      report_.per_rank.back().rank = r;
      resident_.emplace_back(r);
    }
    if (request.inputs.reproducible) compare_with_baseline();
  }

  void segment(plan::Segment segment) override {
    if (baseline_) baseline_->segment(segment);
    PlanningSink::segment(std::move(segment));
  }

  void note(codegen::SourceRange range, const std::string& text) {
    const auto entry = std::pair(range, text);
    const bool known = std::ranges::any_of(report_.notes, [&](const auto& n) { return n.first == range && n.second == text; });
    if (!known) report_.notes.push_back(entry);
  }

  /// From now on operations are planned as the first of the plans says.
  void choose(plan::ProgramPlans plans) {
    report_.alternatives = std::move(plans.alternatives);
    report_.found = std::move(plans.note);
    if (!plans.refused.empty()) note({}, "--schedule=" + plans.refused + "; every operation is planned by itself");
    for (const std::string& none : plans.left_out) {
      if (none != plans.refused) note({}, "no plan by " + none);
    }
    if (report_.alternatives.empty() || report_.alternatives.front().plan == nullptr) return;
    impose(std::make_unique<plan::ImposedPlan>(report_.alternatives.front().plan));
  }

  PlanReport finish() {
    report_.plan_hash = planner().hash();
    report_.largest_step = planner().largest_step();
    report_.memory = planner().needed_memory();
    return std::move(report_);
  }

 private:
  void compare_with_baseline() {
    report_.baseline.emplace();
    baseline_.emplace(request_.inputs, [this](const plan::PlannedOp& op, const plan::TensorLookup& lookup, const plan::PlanInputs& inputs) {
      const plan::CostSummary s = plan::summarise(op.op, op.plan, lookup, inputs.machine, inputs.threads);
      report_.baseline->first += s.mean_bytes * static_cast<double>(report_.ranks);
      report_.baseline->second += s.max_seconds;
    });
  }

  void planned(const plan::PlannedSegment& segment) override {
    if (request_.inputs.memory > 0 && planner().needed_memory().bytes > request_.inputs.memory) throw Misfit{planner().needed_memory()};
    const plan::TensorLookup lookup = planner().lookup();
    for (plan::ResidentBytes& resident : resident_) {
      for (const plan::TensorId id : segment.ended) resident.free(id);
    }
    for (std::size_t n = 0; n < segment.ops.size(); ++n) {
      add_row(*segment.ops[n], lookup);
      for (std::size_t k = 0; k < report_.per_rank.size(); ++k) add_rank(k, *segment.ops[n], lookup, segment.last_names[n]);
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
      fresh.why = op.plan.why;
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
    row->summary.max_step = std::max(row->summary.max_step, s.max_step);
    report_.bytes_received += s.mean_bytes * static_cast<double>(report_.ranks);
    report_.seconds += s.max_seconds;
  }

  static std::string describe(const plan::PlannedOp& op) {
    std::vector<std::string> names;
    for (std::size_t d = 0; d < op.op.out.size(); ++d) {
      const int label = op.op.out[d].label;
      names.push_back(label >= 0 ? op.op.labels[static_cast<std::size_t>(label)].name : fmt::format("{}", d));
    }
    std::string text = op.plan.space.describe(names);
    for (std::size_t k = 0; k < op.op.reduce.size(); ++k) {
      text += fmt::format(", {}: {} panels", op.op.labels[static_cast<std::size_t>(op.op.reduce[k].label)].name, op.plan.reduce[k].tiles());
    }
    return text;
  }

  void add_rank(std::size_t k, const plan::PlannedOp& op, const plan::TensorLookup& lookup, const std::vector<plan::TensorId>& dead) {
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
      r.bytes_received += static_cast<double>(step.fetch_bytes);
    }
  }

  const ReportRequest& request_;
  PlanReport report_;
  std::vector<plan::ResidentBytes> resident_;
  std::optional<record::BaselineSink> baseline_;
};

}  // namespace

namespace {

PlanReport report_of(const codegen::FamilyProgram& program, const ReportRequest& request) {
  Reporter reporter(request);
  record::Recorder recorder(reporter);
  if (request.inputs.ranks > 1) reporter.choose(plan::plan_program(codegen::survey_of(program, request.walk), request.inputs, request.schedule, plan::Compare::kAll));
  codegen::walk_as_shown(program, request.walk, recorder, [&reporter](codegen::SourceRange range, const std::string& text) { reporter.note(range, text); });
  return reporter.finish();
}

}  // namespace

PlanReport make_report(const codegen::FamilyProgram& program, const ReportRequest& request) {
  try {
    return report_of(program, request);
  } catch (const Misfit& misfit) {
    // What each operation needs, until all fit: the least memory is the last of these.
    PlanReport report;
    report.ranks = request.inputs.ranks;
    report.threads = request.inputs.threads;
    report.fits = false;
    report.memory = misfit.need;
    for (ReportRequest more = request; true;) {
      more.inputs.memory = report.memory.bytes;
      try {
        static_cast<void>(report_of(program, more));
        return report;
      } catch (const Misfit& next) {
        report.memory = next.need;
      }
    }
  }
}

}  // namespace tdsl::tools
