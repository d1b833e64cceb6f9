#include "runtime/plan/schedules/program_plans.h"

#include <algorithm>
#include <set>
#include <utility>

namespace tdsl::plan {

namespace {

/// Without --memory, if no plan is within the preferred share, plans within this factor of the one that holds least
/// count as holding as little.
constexpr double kHoldsAsLittle = 1.25;

/// The fastest that fits; if none fits, the one that holds least, or the fastest that holds as little.
std::size_t best_of(const std::vector<Alternative>& alternatives, const PlanInputs& inputs) {
  std::size_t least = 0;
  bool any = false;
  for (std::size_t k = 0; k < alternatives.size(); ++k) {
    if (alternatives[k].held_bytes < alternatives[least].held_bytes) least = k;
    any = any || alternatives[k].fits;
  }
  const double most = alternatives[least].held_bytes * kHoldsAsLittle;
  const auto counts = [&](const Alternative& a) {
    return any ? a.fits : excess_of(a, inputs) == 0 && a.held_bytes <= most;
  };
  std::vector<std::size_t> candidates;
  std::vector<PlanPrice> prices;
  for (std::size_t k = 0; k < alternatives.size(); ++k) {
    if (!counts(alternatives[k])) continue;
    candidates.push_back(k);
    prices.push_back(alternatives[k].price);
  }
  return candidates.empty() ? least : candidates[fastest_of(prices)];
}

bool places_tasks(const Alternative& a) { return schedule_named(a.name)->workflow != nullptr; }
bool is_baseline(const Alternative& a) { return schedule_named(a.name)->baseline; }

/// The choice of `auto`. Task schedules may give every block a different owner, and many small messages, whose
/// latencies the engine hides but the model adds up: they are chosen only if they also receive and hold no more than
/// the best of the others, steps included. A step that takes operands from many blocks has to assemble them first,
/// which the model ignores.
std::size_t cheapest_of(const std::vector<Alternative>& alternatives, const PlanInputs& inputs) {
  std::vector<std::size_t> regular, rest;
  for (std::size_t k = 0; k < alternatives.size(); ++k) {
    if (!is_baseline(alternatives[k])) (places_tasks(alternatives[k]) ? rest : regular).push_back(k);
  }
  if (regular.empty()) return best_of(alternatives, inputs);
  std::vector<Alternative> few;
  for (const std::size_t k : regular) few.push_back(alternatives[k]);
  const auto held_with_a_step = [](const Alternative& a) {
    return a.held_bytes + static_cast<double>(a.price.largest_step);
  };
  const Alternative best = few[best_of(few, inputs)];
  for (const std::size_t k : rest) {
    const Alternative& a = alternatives[k];
    if (a.price.bytes_received > best.price.bytes_received || held_with_a_step(a) > held_with_a_step(best)) continue;
    regular.push_back(k);
    few.push_back(a);
  }
  return regular[best_of(few, inputs)];
}

/// Plans within this factor of the fastest, priced on few ranks, are compared again on more ranks.
constexpr double kNearlyAsFast = 1.1;
/// Number of ranks sampled when comparing plans; the smaller one for programs with many operations.
constexpr Index kComparedRanks = 16, kFewRanks = 4;
constexpr std::size_t kManyOperations = 200;

/// The requested plans, in the order of the schedules; those that are only compared are priced by `compared`.
ProgramPlans price_all(const Region& region, const PlanInputs& inputs, const PlanInputs& compared,
                       const Schedule* asked, Compare others) {
  ProgramPlans plans;
  Planning requested{region, inputs}, planning{region, compared, false};
  for (const Schedule* schedule : all_schedules()) {
    if (schedule != asked && (others == Compare::kNothing || (schedule->baseline && others == Compare::kChoices)))
      continue;
    // Under --reproducible, choosing owners must not change cuts; only the greedy plan is known to preserve them.
    if (inputs.reproducible && schedule->whole) {
      if (schedule == asked) plans.refused = std::string(schedule->name) + ": not supported with --reproducible";
      continue;
    }
    try {
      // Without decisions there is nothing to choose: every operation has one place.
      if (schedule == asked)
        plans.alternatives.push_back(plan_by(*schedule, requested));
      else if (std::optional<Alternative> found = found_by(*schedule, planning))
        plans.alternatives.push_back(std::move(*found));
    } catch (const NoPlan& none) {
      plans.left_out.push_back(std::string(schedule->name) + ": " + none.what());
      if (schedule == asked) plans.refused = plans.left_out.back();
    }
  }
  plans.found = std::move(requested.searched ? requested.searched : planning.searched);
  return plans;
}

/// The alternative of a schedule, or the end iterator.
std::vector<Alternative>::iterator named(std::vector<Alternative>& all, const Schedule& schedule) {
  return std::ranges::find_if(all, [&](const Alternative& a) { return a.name == schedule.name; });
}

}  // namespace

ProgramPlans plan_program(const Region& region, const PlanInputs& inputs, const Schedule* schedule, Compare others) {
  if (region.ops.empty() || inputs.ranks == 1) return {};
  const bool free = schedule == nullptr;
  const bool compares = free || others == Compare::kAll;
  const bool many = region.ops.size() > kManyOperations;
  // Plans are first compared on few ranks; nearly fastest ones are compared on more, and so are those that give every
  // block its own owner, whose busiest rank may be any. With many operations that takes seconds.
  PlanInputs few = inputs, well = inputs;
  if (many) well.sample = std::min(inputs.sample, 2 * kFewRanks);
  if (compares) few.sample = std::min(inputs.sample, many ? kFewRanks : kComparedRanks);
  ProgramPlans plans =
      price_all(region, inputs, few, schedule, free && others == Compare::kNothing ? Compare::kChoices : others);
  std::vector<Alternative>& all = plans.alternatives;
  std::set<std::string> priced;  // on all sampled ranks
  if (!free) priced.insert(schedule->name);
  const auto price_well = [&](Alternative& a) {
    if (few.sample < inputs.ranks && few.sample < well.sample && priced.insert(a.name).second)
      a = weigh(a.name, a.plan, a.note, region, well);
  };
  const auto choose = [&] {
    return free ? all.begin() + static_cast<std::ptrdiff_t>(cheapest_of(all, inputs)) : named(all, *schedule);
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
  if (chosen == all.end()) return plans;  // it is refused
  std::rotate(all.begin(), chosen, chosen + 1);
  plans.note = all.front().note;
  return plans;
}

}  // namespace tdsl::plan
