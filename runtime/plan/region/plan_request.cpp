#include "runtime/plan/region/plan_request.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "runtime/check.h"

namespace tdsl::plan {

namespace {

[[noreturn]] void refuse_plan(const std::string& message) {
  throw rt::RunError(message + " [plan]", rt::ExitCode::kUsage);
}

/// Adapts a plan from a file to this program.
class FilePlan {
 public:
  FilePlan(const PlanFile& file, const Region& region, const PlanInputs& inputs, std::vector<std::string>& warnings)
      : file_(file), region_(region), inputs_(inputs), warnings_(warnings), ops_(deciding_operations(region)) {
    try {
      read_ = read_plan(file.text);
    } catch (const std::runtime_error& error) { refuse_plan("--use-plan " + file_.path + ": " + error.what()); }
  }

  PlanValue check(const std::string& program) {
    PlanValue& plan = read_.plan;
    if (plan.program != program) fail(kProgramLine, "it is a plan of `" + plan.program + "`, not of `" + program + "`");
    if (plan.ranks != inputs_.ranks)
      fail(kProgramLine,
           "it is a plan for " + std::to_string(plan.ranks) + " ranks, not for " + std::to_string(inputs_.ranks));
    for (auto decided = plan.at.begin(); decided != plan.at.end();) {
      const bool kept = check_site(decided->first, decided->second);
      decided = kept ? std::next(decided) : plan.at.erase(decided);
    }
    for (const auto& [site, form] : plan.forms) check_form(site, form);
    return std::move(plan);
  }

 private:
  [[nodiscard]] std::string at(std::size_t line) const {
    const std::size_t number = file_.lines.empty() ? line : file_.lines.at(line - 1);
    return "--use-plan " + file_.path + ": line " + std::to_string(number) + ": ";
  }
  [[noreturn]] void fail(std::size_t line, const std::string& message) const { refuse_plan(at(line) + message); }

  void check_form(int site, int form) const {
    const auto choice = std::ranges::find(region_.choices, site, &RegionChoice::site);
    const std::string number = "site " + std::to_string(site);
    if (choice == region_.choices.end() && !region_.whole) return;  // not covered by the survey
    if (choice == region_.choices.end()) fail(read_.lines.at(site), number + " has no forms in this program");
    if (form >= choice->forms)
      fail(read_.lines.at(site), number + " has forms 0 to " + std::to_string(choice->forms - 1));
  }

  /// Returns false if the decision is impossible here.
  bool check_site(int site, Decision& decision) {
    const std::size_t line = read_.lines.at(site);
    const std::string number = "site " + std::to_string(site);
    const auto found = ops_.find(site);
    if (found == ops_.end()) {
      if (!region_.whole) return true;  // not covered by the survey
      fail(line, number + " is none of this program, or not reached with these parameters");
    }
    const Op& op = *found->second;
    if (decision.kind != name_of(op.op_class))
      fail(line, number + " is a " + name_of(op.op_class) + " here, not a " + decision.kind);
    if (is_fixed(op)) fail(line, "where " + number + " runs is no choice");
    const bool repeats = repeated(decision.work, slot_names(op)) || repeated(decision.result, result_names(op));
    if (repeats && !may_repeat(op, inputs_)) {
      warn(line, "it is dropped: " + op.name + " would be computed by several ranks, whose processors differ");
      return false;
    }
    if (!fit(line, op, slot_names(op), decision.work)) return false;
    if (!decision.result.empty() && !fit(line, op, result_names(op), decision.result)) return false;
    if (!decision.copy.empty() && !fit(line, op, result_names(op), decision.copy)) return false;
    for (const int reader : decision.readers) {
      if (region_.whole && !ops_.contains(reader))
        fail(line, "site " + std::to_string(reader) + ", which would read the copy, is none of this program");
    }
    return true;
  }

  [[nodiscard]] bool repeated(const std::string& text, const std::vector<std::string>& names) const {
    const std::optional<Layout> layout = parse_layout(text, names, read_.plan.mesh);
    return layout && layout->repeated;
  }

  /// Drops the parts of the layout that this program's extents cannot carry; false if nothing remains.
  bool fit(std::size_t line, const Op& op, const std::vector<std::string>& names, std::string& text) {
    const Mesh& mesh = read_.plan.mesh;
    const std::optional<Layout> layout = parse_layout(text, names, mesh);
    if (!layout) fail(line, "`" + text + "` is no layout of its dimensions: " + list_of(names));
    if (layout->home >= inputs_.ranks) fail(line, "there is no rank " + std::to_string(layout->home));
    std::vector<DroppedAxis> dropped;
    const std::optional<Layout> fitting = fitting_layout(op, *layout, mesh, inputs_, dropped);
    if (!fitting) {
      warn(line, "`" + text + "` is dropped: the dimensions of " + op.name + " cannot carry it");
      return false;
    }
    for (const DroppedAxis& axis : dropped) {
      warn(line, std::string("axis ") + static_cast<char>('a' + axis.axis) + " is dropped: " + op.name +
                     " has too few elements along " + names[axis.slot]);
    }
    if (!dropped.empty()) text = text_of(*fitting, names);
    return true;
  }

  void warn(std::size_t line, const std::string& message) {
    if (!file_.lines.empty()) fail(line, message);
    warnings_.push_back(at(line) + message);
  }

  const PlanFile& file_;
  const Region& region_;
  const PlanInputs& inputs_;
  std::vector<std::string>& warnings_;
  std::map<int, const Op*> ops_;
  PlanText read_;
};

/// Plans from the file or the requested layouts precede those of schedules, which ignore imposed decisions.
ProgramPlans imposed_plans(const Region& region, const PlanInputs& inputs, const PlanRequest& request) {
  ProgramPlans plans;
  if (request.compare && inputs.ranks > 1) plans = plan_program(region, inputs, nullptr);
  plans.note.clear();
  Alternative chosen;
  if (request.use) {
    auto plan =
        std::make_shared<const PlanValue>(plan_of_file(*request.use, request.program, region, inputs, plans.warnings));
    plans.note = "of " + request.use->path;
    chosen = weigh("file", plan, plans.note, region, inputs);
  } else {
    const AskedLayouts asked(region, inputs, request.place);
    std::optional<Alternative> found =
        searched_plan(region, inputs, search_meshes(region, inputs, {true, &asked}), plans.found);
    if (!found) refuse_plan("--place: the program cannot be planned so");
    chosen = std::move(*found);
    chosen.name = "placed";
    plans.warnings = asked.warnings(plans.found->plan.mesh);
    plans.note = chosen.note + ", with the layouts of --place";
  }
  plans.alternatives.insert(plans.alternatives.begin(), std::move(chosen));
  return plans;
}

/// Plans of the schedule, followed by those of other schedules. A schedule that is requested runs, or there is no run.
ProgramPlans scheduled_plans(const Region& region, const PlanInputs& inputs, const PlanRequest& request) {
  ProgramPlans plans =
      plan_program(region, inputs, request.schedule, request.compare ? Compare::kAll : Compare::kNothing);
  if (!plans.refused.empty()) refuse_plan("--schedule=" + plans.refused);
  const bool asked = request.schedule != nullptr && !plans.alternatives.empty();
  if (const Index others = asked ? plans.alternatives.front().price.unplanned : 0; others > 0)
    plans.warnings.push_back(std::string("--schedule=") + request.schedule->name + ": " + std::to_string(others) +
                             " of " + std::to_string(region.ops.size()) + " operations cannot follow its plan");
  return plans;
}

}  // namespace

PlanValue plan_of_file(const PlanFile& file, const std::string& program, const Region& region, const PlanInputs& inputs,
                       std::vector<std::string>& warnings) {
  return FilePlan(file, region, inputs, warnings).check(program);
}

ProgramPlans plans_for(const Region& region, const PlanInputs& inputs, const PlanRequest& request) {
  const bool imposed = request.use || !request.place.empty();
  if (request.use && !request.place.empty())
    refuse_plan("--place and --use-plan cannot be given together: a plan file imposes everything");
  if (imposed && inputs.reproducible)
    refuse_plan(std::string(request.use ? "--use-plan" : "--place") + " with --reproducible is not supported yet");
  if (!request.place.empty() && inputs.ranks == 1) refuse_plan("--place: one rank has all of every tensor");
  ProgramPlans plans = imposed ? imposed_plans(region, inputs, request) : scheduled_plans(region, inputs, request);
  for (Alternative& alternative : plans.alternatives) {
    if (alternative.plan == nullptr) continue;
    PlanValue named = *alternative.plan;
    named.program = request.program;
    alternative.plan = std::make_shared<const PlanValue>(std::move(named));
  }
  return plans;
}

PlanValue saved_plan(const ProgramPlans& plans, const Region& region, const PlanInputs& inputs,
                     const PlanRequest& request) {
  if (!plans.alternatives.empty() && plans.alternatives.front().plan != nullptr)
    return *plans.alternatives.front().plan;
  PlanValue plan;
  plan.program = request.program;
  plan.region = region.hash;
  plan.ranks = inputs.ranks;
  plan.mesh = meshes_of(inputs.ranks, inputs.ranks_per_node).front();
  plan.schedule = schedules::kGreedy.name;
  return plan;
}

}  // namespace tdsl::plan
