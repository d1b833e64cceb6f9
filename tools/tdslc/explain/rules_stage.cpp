#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "codegen/relations/relations.h"
#include "ir/algebra/rules/compile.h"
#include "ir/algebra/rules/moves.h"
#include "ir/algebra/rules/paper_cost.h"
#include "ir/algebra/rules/reachable.h"
#include "ir/algebra/rules/rules.h"
#include "ir/algebra/text/text.h"
#include "tools/tdslc/explain/algebra_plan.h"
#include "tools/tdslc/explain/plan_output.h"
#include "tools/tdslc/front.h"

namespace tdsl::tools {

namespace algebra = ir::algebra;

namespace {

/// Plans compared in a round of the derivation.
constexpr std::size_t kPlansOfRound = 2000;
/// Every dimension has a block per site, and a product of matrices that number cubed.
constexpr algebra::Index kMostSites = 64;

/// The layout on the papers' single axis: PART over all dimensions that it cuts.
algebra::Layout on_one_axis(const algebra::Layout& layout) {
  if (layout.is_all()) return algebra::Layout::all();
  if (layout.cuts().empty()) return algebra::Layout::loose();
  return algebra::Layout::part(layout.cut_dims());
}

/// Layouts of inputs, by name, as a plan places them.
std::map<std::string, algebra::Layout> input_layouts(const codegen::Relations& placed) {
  std::map<std::string, algebra::Layout> layouts;
  for (const auto& [tensor, value] : placed.tensors) {
    const auto* input = algebra::as<algebra::Input>(value);
    if (input != nullptr && input->layout) layouts.emplace(input->name, on_one_axis(*input->layout));
  }
  return layouts;
}

/// A derivation as text. An expression has the same number in all steps.
class DerivationText {
 public:
  explicit DerivationText(algebra::Index sites) : sites_(sites) {}

  std::string initial(const algebra::Expr& plan) {
    std::string text;
    for (const algebra::Expr& e : algebra::nodes_of(std::span(&plan, 1))) text += line(' ', e);
    return text;
  }
  std::string step(std::size_t number, const algebra::RuleStep& step, algebra::Index before) {
    const algebra::Rule& rule = algebra::rule_named(step.rule);
    const std::string condition = rule.condition.empty() ? "" : fmt::format("; if {}", rule.condition);
    std::string text =
        fmt::format("\n; step {}, {}: {} is {}{}\n; costs {}, before {}\n", number, rule.name, rule.pattern,
                    rule.result, condition, algebra::paper_cost(step.plan, sites_), before);
    const std::vector<algebra::Expr> old = algebra::nodes_of(std::span(&step.before, 1)),
                                     now = algebra::nodes_of(std::span(&step.after, 1));
    for (const algebra::Expr& e : old) {
      if (std::ranges::find(now, e) == now.end()) text += line('-', e);
    }
    for (const algebra::Expr& e : now) {
      if (std::ranges::find(old, e) == old.end()) text += line('+', e);
    }
    return text;
  }

 private:
  std::string line(char mark, const algebra::Expr& e) {
    for (const algebra::Expr& node : algebra::nodes_of(std::span(&e, 1)))
      numbers_.emplace(node->id, static_cast<int>(numbers_.size()));
    const bool says_type = algebra::as<algebra::Input>(e) != nullptr || algebra::as<algebra::Opaque>(e) != nullptr;
    const std::string type = says_type ? fmt::format("{} floats", e->type.floats()) : algebra::type_text(e->type);
    return fmt::format("{} %{} = {} ; {}\n", mark, numbers_.at(e->id), algebra::line_text(e, numbers_), type);
  }

  algebra::Index sites_;
  std::map<int, int> numbers_;
};

/// Table 1 with inputs at their layouts; those that the plan does not place are cut by rows.
algebra::Expr compiled(const codegen::Relations& made, const std::map<std::string, algebra::Layout>& layouts) {
  const auto layout_of = [&](const algebra::Input& input) {
    const auto known = layouts.find(input.name);
    if (known != layouts.end()) return known->second;
    if (made.generated.contains(input.name)) return algebra::Layout::all();
    return algebra::Layout::part(input.frontier.empty() ? algebra::Dims{} : algebra::Dims{0});
  };
  return algebra::compile(*made.pool, algebra::single_root(*made.pool, made.program), layout_of);
}

std::string derivation_text(const algebra::Expr& first, const algebra::Cheapest& best, algebra::Index sites) {
  DerivationText derivation(sites);
  algebra::Index cost = algebra::paper_cost(first, sites);
  std::string text = fmt::format(
      "\n; Table 1 on {} sites, inputs as the plan places them\n; costs {}: floats x sites of a bcast, "
      "floats of a shuf\n{}",
      sites, cost, derivation.initial(first));
  for (std::size_t k = 0; k < best.steps.size(); ++k) {
    text += derivation.step(k + 1, best.steps[k], cost);
    cost = algebra::paper_cost(best.steps[k].plan, sites);
  }
  return text;
}

/// The last part of the output, which --use-plan takes.
std::string plan_text(const algebra::Cheapest& best, const algebra::Program& program, algebra::Index sites) {
  const std::vector<algebra::Index> arrived =
      algebra::moved_by(algebra::nodes_of(std::span(&best.plan, 1)), algebra::Mesh{{sites}});
  return fmt::format(
      "\n; the cheapest of {} plans{}\n; costs {}; {} elements arrive, {} of them at the busiest site\n{}\n{}",
      best.plans, best.complete ? ", all that the rules reach" : "", best.cost,
      std::accumulate(arrived.begin(), arrived.end(), algebra::Index{0}), *std::ranges::max_element(arrived),
      plan::mesh_line(plan::Mesh{{plan::MeshAxis{{sites, 1}, false}}}),
      algebra::print(algebra::results_of(best.plan, program)));
}

}  // namespace

std::string rules_text(const codegen::OperationProgram& operations, const ReportRequest& request) {
  const algebra::Index sites = request.inputs.ranks;
  if (sites > kMostSites) throw UsageError(fmt::format("--stage=rules: at most {} sites", kMostSites));
  const AlgebraPlan chosen = algebra_plan(operations, request);
  const codegen::Relations made = codegen::relations_of(chosen.region, chosen.bodies, {nullptr, sites});
  const std::string text = fmt::format("; {} without sites\n{}", operations.name, algebra::print(made.program)) +
                           notes_text(made, chosen.region);
  if (made.program.results.empty()) return text;
  std::map<std::string, algebra::Layout> layouts;
  if (chosen.plan != nullptr)
    layouts = input_layouts(codegen::relations_of(chosen.region, chosen.bodies, {chosen.plan.get()}));
  const algebra::Expr first = compiled(made, layouts);
  const algebra::Cheapest best = algebra::derive(*made.pool, first, sites, kPlansOfRound);
  return text + derivation_text(first, best, sites) + plan_text(best, made.program, sites);
}

}  // namespace tdsl::tools
