#include "runtime/plan/region/plan_search.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

namespace tdsl::plan {

namespace {

/// The peak of live bytes divided by the number of ranks: the minimum that a rank must hold.
double share_of(const Region& region, Index ranks) {
  std::map<TensorId, double> bytes;
  for (const RegionOp& recorded : region.ops) {
    for (const TensorDesc& output : recorded.op.outputs) bytes[output.id] = static_cast<double>(output.bytes());
  }
  std::map<TensorId, double> live;
  double sum = 0, most = 0;
  const auto enter = [&](TensorId id) {
    const auto known = bytes.find(id);
    if (known != bytes.end() && live.emplace(id, known->second).second) sum += known->second;
  };
  int run = 0;
  for (const RegionOp& recorded : region.ops) {
    if (recorded.run != run) {
      live.clear();
      sum = 0;
      run = recorded.run;
    }
    const bool source = recorded.op.is_source();
    if (!source) {
      for (const Access& access : recorded.op.reads) enter(access.tensor);
      for (const TensorDesc& output : recorded.op.outputs) enter(output.id);
      most = std::max(most, sum);
    }
    for (const TensorId id : recorded.last_uses) {
      const auto found = live.find(id);
      if (found == live.end()) continue;
      sum -= found->second;
      live.erase(found);
    }
  }
  return most / static_cast<double>(ranks);
}

constexpr std::size_t kMeshes = 4;

std::vector<Mesh> few_of(std::vector<Mesh> meshes, Index ranks) {
  if (meshes.size() <= kMeshes) return meshes;
  const auto unevenness = [](const Mesh& mesh) {
    double sum = 0;
    for (const MeshAxis& axis : mesh.axes)
      sum += std::log(static_cast<double>(axis.size)) * std::log(static_cast<double>(axis.size));
    return sum;
  };
  // Aspect ratio of the most square two-way split.
  const auto two_sides = [&](const Mesh& mesh) {
    double best = static_cast<double>(ranks);
    for (const MeshAxis& axis : mesh.axes) {
      const double one = static_cast<double>(axis.size), other = static_cast<double>(ranks) / one;
      best = std::min(best, std::max(one / other, other / one));
    }
    return best;
  };
  std::stable_sort(meshes.begin(), meshes.end(),
                   [&](const Mesh& a, const Mesh& b) { return unevenness(a) < unevenness(b); });
  const auto square = std::min_element(meshes.begin(), meshes.end(),
                                       [&](const Mesh& a, const Mesh& b) { return two_sides(a) < two_sides(b); });
  if (square - meshes.begin() >= static_cast<std::ptrdiff_t>(kMeshes))
    std::iter_swap(square, meshes.begin() + static_cast<std::ptrdiff_t>(kMeshes - 1));
  meshes.resize(kMeshes);
  return meshes;
}

/// Work limit of a search: at least a constant and a multiple of its table entries; small for one of several meshes,
/// larger for the best mesh. A tenfold limit finds plans that are 0.01 % faster.
SearchLimits search_limits(const Network& network, bool last) {
  SearchLimits limits;
  limits.work = std::max(Index{1} << (last ? 24 : 22), (last ? 32 : 16) * network.entries());
  return limits;
}

/// Larger tables are read only a few times.
constexpr Index kManyEntries = Index{1} << 22;

/// Number of multiplier updates. A search that starts from a feasible plan only looks for easy improvements.
int solves_of(const Network& network, bool fits) {
  return fits || network.entries() > kManyEntries ? 6 : MemoryLimits{}.solves;
}

/// Number of layouts per tensor tried with copies.
constexpr std::size_t kCopiedLayouts = 4;

/// The cheapest values of a variable with all others fixed.
std::vector<int> cheapest_beside(const Network& network, int variable, const Assignment& x) {
  const std::vector<double> cost = network.costs_beside(variable, x);
  std::vector<int> values;
  for (std::size_t s = 0; s < cost.size(); ++s) {
    if (cost[s] < kForbidden) values.push_back(static_cast<int>(s));
  }
  std::stable_sort(values.begin(), values.end(), [&](int a, int b) { return cost[idx(a)] < cost[idx(b)]; });
  values.resize(std::min(values.size(), kCopiedLayouts));
  return values;
}

/// The search on one mesh.
class MeshSearch {
 public:
  MeshSearch(const Region& region, const PlanInputs& inputs, Mesh mesh, double cap, double share, CostTables& tables)
      : region_(region), inputs_(inputs), mesh_(std::move(mesh)), cap_(cap), share_(share), tables_(tables) {}

  /// Called once per kind of choices; earlier choices are a subset of later ones, with the same numbers. Returns
  /// whether a better plan was found.
  bool try_choices(const ChoiceLimits& choices) {
    const RegionNetwork network(region_, inputs_, mesh_, choices, &tables_);
    MemoryLimits limits = network.memory();
    limits.cap = cap_;
    limits.solves = solves_of(network.network(), !start_.empty() && best_.fits);
    limits.share = std::max(share_, 1.0);
    // Copies are numbered after the choices without copies.
    const FittingSolution found = solve_within(network.network(), limits, start_, network.arcs(),
                                               search_limits(network.network(), choices.copies));
    work_ += found.solution.work;
    if (found.solution.cost == kForbidden) return false;
    const bool better = found.fits != best_.fits ? found.fits
                        : found.fits             ? found.solution.cost < best_.seconds * (1 - 1e-12)
                                                 : found.excess < excess_;
    if (!start_.empty() && !better) return false;
    best_ = {network.plan_of(found.solution.values),
             found.solution.cost,
             found.solution.exact,
             found.fits,
             0,
             cap_,
             choices,
             found.solution.values};
    for (const MemoryLimits::Point& point : limits.points)
      best_.peak_bytes = std::max(best_.peak_bytes, bytes_at(point, found.solution.values));
    excess_ = found.excess;
    start_ = found.solution.values;
    copied_.clear();
    for (std::size_t k = 0; k < network.choices().places.size(); ++k)
      copied_.push_back(cheapest_beside(network.network(), static_cast<int>(k), start_));
    return true;
  }
  /// Tries copies of tensors under their current layout, or ones that cost little more.
  bool try_copies() {
    ChoiceLimits choices = best_.choices;
    choices.copies = true;
    choices.copied = copied_;
    return !start_.empty() && try_choices(choices);
  }
  /// Feasible before infeasible, then by time.
  [[nodiscard]] bool better_than(const MeshSearch& other) const {
    if (start_.empty() || other.start_.empty()) return !start_.empty() && other.start_.empty();
    if (best_.fits != other.best_.fits) return best_.fits;
    return best_.fits ? best_.seconds < other.best_.seconds : excess_ < other.excess_;
  }
  [[nodiscard]] FoundPlan found() const { return best_; }
  [[nodiscard]] Index work() const { return work_; }

 private:
  const Region& region_;
  const PlanInputs& inputs_;
  Mesh mesh_;
  double cap_;
  double share_;
  CostTables& tables_;
  FoundPlan best_;
  double excess_ = 0;
  Index work_ = 0;
  Assignment start_;
  std::vector<std::vector<int>> copied_;
};

}  // namespace

std::vector<Mesh> few_meshes(Index ranks, Index ranks_per_node) {
  return few_of(meshes_of(ranks, ranks_per_node), ranks);
}

double memory_limit(const Region& region, const PlanInputs& inputs) {
  if (inputs.memory > 0) return static_cast<double>(inputs.memory);
  const double share = share_of(region, inputs.ranks);
  return std::max(inputs.share_cap * share, share + static_cast<double>(inputs.least_slack));
}

MeshPlans search_meshes(const Region& region, const PlanInputs& inputs, const SearchOptions& options) {
  const double share = share_of(region, inputs.ranks);
  const double cap = memory_limit(region, inputs);
  std::vector<Mesh> meshes = meshes_of(inputs.ranks, inputs.ranks_per_node);
  if (options.asked != nullptr) std::erase_if(meshes, [&](const Mesh& mesh) { return !options.asked->on(mesh); });
  if (meshes.empty()) return {};
  meshes = few_of(std::move(meshes), inputs.ranks);
  if (meshes.size() > options.most_meshes) meshes.resize(options.most_meshes);
  CostTables own_tables;
  CostTables& tables = options.tables != nullptr ? *options.tables : own_tables;
  std::vector<MeshSearch> searches;
  for (const Mesh& mesh : meshes) {
    searches.emplace_back(region, inputs, mesh, cap, share, tables);
    ChoiceLimits choices;
    if (options.asked != nullptr) choices.asked = *options.asked->on(mesh);
    searches.back().try_choices(choices);
  }
  std::vector<MeshSearch*> order;
  for (MeshSearch& s : searches) order.push_back(&s);
  std::stable_sort(order.begin(), order.end(),
                   [](const MeshSearch* a, const MeshSearch* b) { return a->better_than(*b); });
  MeshPlans plans;
  std::vector<FoundPlan>& found = plans.found;
  for (const MeshSearch* s : order) found.push_back(s->found());
  // Copies are searched on the best mesh alone.
  if (options.copies && order.front()->try_copies()) found.insert(found.begin(), order.front()->found());
  std::erase_if(found, [](const FoundPlan& plan) { return plan.plan.at.empty(); });
  for (const MeshSearch& s : searches) plans.work += s.work();
  return plans;
}

FoundPlan search(const Region& region, const PlanInputs& inputs, const SearchOptions& options) {
  std::vector<FoundPlan> found = search_meshes(region, inputs, options).found;
  return found.empty() ? FoundPlan{} : std::move(found.front());
}

}  // namespace tdsl::plan
