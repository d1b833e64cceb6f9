#pragma once

#include <map>
#include <string>

#include "runtime/plan/region/plan_request.h"

namespace tdsl::tools {

/// `explain --costs=papers`: for every expression of the program EinDecomp's cheapest partition vector and that of the
/// chosen plan, with their costs; for products also TRA's and NumS's costs, the least that a rank must receive, and the
/// name of the algorithm that the plan is. Then EinDecomp's and TRA's costs of the whole program. `received`: bytes
/// that the busiest rank receives per execution, by site.
[[nodiscard]] std::string paper_costs_text(const plan::Region& region, const plan::PlanInputs& inputs,
                                           const plan::Alternative& chosen, const std::map<int, double>& received);

}  // namespace tdsl::tools
