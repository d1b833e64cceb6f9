#include "tools/tdslc/explain/whole_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/check.h"
#include "tools/tdslc/front.h"

namespace tdsl::tools {

namespace {

/// Runner-ups are computed for regions of at most this size.
constexpr std::size_t kRunnerUpOperations = 200;
/// Number of candidate values shown by --why.
constexpr std::size_t kValuesShown = 48;

/// Alternatives are known only for a plan found by search.
bool is_searched(const plan::ProgramPlans& plans) {
  const std::string& name = plans.alternatives.front().name;
  return plans.found && (name == "search" || name == "placed");
}

bool reads_copy(const plan::PlanValue* plan, int producer, int reader) {
  if (plan == nullptr) return false;
  const auto decided = plan->at.find(producer);
  return decided != plan->at.end() &&
         std::ranges::find(decided->second.readers, reader) != decided->second.readers.end();
}

/// Sites in program order, with the sites they read.
std::vector<WholePlan::Node> nodes_of(const plan::Region& region, const plan::PlanValue* plan) {
  std::vector<WholePlan::Node> nodes;
  std::map<plan::TensorId, int> producer;
  std::map<int, std::size_t> number;
  for (const plan::RegionOp& recorded : region.ops) {
    const plan::Op& op = recorded.op;
    const auto [known, fresh] = number.try_emplace(op.site, nodes.size());
    if (fresh) nodes.push_back({op.site, rt::line_in(op.line), op.name, plan::name_of(op.op_class), {}, {}});
    for (const plan::TensorDesc& output : op.outputs) producer[output.id] = op.site;
    for (const plan::Access& access : op.reads) {
      const auto from = producer.find(access.tensor);
      if (from == producer.end()) continue;
      const std::pair<int, bool> read{from->second, reads_copy(plan, from->second, op.site)};
      std::vector<std::pair<int, bool>>& reads = nodes[known->second].reads;
      if (std::ranges::find(reads, read) == reads.end()) reads.push_back(read);
    }
  }
  if (plan == nullptr) return nodes;
  for (WholePlan::Node& node : nodes) {
    const auto decided = plan->at.find(node.site);
    if (decided != plan->at.end()) node.layout = plan::text_of(decided->second);
  }
  return nodes;
}

/// The limit that a value violates, if any.
std::string broken_by(const plan::SiteValue& value, const plan::Region& region, bool limited) {
  if (!value.possible) return "the rest cannot be planned around it";
  if (value.fits || value.worst < 0) return {};
  const plan::Op& worst = region.ops[static_cast<std::size_t>(value.worst)].op;
  return fmt::format("exceeds {} by {} at `{}` (line {})", limit_name(limited), human_bytes(value.excess), worst.name,
                     rt::line_in(worst.line));
}

}  // namespace

const char* limit_name(bool limited) { return limited ? "--memory" : "the search's bound"; }

WholePlan whole_plan_of(const plan::Region& region, const plan::PlanInputs& inputs, const plan::ProgramPlans& plans) {
  const plan::Alternative chosen = plans.alternatives.empty() ? plan::Alternative{} : plans.alternatives.front();
  WholePlan whole;
  whole.exact = !plans.alternatives.empty() && is_searched(plans) && plans.found->exact;
  whole.guessed = region.guessed;
  whole.loops = std::ranges::any_of(region.ops, [](const plan::RegionOp& op) { return op.weight > 1; });
  whole.peak_bytes = chosen.price.peak_bytes;
  whole.limited = inputs.memory > 0;
  whole.limit_bytes = plan::memory_limit(region, inputs);
  whole.fence = region.fence;
  whole.nodes = nodes_of(region, chosen.plan.get());
  if (chosen.plan == nullptr) return whole;
  for (const auto& [site, decision] : chosen.plan->at) {
    if (!decision.copy.empty()) whole.kept.push_back(decision.name + " " + decision.copy);
  }
  return whole;
}

WhyReport why_of(const plan::Region& region, const plan::PlanInputs& inputs, const plan::ProgramPlans& plans,
                 const std::string& name) {
  const plan::SiteNames names(region);
  WhyReport why;
  why.site = names.find(name, "--why " + name);
  const plan::Op& op = names.op(why.site);
  why.line = rt::line_in(op.line);
  why.name = op.name;
  why.kind = plan::name_of(op.op_class);
  if (!plans.found) return why;
  why.of_search = !is_searched(plans);
  const plan::SiteValues values(region, inputs, *plans.found);
  why.values = values.values(why.site, kValuesShown, why.left_out);
  for (const plan::SiteValue& value : why.values) why.broken.push_back(broken_by(value, region, inputs.memory > 0));
  return why;
}

std::map<int, RunnerUp> runner_ups_of(const plan::Region& region, const plan::PlanInputs& inputs,
                                      const plan::ProgramPlans& plans) {
  std::map<int, RunnerUp> next;
  if (!is_searched(plans) || region.ops.size() > kRunnerUpOperations) return next;
  const plan::SiteValues values(region, inputs, *plans.found);
  const plan::PlanPrice& mine = plans.alternatives.front().price;
  for (const auto& [site, decision] : plans.found->plan.at) {
    const std::optional<plan::SiteValue> value = values.runner_up(site);
    if (value)
      next.emplace(site, RunnerUp{value->layout, value->price.bytes_received - mine.bytes_received,
                                  value->seconds - plans.found->seconds});
  }
  return next;
}

}  // namespace tdsl::tools
