#pragma once

#include <optional>
#include <vector>

#include "runtime/plan/region/asked_layouts.h"
#include "runtime/plan/region/region_network.h"

namespace tdsl::plan {

/// A plan for a whole region, with what was found out on the way.
struct FoundPlan {
  PlanValue plan;
  double seconds = 0;     ///< predicted, by the model of region_network.h
  bool exact = false;     ///< shown to be the cheapest
  bool fits = true;       ///< within the memory limit
  double peak_bytes = 0;  ///< owned and partial bytes of the busiest rank where they are most
  double limit_bytes = 0;
  // What the plan is the choice of, for questions about it (site_values.h).
  ChoiceLimits choices;
  Assignment values;
};

struct SearchOptions {
  bool copies = true;                   ///< kept copies are among the choices
  const AskedLayouts* asked = nullptr;  ///< what some sites have to choose from
  std::size_t most_meshes = 4;          ///< fewer for an estimate
  bool linearise = false;               ///< the cheapest linearisation is wanted, too
  CostTables* tables = nullptr;         ///< of other searches with the same inputs
};

/// The plans of several meshes.
struct MeshPlans {
  std::vector<FoundPlan> found;  ///< the cheapest plan of every mesh, the best one first, with copies and then without
  std::optional<PlanValue> linearised;  ///< what EinDecomp's linearisation gives, on its best mesh; none where values
                                        ///< along some path forbid those of another
  Index work = 0;                       ///< table entries read by all searches
};

/// What a rank may own of a region's results: `--memory`, else a little more than its share of what lives together.
[[nodiscard]] double memory_limit(const Region& region, const PlanInputs& inputs);

/// A few of many meshes: the most even ones, and one that splits into two near-equal sides if they do not.
[[nodiscard]] std::vector<Mesh> few_meshes(Index ranks, Index ranks_per_node);

/// The cheapest plan for the region within memory, over all meshes; an empty one if no mesh has what is asked. A
/// function of its arguments alone: work is bounded by counting.
[[nodiscard]] FoundPlan search(const Region& region, const PlanInputs& inputs, const SearchOptions& options);

/// The same of every mesh. The model of region_network.h knows no tiles: where they matter another one than the first
/// can be faster.
[[nodiscard]] MeshPlans search_meshes(const Region& region, const PlanInputs& inputs, const SearchOptions& options);

}  // namespace tdsl::plan
