#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/plan/region/plan_request.h"
#include "runtime/plan/region/site_values.h"

// Whole-program plans in `explain`: overview and details of a site.

namespace tdsl::tools {

/// A site with all its candidate values.
struct WhyReport {
  int site = 0;
  int line = 0;
  std::string name;
  std::string kind;
  bool of_search = false;  ///< the values belong to the searched plan, which was not chosen
  std::vector<plan::SiteValue> values;
  std::vector<std::string> broken;  ///< per value: the violated limit, if any
  std::size_t left_out = 0;
};

/// The whole-program plan, if there is one.
struct WholePlan {
  bool exact = false;
  bool guessed = false;  ///< trip counts were guessed
  bool loops = false;    ///< loops are represented by two iterations
  double peak_bytes = 0;
  bool limited = false;  ///< `limit_bytes` is --memory; otherwise the search's initial bound
  double limit_bytes = 0;
  std::vector<std::string> kept;  ///< retained copies: name and layout
  std::string fence;
  struct Node {
    int site = 0, line = 0;
    std::string name, kind, layout;
    std::vector<std::pair<int, bool>> reads;  ///< sites, and whether their retained copies are read
  };
  std::vector<Node> nodes;  ///< in program order
};

/// Name of the limit that a plan violates: `--memory`, or the search's own bound.
[[nodiscard]] const char* limit_name(bool limited);

/// From the first of the plans; empty: everything is on one rank.
[[nodiscard]] WholePlan whole_plan_of(const plan::Region& region, const plan::PlanInputs& inputs,
                                      const plan::ProgramPlans& plans);

/// Candidate values of the site with this name or number; requires a plan. Throws rt::RunError (usage).
[[nodiscard]] WhyReport why_of(const plan::Region& region, const plan::PlanInputs& inputs,
                               const plan::ProgramPlans& plans, const std::string& name);

/// The second-best decision for a site, and its additional cost.
struct RunnerUp {
  std::string layout;
  double bytes = 0;    ///< received by the busiest rank
  double seconds = 0;  ///< predicted
};
/// By site; for searched plans of regions that are not too large.
[[nodiscard]] std::map<int, RunnerUp> runner_ups_of(const plan::Region& region, const plan::PlanInputs& inputs,
                                                    const plan::ProgramPlans& plans);

}  // namespace tdsl::tools
