#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "runtime/plan/planner.h"
#include "runtime/plan/region/region.h"
#include "runtime/plan/value/plan_value.h"

// Whether a region fits a memory limit, and how much would suffice.

namespace tdsl::plan {

/// Memory need on a rank of the region's most demanding operation, run alone, with operations planned by `inputs` and
/// `plan` (null: individually). Sized blocks count at their expected size.
[[nodiscard]] MemoryNeed expected_need(const Region& region, const PlanInputs& inputs,
                                       const std::shared_ptr<const PlanValue>& plan);
/// The same with sized blocks at their upper bound, under a memory limit (PlanInputs::memory).
[[nodiscard]] MemoryNeed certain_need(const Region& region, const PlanInputs& inputs,
                                      const std::shared_ptr<const PlanValue>& plan);

/// An upper bound that needs no planning: everything live at once on one rank, with copies. Deliberately loose.
[[nodiscard]] double most_need(const Region& region, int threads);

/// Up to this many ranks are tried for a program that does not fit.
inline constexpr Index kMostRanksTried = 32;

/// The smallest number of ranks above `ranks`, in multiples of `unit`, that fits: doubled until it fits, then bisected
/// or, for small gaps, searched linearly. `shared`: the number of ranks needed under perfect sharing; beyond
/// kMostRanksTried nothing is tried.
[[nodiscard]] std::optional<Index> enough_ranks(const std::function<bool(Index)>& fits, Index ranks, Index unit,
                                                double shared);

}  // namespace tdsl::plan
