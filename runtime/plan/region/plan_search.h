#pragma once

#include "runtime/plan/region/asked_layouts.h"
#include "runtime/plan/region/region_network.h"

namespace tdsl::plan {

/// A plan for a whole region, with what was found out on the way.
struct FoundPlan {
  PlanValue plan;
  double seconds = 0;      ///< predicted, by the model of region_network.h
  bool exact = false;      ///< shown to be the cheapest
  bool fits = true;        ///< within the memory limit
  double peak_bytes = 0;   ///< owned and partial bytes of the busiest rank where they are most
  double limit_bytes = 0;
  // What the plan is the choice of, for questions about it (site_values.h).
  ChoiceLimits choices;
  Assignment values;
};

struct SearchOptions {
  bool copies = true;                   ///< kept copies are among the choices
  const AskedLayouts* asked = nullptr;  ///< what some sites have to choose from
};

/// Bytes that a rank may own: `--memory`, or what its share of live tensors leaves.
[[nodiscard]] double memory_limit(const Region& region, const PlanInputs& inputs);

/// The cheapest plan for the region within memory, over all meshes; an empty one if no mesh has what is asked. A function of its arguments alone: work is bounded by counting.
[[nodiscard]] FoundPlan search(const Region& region, const PlanInputs& inputs, const SearchOptions& options);

/// The cheapest plan of every mesh, the best one first, with copies and then without. The model of region_network.h knows no tiles: where
/// they matter another one than the first can be faster.
[[nodiscard]] std::vector<FoundPlan> search_meshes(const Region& region, const PlanInputs& inputs, const SearchOptions& options);

}  // namespace tdsl::plan
