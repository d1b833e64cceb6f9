#pragma once

#include <memory>

#include "runtime/plan/planner.h"
#include "runtime/plan/region/region.h"
#include "runtime/plan/value/plan_value.h"

namespace tdsl::plan {

/// What a region costs under a plan, found from the planned operations themselves.
struct PlanPrice {
  double seconds = 0;         ///< sum over operations of weight times the busiest rank's seconds
  double bytes_received = 0;  ///< of the rank that receives most in all
  double mean_received = 0;
  double tasks = 0;         ///< of the rank with most
  double messages = 0;      ///< to the rank with most
  double peak_bytes = 0;    ///< results and partial results of the busiest rank where they are most, steps left out
  double needed_bytes = 0;  ///< under a memory limit (PlanInputs::memory): the least that is enough, steps included
  Index largest_step = 0;   ///< the smallest legal --window
};

/// Plans every operation of the region, as the plan says (null: each by itself), and adds up what the cost model says
/// of it.
[[nodiscard]] PlanPrice price_of(const Region& region, const PlanInputs& inputs,
                                 const std::shared_ptr<const PlanValue>& plan);

}  // namespace tdsl::plan
