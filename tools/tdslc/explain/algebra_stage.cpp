#include "tools/tdslc/explain/plan_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "codegen/relations/relations.h"
#include "ir/algebra/text/text.h"
#include "runtime/check.h"
#include "runtime/record/start.h"

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

std::string mesh_text(const plan::Mesh& mesh) {
  std::string text;
  for (std::size_t a = 0; a < mesh.axes.size(); ++a)
    text += fmt::format(" {}:{}", static_cast<char>('a' + a), mesh.axes[a].size);
  return text;
}

}  // namespace

std::string algebra_text(const codegen::OperationProgram& operations, const ReportRequest& request) {
  codegen::Bodies bodies;
  // The chosen plan or, if operations are planned individually, the best plan that is a value.
  plan::PlanRequest whole = request.plan;
  if (!plan::plans_whole(whole.schedule)) whole.schedule = nullptr;
  const record::Start start = record::start_of(codegen::recording_of(operations, request.walk), request.inputs, whole);
  const plan::Region region = codegen::survey_with_bodies(operations, request.walk, bodies, {start.saved.forms});
  const plan::ProgramPlans& plans = start.plans;
  const auto found =
      std::ranges::find_if(plans.alternatives, [](const plan::Alternative& a) { return a.plan != nullptr; });
  const plan::PlanValue* plan = found == plans.alternatives.end() ? nullptr : found->plan.get();
  const bool placed = plan != nullptr && !plan->mesh.axes.empty();
  // Both variants use the plan's blocks.
  codegen::RelationRequest sites{placed ? plan : nullptr, 1};
  const codegen::Relations physical = codegen::relations_of(region, bodies, sites);
  const codegen::Relations logical = placed ? codegen::relations_of(region, bodies, {plan, 1, false}) : physical;
  std::string text = fmt::format("; {} without sites\n{}", operations.name, ir::algebra::print(logical.program));
  if (!region.whole) text += fmt::format("; this is not the whole program: {}\n", region.fence);
  text += opaque_text(placed ? physical : logical, region);
  for (const std::string& padded : physical.padded) text += fmt::format("; {}\n", padded);
  if (!placed) return text + "; there is no plan of the whole program, so there are no sites\n";
  const std::string chosen =
      found == plans.alternatives.begin()
          ? ""
          : fmt::format(" ({}, which has no plan of its own, was chosen)", plans.alternatives.front().name);
  text += fmt::format("\n; its plan on {} sites, mesh{}, schedule {}{}\n{}", request.inputs.ranks,
                      mesh_text(plan->mesh), found->name, chosen, ir::algebra::print(physical.program));
  return text + moves_text(physical, region);
}

}  // namespace tdsl::tools
