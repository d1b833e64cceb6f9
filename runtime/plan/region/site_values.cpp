#include "runtime/plan/region/site_values.h"

#include <algorithm>
#include <map>
#include <utility>

#include "runtime/plan/search/eliminate.h"
#include "runtime/plan/value/plan_value.h"

namespace tdsl::plan {

namespace {

/// Limit on table entries read to plan the rest around one value.
constexpr Index kWorkPerValue = Index{1} << 25;

/// Number of values tried until one fits.
constexpr std::size_t kTried = 4;

/// Layouts that differ only in the order of axes or in the number of a rank look alike to users.
bool look_alike(const Mesh& mesh, const Layout& a, const Layout& b) {
  if (a.repeated != b.repeated || a.map != b.map || a.cut.size() != b.cut.size()) return false;
  for (std::size_t d = 0; d < a.cut.size(); ++d) {
    if (coordinates(mesh, a.cut[d]) != coordinates(mesh, b.cut[d])) return false;
  }
  return true;
}

}  // namespace

std::string text_of(const Decision& decision) {
  std::string text = decision.work;
  if (!decision.result.empty()) text += " -> " + decision.result;
  if (decision.turn > 0) text += " turn " + std::to_string(decision.turn);
  if (!decision.copy.empty()) text += " keep " + decision.copy;
  return text;
}

SiteValues::SiteValues(const Region& region, const PlanInputs& inputs, const FoundPlan& found)
    : region_(region),
      inputs_(inputs),
      found_(found),
      network_(region, inputs, found.plan.mesh, found.choices),
      limits_(network_.memory()) {
  limits_.cap = found.limit_bytes;
  limits_.share = std::max(found.limit_bytes / std::max(inputs.share_cap, 1.0), 1.0);
  const EliminationOrder order = elimination_order(network_.network());
  if (order.fits && order.entries <= kWorkPerValue) marginals_ = min_marginals(network_.network(), order);
}

std::optional<std::size_t> SiteValues::number_of(int site) const {
  const std::vector<SiteChoices>& sites = network_.choices().sites;
  const auto known =
      std::find_if(sites.begin(), sites.end(), [&](const SiteChoices& s) { return s.site == site && !s.fixed; });
  if (known == sites.end()) return std::nullopt;
  return static_cast<std::size_t>(known - sites.begin());
}

/// Other values of the site's work and result layout, cheapest first.
std::vector<SiteValues::Candidate> SiteValues::candidates(std::size_t site) const {
  std::vector<int> variables{network_.work_variable(site)};
  const int place = network_.place_variable(network_.choices().sites[site]);
  if (place != variables.front()) variables.push_back(place);
  std::vector<Candidate> list;
  for (const int variable : variables) {
    const std::vector<double> least =
        marginals_ ? (*marginals_)[idx(variable)] : network_.network().costs_beside(variable, found_.values);
    for (int value = 0; value < network_.network().values(variable); ++value) {
      if (value != found_.values[idx(variable)]) list.push_back({variable, value, least[idx(value)]});
    }
  }
  std::stable_sort(list.begin(), list.end(), [](const Candidate& a, const Candidate& b) { return a.least < b.least; });
  return list;
}

SiteValue SiteValues::as_value(std::size_t site, const Assignment& x) const {
  auto plan = std::make_shared<const PlanValue>(network_.plan_of(x));
  SiteValue value;
  value.layout = text_of(plan->at.at(network_.choices().sites[site].site));
  value.seconds = network_.network().cost(x);
  value.price = price_of(region_, inputs_, plan);
  return value;
}

SiteValue SiteValues::chosen(std::size_t site) const {
  SiteValue value = as_value(site, found_.values);
  value.chosen = true;
  value.fits = found_.fits;
  return value;
}

SiteValue SiteValues::valued(std::size_t site, const Candidate& candidate) const {
  const Network& network = network_.network();
  const int variable = candidate.variable;
  // The network with this value fixed; all other variables keep their values and numbers.
  std::vector<std::vector<int>> kept;
  for (int v = 0; v < network.variables(); ++v) {
    kept.push_back({});
    for (int s = 0; s < network.values(v); ++s) {
      if (v != variable || s == candidate.value) kept.back().push_back(s);
    }
  }
  MemoryLimits limits = limits_;
  for (MemoryLimits::Point& point : limits.points) {
    for (MemoryLimits::Term& term : point.terms) {
      if (term.variable == variable) term.bytes = {term.bytes[idx(candidate.value)]};
    }
  }
  SearchLimits search;
  search.work = kWorkPerValue;
  const FittingSolution found = solve_within(network.restricted(kept), limits, {}, network_.arcs(), search);
  Assignment x = found.solution.values;
  x[idx(variable)] = candidate.value;
  if (found.solution.cost == kForbidden) {
    SiteValue value;
    value.layout = text_of(network_.plan_of(x).at.at(network_.choices().sites[site].site));
    value.possible = false;
    return value;
  }
  SiteValue value = as_value(site, x);
  value.fits = found.fits;
  value.excess = found.excess;
  value.worst = found.worst;
  return value;
}

/// The layouts of the work and of its result.
std::vector<Layout> SiteValues::layouts_of(std::size_t site, const Assignment& x) const {
  const SiteChoices& s = network_.choices().sites[site];
  const Place& place = network_.choices().places[idx(s.place)].places[idx(x[idx(s.place)])];
  std::vector<Layout> layouts{place.layout};
  if (s.splits) layouts.push_back(s.works[idx(x[idx(network_.work_variable(site))])]);
  if (place.copy) layouts.push_back(*place.copy);
  return layouts;
}

bool SiteValues::alike(std::size_t site, const Assignment& x, const Candidate& candidate) const {
  Assignment other = x;
  other[idx(candidate.variable)] = candidate.value;
  const std::vector<Layout> mine = layouts_of(site, x), its = layouts_of(site, other);
  if (mine.size() != its.size()) return false;
  for (std::size_t k = 0; k < mine.size(); ++k) {
    if (!look_alike(network_.mesh(), mine[k], its[k])) return false;
  }
  return true;
}

std::vector<SiteValue> SiteValues::values(int site, std::size_t most, std::size_t& left_out) const {
  left_out = 0;
  const std::optional<std::size_t> number = number_of(site);
  if (!number) return {};
  std::vector<SiteValue> list{chosen(*number)};
  const std::vector<Candidate> others = candidates(*number);
  for (std::size_t k = 0; k < others.size(); ++k) {
    if (list.size() == most) {
      left_out = others.size() - k;
      break;
    }
    SiteValue value = valued(*number, others[k]);
    const bool known =
        std::any_of(list.begin(), list.end(), [&](const SiteValue& v) { return v.layout == value.layout; });
    if (!known) list.push_back(std::move(value));
  }
  std::stable_sort(list.begin() + 1, list.end(), [](const SiteValue& a, const SiteValue& b) {
    if (a.possible != b.possible) return a.possible;
    if (a.fits != b.fits) return a.fits;
    return a.seconds < b.seconds;
  });
  return list;
}

std::optional<SiteValue> SiteValues::runner_up(int site) const {
  const std::optional<std::size_t> number = number_of(site);
  if (!number) return std::nullopt;
  std::size_t tried = 0;
  for (const Candidate& candidate : candidates(*number)) {
    if (candidate.least == kForbidden || tried == kTried) break;
    if (alike(*number, found_.values, candidate)) continue;
    ++tried;
    SiteValue value = valued(*number, candidate);
    if (value.possible && value.fits) return value;
  }
  return std::nullopt;
}

}  // namespace tdsl::plan
