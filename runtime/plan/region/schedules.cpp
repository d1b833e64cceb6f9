#include "runtime/plan/region/schedules.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "runtime/plan/workflow/lshs.h"
#include "runtime/plan/workflow/pattern.h"
#include "runtime/plan/workflow/placed_tasks.h"

namespace tdsl::plan {

namespace {

constexpr std::array<std::pair<std::string_view, Schedule>, 6> kSchedules{{{"auto", Schedule::kAuto},
                                                                           {"search", Schedule::kSearch},
                                                                           {"eindecomp", Schedule::kEinDecomp},
                                                                           {"pattern", Schedule::kPattern},
                                                                           {"lshs", Schedule::kLshs},
                                                                           {"greedy", Schedule::kGreedy}}};

/// No plan if values along some path exclude each other.
std::optional<PlanValue> by_linearisation(const Region& region, const PlanInputs& inputs) {
  std::optional<PlanValue> plan;
  double least = kForbidden;
  for (const Mesh& mesh : few_meshes(inputs.ranks, inputs.ranks_per_node)) {
    const RegionNetwork network(region, inputs, mesh);
    const Answer answer = linearise(network.network(), network.arcs());
    if (answer.cost >= least) continue;
    least = answer.cost;
    plan = network.plan_of(answer.values);
  }
  return plan;
}

Workflow scheduled_by_pattern(const Region& region, const PlanInputs& inputs, Index most_tasks) {
  Workflow workflow = workflow_of(region, inputs, {{1}, inputs.ranks}, most_tasks);
  schedule_pattern(region, inputs, workflow);
  return workflow;
}

/// In NumS the user gives the node grid; here it is all nodes in one dimension or in two near-equal ones, whichever is
/// cheaper.
Workflow scheduled_by_lshs(const Region& region, const PlanInputs& inputs, Index most_tasks) {
  const bool in_nodes =
      inputs.ranks_per_node > 1 && inputs.ranks_per_node < inputs.ranks && inputs.ranks % inputs.ranks_per_node == 0;
  const Index workers = in_nodes ? inputs.ranks_per_node : 1, nodes = inputs.ranks / workers;
  Index side = 1;
  for (Index n = 1; n * n <= nodes; ++n) side = nodes % n == 0 ? n : side;
  std::vector<std::vector<Index>> grids{{nodes, 1}};
  if (side > 1) grids.push_back({nodes / side, side});
  std::optional<Workflow> best;
  double least = 0;
  for (const std::vector<Index>& grid : grids) {
    try {
      Workflow workflow = workflow_of(region, inputs, {grid, inputs.ranks}, most_tasks);
      schedule_lshs(region, {grid, workers}, workflow);
      const auto plan = std::make_shared<const PlanValue>(plan_of(region, inputs, workflow, name_of(Schedule::kLshs)));
      const double seconds = grids.size() == 1 ? 0 : price_of(region, inputs, plan).seconds;
      if (best && seconds >= least) continue;
      best = std::move(workflow);
      least = seconds;
    } catch (const NoPlan&) {  // too many tasks
      if (&grid == &grids.back() && !best) throw;
    }
  }
  return std::move(*best);
}

/// A plan, if any, and how it was found.
struct Found {
  std::optional<PlanValue> plan;
  std::string note;
};

Found linearisation(std::optional<PlanValue> plan) { return {std::move(plan), "by linearisation"}; }

/// Plans whose predicted times differ by less than this factor count as equally fast; the one with fewer bytes wins.
constexpr double kAsFast = 1.01;

/// Tie-break between equally fast plans: the one that receives less, then the one that holds less.
bool holds_less(const PlanPrice& a, const PlanPrice& b) {
  const auto held = [](const PlanPrice& price) { return price.peak_bytes + static_cast<double>(price.largest_step); };
  return a.bytes_received != b.bytes_received ? a.bytes_received < b.bytes_received : held(a) < held(b);
}

/// The fastest of prices; ties go to the one that receives least, then to the one that holds least.
std::size_t fastest_of(const std::vector<PlanPrice>& prices) {
  double fastest = std::numeric_limits<double>::infinity();
  for (const PlanPrice& price : prices) fastest = std::min(fastest, price.seconds);
  std::size_t best = prices.size();
  for (std::size_t k = 0; k < prices.size(); ++k) {
    if (prices[k].seconds > fastest * kAsFast) continue;
    if (best == prices.size() || holds_less(prices[k], prices[best])) best = k;
  }
  return best;
}

/// The fastest that fits; if none fits, the one that holds least.
std::size_t best_of(const std::vector<Alternative>& alternatives) {
  std::vector<std::size_t> fitting;
  std::vector<PlanPrice> prices;
  std::size_t least = 0;
  for (std::size_t k = 0; k < alternatives.size(); ++k) {
    if (alternatives[k].held_bytes < alternatives[least].held_bytes) least = k;
    if (!alternatives[k].fits) continue;
    fitting.push_back(k);
    prices.push_back(alternatives[k].price);
  }
  return fitting.empty() ? least : fitting[fastest_of(prices)];
}

bool places_tasks(const Alternative& a) {
  return a.name == name_of(Schedule::kPattern) || a.name == name_of(Schedule::kLshs);
}

/// The choice of `auto`. Task schedules may give every block a different owner, and many small messages, whose
/// latencies the engine hides but the model adds up: they are chosen only if they also receive and hold no more than
/// the best of the others, steps included. A step that takes operands from many blocks has to assemble them first,
/// which the model ignores.
std::size_t cheapest_of(const std::vector<Alternative>& alternatives) {
  std::vector<std::size_t> regular, rest;
  for (std::size_t k = 0; k < alternatives.size(); ++k) (places_tasks(alternatives[k]) ? rest : regular).push_back(k);
  if (regular.empty()) return best_of(alternatives);
  std::vector<Alternative> few;
  for (const std::size_t k : regular) few.push_back(alternatives[k]);
  const auto held_with_a_step = [](const Alternative& a) {
    return a.held_bytes + static_cast<double>(a.price.largest_step);
  };
  const Alternative best = few[best_of(few)];
  for (const std::size_t k : rest) {
    const Alternative& a = alternatives[k];
    if (a.price.bytes_received > best.price.bytes_received || held_with_a_step(a) > held_with_a_step(best)) continue;
    regular.push_back(k);
    few.push_back(a);
  }
  return regular[best_of(few)];
}

/// Above this number of operations only one found plan is priced.
constexpr std::size_t kPricedOften = 400;
/// Plans of other meshes that the search's model predicts to be slower by this factor are not priced: the model is more
/// accurate than that.
constexpr double kFarBehind = 1.5;
/// Plans within this factor of the fastest, priced on few ranks, are compared again on more ranks.
constexpr double kNearlyAsFast = 1.1;
/// Number of ranks sampled when comparing plans; the smaller one for programs with many operations.
constexpr Index kComparedRanks = 16, kFewRanks = 4;
constexpr std::size_t kManyOperations = 200;

/// The best of the searched plans, if any; `plans` receives how it was found.
std::optional<Alternative> best_found(const Region& region, const PlanInputs& inputs, std::vector<FoundPlan> found,
                                      ProgramPlans& plans) {
  if (found.empty()) return std::nullopt;
  const bool any = std::any_of(found.begin(), found.end(), [](const FoundPlan& f) { return f.fits; });
  std::erase_if(found, [any](const FoundPlan& f) { return f.fits != any; });
  if (region.ops.size() > kPricedOften) found.resize(1);
  // The first may have copies, about which the model is most optimistic: the second is the reference.
  const double most = kFarBehind * found[found.size() > 1 ? 1 : 0].seconds;
  std::erase_if(found, [most, any](const FoundPlan& f) { return any && f.seconds > most; });
  std::vector<Alternative> weighed;
  std::vector<PlanPrice> prices;
  for (FoundPlan& f : found) {
    f.plan.schedule = name_of(Schedule::kSearch);
    const char* note = f.exact ? "the cheapest of its kind" : "found by descent";
    weighed.push_back(
        weigh(name_of(Schedule::kSearch), std::make_shared<const PlanValue>(f.plan), note, region, inputs));
    prices.push_back(weighed.back().price);
  }
  const std::size_t best = fastest_of(prices);
  plans.note = weighed[best].note;
  plans.found = std::move(found[best]);
  return std::move(weighed[best]);
}

Found found_by(Schedule schedule, const Region& region, const PlanInputs& inputs, Index most_tasks) {
  switch (schedule) {
    case Schedule::kEinDecomp: return linearisation(by_linearisation(region, inputs));
    case Schedule::kPattern:
    case Schedule::kLshs: {
      const Workflow workflow = scheduled_workflow(schedule, region, inputs, most_tasks);
      return {plan_of(region, inputs, workflow, name_of(schedule)),
              schedule == Schedule::kLshs ? "by simulated loads" : "by patterns of tasks"};
    }
    case Schedule::kSearch:
    case Schedule::kAuto:
    case Schedule::kGreedy: break;
  }
  return {};
}

bool in_window(const Alternative& plan, const PlanInputs& inputs) {
  return inputs.window == 0 || plan.price.largest_step <= inputs.window;
}

/// Prices the plan of a schedule other than the search.
Alternative weigh_found(Schedule schedule, Found found, const Region& region, const PlanInputs& inputs) {
  std::shared_ptr<const PlanValue> plan;
  if (found.plan && !found.plan->at.empty()) {
    found.plan->schedule = name_of(schedule);
    plan = std::make_shared<const PlanValue>(std::move(*found.plan));
  }
  return weigh(name_of(schedule), std::move(plan), std::move(found.note), region, inputs);
}

/// The requested plans, in the order of the schedules.
ProgramPlans price_all(const Region& region, const PlanInputs& inputs, Schedule asked, Compare others) {
  ProgramPlans plans;
  std::optional<PlanValue> linearised;
  for (const auto& [name, schedule] : kSchedules) {
    if (schedule == Schedule::kAuto || (schedule != asked && others == Compare::kNothing)) continue;
    // Under --reproducible, choosing owners must not change cuts; only the greedy plan is known to preserve them.
    if (inputs.reproducible && schedule != Schedule::kGreedy) {
      if (schedule == asked) plans.refused = std::string(name) + ": not supported with --reproducible";
      continue;
    }
    try {
      if (schedule == Schedule::kSearch) {
        SearchOptions options;
        options.linearise = others == Compare::kAll;
        MeshPlans meshes = search_meshes(region, inputs, options);
        linearised = std::move(meshes.linearised);
        if (std::optional<Alternative> found = best_found(region, inputs, std::move(meshes.found), plans))
          plans.alternatives.push_back(std::move(*found));
        continue;
      }
      const bool known = schedule == Schedule::kEinDecomp && others == Compare::kAll;  // already found by the search
      Found found = known ? linearisation(std::move(linearised))
                          : found_by(schedule, region, inputs, schedule == asked ? kWorkflowTasks : kAutoTasks);
      plans.alternatives.push_back(weigh_found(schedule, std::move(found), region, inputs));
    } catch (const NoPlan& none) {
      plans.left_out.push_back(std::string(name) + ": " + none.what());
      if (schedule == asked) plans.refused = plans.left_out.back();
    }
  }
  return plans;
}

/// The alternative of a schedule, or the end iterator.
std::vector<Alternative>::iterator named(std::vector<Alternative>& all, Schedule schedule) {
  return std::find_if(all.begin(), all.end(), [schedule](const Alternative& a) { return a.name == name_of(schedule); });
}

std::string whole_bytes(double bytes) { return std::to_string(static_cast<Index>(bytes)) + " bytes"; }

std::string misfit_of(const Alternative& plan, const Region& region, const PlanInputs& inputs) {
  if (!in_window(plan, inputs))
    return plan.name + ": a step would hold " + std::to_string(plan.price.largest_step) + " bytes, more than --window";
  return plan.name + ": a rank would hold " + whole_bytes(plan.held_bytes) + ", more than the " +
         whole_bytes(memory_limit(region, inputs)) +
         (inputs.memory > 0 ? " of --memory" : " that are a rank's share and some more (--memory sets another limit)");
}

}  // namespace

Alternative weigh(std::string name, std::shared_ptr<const PlanValue> plan, std::string note, const Region& region,
                  const PlanInputs& inputs) {
  Alternative alternative{std::move(name), std::move(plan), {}, 0, true, std::move(note)};
  alternative.price = price_of(region, inputs, alternative.plan);
  alternative.held_bytes = inputs.memory > 0 ? alternative.price.needed_bytes : alternative.price.peak_bytes;
  alternative.fits =
      alternative.held_bytes <= memory_limit(region, inputs) * (1 + 1e-9) && in_window(alternative, inputs);
  return alternative;
}

std::optional<Alternative> searched_plan(const Region& region, const PlanInputs& inputs, const SearchOptions& options,
                                         ProgramPlans& plans) {
  return best_found(region, inputs, search_meshes(region, inputs, options).found, plans);
}

const char* name_of(Schedule schedule) {
  for (const auto& [name, known] : kSchedules) {
    if (known == schedule) return name.data();
  }
  return "";
}

std::optional<Schedule> schedule_named(std::string_view name) {
  for (const auto& [known, schedule] : kSchedules) {
    if (known == name) return schedule;
  }
  return std::nullopt;
}

std::string schedule_names() {
  std::string names;
  for (const auto& [name, schedule] : kSchedules) names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

Workflow scheduled_workflow(Schedule schedule, const Region& region, const PlanInputs& inputs, Index most_tasks) {
  switch (schedule) {
    case Schedule::kPattern: return scheduled_by_pattern(region, inputs, most_tasks);
    case Schedule::kLshs: return scheduled_by_lshs(region, inputs, most_tasks);
    case Schedule::kAuto:
    case Schedule::kSearch:
    case Schedule::kEinDecomp:
    case Schedule::kGreedy: break;
  }
  return workflow_of(region, inputs, {{1}, inputs.ranks}, most_tasks);
}

Alternative plan_by(Schedule schedule, const Region& region, const PlanInputs& inputs, Index most_tasks) {
  if (schedule != Schedule::kSearch)
    return weigh_found(schedule, found_by(schedule, region, inputs, most_tasks), region, inputs);
  ProgramPlans aside;
  std::optional<Alternative> found = searched_plan(region, inputs, {}, aside);
  return found ? std::move(*found) : weigh(name_of(schedule), nullptr, "", region, inputs);
}

ProgramPlans plan_program(const Region& region, const PlanInputs& inputs, Schedule schedule, Compare others) {
  if (region.ops.empty() || inputs.ranks == 1) return {};
  const bool free = schedule == Schedule::kAuto;
  const bool compares = free || others == Compare::kAll;
  const bool many = region.ops.size() > kManyOperations;
  // Plans are first compared on few ranks; nearly fastest ones are compared on more, and so are those that give every
  // block its own owner, whose busiest rank may be any. With many operations that takes seconds.
  PlanInputs few = inputs, well = inputs;
  if (many) well.sample = std::min(inputs.sample, 2 * kFewRanks);
  if (compares) few.sample = std::min(inputs.sample, many ? kFewRanks : kComparedRanks);
  ProgramPlans plans = price_all(region, few, schedule, compares ? Compare::kAll : Compare::kNothing);
  std::vector<Alternative>& all = plans.alternatives;
  std::set<std::string> priced;  // on all sampled ranks
  const auto price_well = [&](Alternative& a) {
    if (few.sample < inputs.ranks && few.sample < well.sample && priced.insert(a.name).second)
      a = weigh(a.name, a.plan, a.note, region, well);
  };
  const auto choose = [&] {
    return free ? all.begin() + static_cast<std::ptrdiff_t>(cheapest_of(all)) : named(all, schedule);
  };
  auto chosen = choose();
  while (chosen != all.end() && few.sample < inputs.ranks && !priced.contains(chosen->name)) {
    const double seconds = chosen->price.seconds;
    price_well(*chosen);
    for (Alternative& a : all) {
      if (free && !many && (places_tasks(a) || a.price.seconds <= kNearlyAsFast * seconds)) price_well(a);
    }
    chosen = choose();
    if (few.sample >= well.sample) break;
  }
  if (!free && (chosen == all.end() || !chosen->fits)) {
    if (named(all, Schedule::kGreedy) == all.end()) all.push_back(plan_by(Schedule::kGreedy, region, inputs));
    const auto greedy = named(all, Schedule::kGreedy);
    chosen = named(all, schedule);
    if (chosen != all.end() && best_of({*chosen, *greedy}) == 1) plans.refused = misfit_of(*chosen, region, inputs);
    if (!plans.refused.empty()) {
      chosen = greedy;
      price_well(*greedy);
    }
  }
  std::rotate(all.begin(), chosen, chosen + 1);
  plans.note = all.front().note;
  return plans;
}

}  // namespace tdsl::plan
