#include "tools/tdslc/explain/plan_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "codegen/relations/relations.h"
#include "ir/algebra/text/text.h"
#include "runtime/check.h"
#include "runtime/record/start.h"
#include "tools/tdslc/explain/algebra_plan.h"

namespace tdsl::tools {

namespace {

/// `line 17, H: `
std::string place_of(const plan::Op& op) { return fmt::format("line {}, {}: ", rt::line_in(op.line), op.name); }

std::string opaque_text(const codegen::Relations& relations, const plan::Region& region) {
  std::vector<std::string> said;
  for (const codegen::RelationStep& step : relations.steps) {
    if (step.opaque.empty()) continue;
    const std::string text = "; " + place_of(region.ops[step.op].op) + "opaque: " + step.opaque + "\n";
    if (std::ranges::find(said, text) == said.end()) said.push_back(text);
  }
  return std::accumulate(said.begin(), said.end(), std::string());
}

std::string moves_text(const codegen::Relations& relations, const plan::Region& region) {
  std::string text;
  for (const codegen::RelationStep& step : relations.steps) {
    const std::vector<ir::algebra::Index> arrived = relations.arrivals(step);
    const auto all = std::accumulate(arrived.begin(), arrived.end(), ir::algebra::Index{0});
    const double weight = region.ops[step.op].weight;
    if (all == 0) continue;
    text +=
        fmt::format("; {}{} elements arrive, {} of them at the busiest site{}\n", place_of(region.ops[step.op].op), all,
                    *std::ranges::max_element(arrived), weight == 1 ? "" : fmt::format("; {:g} times", weight));
  }
  return text.empty() ? "; nothing moves\n" : text;
}

}  // namespace

AlgebraPlan algebra_plan(const codegen::OperationProgram& operations, const ReportRequest& request) {
  AlgebraPlan made;
  // The chosen plan or, if operations are planned individually, the best plan that is a value.
  plan::PlanRequest whole = request.plan;
  if (!plan::plans_whole(whole.schedule)) whole.schedule = nullptr;
  const record::Start start = record::start_of(codegen::recording_of(operations, request.walk), request.inputs, whole);
  made.region = codegen::survey_with_bodies(operations, request.walk, made.bodies, {start.saved.forms});
  const plan::ProgramPlans& plans = start.plans;
  const auto found =
      std::ranges::find_if(plans.alternatives, [](const plan::Alternative& a) { return a.plan != nullptr; });
  if (found == plans.alternatives.end() || found->plan->mesh.axes.empty()) return made;
  made.plan = found->plan;
  made.schedule = found->name;
  if (found != plans.alternatives.begin()) made.chosen = plans.alternatives.front().name;
  return made;
}

std::string notes_text(const codegen::Relations& relations, const plan::Region& region) {
  std::string text;
  if (!region.whole) text += fmt::format("; this is not the whole program: {}\n", region.fence);
  text += opaque_text(relations, region);
  for (const std::string& padded : relations.padded) text += fmt::format("; {}\n", padded);
  return text;
}

std::string algebra_text(const codegen::OperationProgram& operations, const ReportRequest& request) {
  const AlgebraPlan made = algebra_plan(operations, request);
  const plan::PlanValue* plan = made.plan.get();
  // Both variants use the plan's blocks.
  const codegen::Relations physical = codegen::relations_of(made.region, made.bodies, {plan, 1});
  const codegen::Relations logical =
      plan != nullptr ? codegen::relations_of(made.region, made.bodies, {plan, 1, false}) : physical;
  const std::string text = fmt::format("; {} without sites\n{}", operations.name, ir::algebra::print(logical.program)) +
                           notes_text(physical, made.region);
  if (plan == nullptr) return text + "; there is no plan of the whole program, so there are no sites\n";
  const std::string chosen =
      made.chosen.empty() ? "" : fmt::format(" ({}, which has no plan of its own, was chosen)", made.chosen);
  return text +
         fmt::format("\n; its plan on {} sites, schedule {}{}\n{}\n{}", request.inputs.ranks, made.schedule, chosen,
                     plan::mesh_line(plan->mesh), ir::algebra::print(physical.program)) +
         moves_text(physical, made.region);
}

}  // namespace tdsl::tools
