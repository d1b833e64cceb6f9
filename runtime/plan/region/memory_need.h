#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "runtime/plan/planner.h"
#include "runtime/plan/region/region.h"
#include "runtime/plan/value/plan_value.h"

// Whether a region fits a limit, and what would be enough.

namespace tdsl::plan {

/// What the region's most demanding operation needs on a rank, run alone, where operations are planned as `inputs` and
/// `plan` say (null: each by itself). Blocks of sized tensors count as large as expected.
[[nodiscard]] MemoryNeed expected_need(const Region& region, const PlanInputs& inputs,
                                       const std::shared_ptr<const PlanValue>& plan);
/// The same with sized blocks as large as they may be, under a memory limit (PlanInputs::memory).
[[nodiscard]] MemoryNeed certain_need(const Region& region, const PlanInputs& inputs,
                                      const std::shared_ptr<const PlanValue>& plan);

/// An upper bound of it that takes no planning: everything that lives at once on one rank, with copies. Meant to be far
/// off.
[[nodiscard]] double most_need(const Region& region, int threads);

/// A program that does not fit is tried on up to this many ranks.
inline constexpr Index kMostRanksTried = 32;

/// The smallest number of ranks above `ranks`, in multiples of `unit`, on which something fits: doubled until it does,
/// then halved in or, between few, one after the other. `shared`: how many ranks' memory it takes where all is shared
/// without loss; beyond kMostRanksTried nothing is tried.
[[nodiscard]] std::optional<Index> enough_ranks(const std::function<bool(Index)>& fits, Index ranks, Index unit,
                                                double shared);

}  // namespace tdsl::plan
