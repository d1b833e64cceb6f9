#pragma once

#include <optional>
#include <vector>

#include "runtime/plan/region/asked_layouts.h"
#include "runtime/plan/region/region_network.h"

namespace tdsl::plan {

/// A plan for a whole region, with results of the search.
struct FoundPlan {
  PlanValue plan;
  double seconds = 0;     ///< predicted, by the model of region_network.h
  bool exact = false;     ///< proven to be the cheapest
  bool fits = true;       ///< within the memory limit
  double peak_bytes = 0;  ///< peak of owned and partial bytes on the busiest rank
  double limit_bytes = 0;
  // The choices the plan was selected from, for later queries (site_values.h).
  ChoiceLimits choices;
  Assignment values;
};

struct SearchOptions {
  bool copies = true;                   ///< choices include kept copies
  const AskedLayouts* asked = nullptr;  ///< choices restricted by the user
  std::size_t most_meshes = 4;          ///< smaller for an estimate
  CostTables* tables = nullptr;         ///< shared by searches with the same inputs
};

/// Plans for several meshes.
struct MeshPlans {
  std::vector<FoundPlan> found;  ///< the cheapest plan of every mesh, the best first, with copies and then without
  Index work = 0;                ///< table entries read by all searches
};

/// Limit on the bytes a rank may own of a region's results: `--memory`, else slightly more than its share of the live
/// tensors.
[[nodiscard]] double memory_limit(const Region& region, const PlanInputs& inputs);

/// A selection of meshes: the most even ones, plus one with two near-equal sides if none of them has these.
[[nodiscard]] std::vector<Mesh> few_meshes(Index ranks, Index ranks_per_node);

/// The cheapest plan for the region within memory, over all meshes; an empty one if no mesh allows the requested
/// layouts. A pure function of its arguments: work is bounded by counting.
[[nodiscard]] FoundPlan search(const Region& region, const PlanInputs& inputs, const SearchOptions& options);

/// The plans of every mesh. The model of region_network.h ignores tiles: if they matter, a plan other than the first
/// may be faster.
[[nodiscard]] MeshPlans search_meshes(const Region& region, const PlanInputs& inputs, const SearchOptions& options);

}  // namespace tdsl::plan
