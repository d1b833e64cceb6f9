#pragma once

#include <map>
#include <memory>

#include "runtime/plan/planner.h"
#include "runtime/plan/region/region.h"
#include "runtime/plan/value/plan_value.h"

namespace tdsl::plan {

/// The cost of a region under a plan, computed from the planned operations themselves.
struct PlanPrice {
  double seconds = 0;  ///< sum over operations of weight times the busiest rank's seconds
  std::map<int, double> seconds_of_site;
  double bytes_received = 0;  ///< on the rank that receives the most in total
  double mean_received = 0;
  double tasks = 0;         ///< on the rank with the most
  double messages = 0;      ///< to the rank with the most
  double peak_bytes = 0;    ///< peak of results and partial results on the busiest rank, without steps
  double needed_bytes = 0;  ///< under a memory limit (PlanInputs::memory): the minimum that suffices, including steps
  Index largest_step = 0;   ///< the smallest legal --window
  Index unplanned = 0;      ///< operations of the region that cannot follow the plan (Planner::unplanned)
};

/// Plans every operation of the region as the plan prescribes (null: individually) and sums the cost model's
/// predictions.
[[nodiscard]] PlanPrice price_of(const Region& region, const PlanInputs& inputs,
                                 const std::shared_ptr<const PlanValue>& plan);

}  // namespace tdsl::plan
