#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/plan/region/plan_request.h"
#include "runtime/plan/region/site_values.h"

// What `explain` says of the plan of a whole program: of all of it, and of a site.

namespace tdsl::tools {

/// A site with all its values.
struct WhyReport {
  int site = 0;
  int line = 0;
  std::string name;
  std::string kind;
  bool of_search = false;  ///< the values are those of the searched plan, which is not the chosen one
  std::vector<plan::SiteValue> values;
  std::vector<std::string> broken;  ///< per value: the limit it breaks, if any
  std::size_t left_out = 0;
};

/// The whole-program plan, where there is one.
struct WholePlan {
  bool exact = false;
  bool guessed = false;  ///< trip counts
  bool loops = false;    ///< recorded by two iterations
  double peak_bytes = 0;
  bool limited = false;  ///< `limit_bytes` is --memory; else the bound below which the search looks first
  double limit_bytes = 0;
  std::vector<std::string> kept;  ///< copies: name and layout
  std::string fence;
  struct Node {
    int site = 0, line = 0;
    std::string name, kind, layout;
    std::vector<std::pair<int, bool>> reads;  ///< sites, and whether their kept copies
  };
  std::vector<Node> nodes;  ///< in program order
};

/// The limit that a plan breaks, in words: `--memory`, or the search's own bound.
[[nodiscard]] const char* limit_name(bool limited);

/// Of the first of the plans; none: everything is on one rank.
[[nodiscard]] WholePlan whole_plan_of(const plan::Region& region, const plan::PlanInputs& inputs,
                                      const plan::ProgramPlans& plans);

/// The values of the site of this name or number; there is a plan. Throws rt::RunError (usage).
[[nodiscard]] WhyReport why_of(const plan::Region& region, const plan::PlanInputs& inputs,
                               const plan::ProgramPlans& plans, const std::string& name);

/// What would be decided of a site else, and how much more it would cost.
struct RunnerUp {
  std::string layout;
  double bytes = 0;    ///< received by the busiest rank
  double seconds = 0;  ///< predicted
};
/// By site; of searched plans, for regions that are not too large.
[[nodiscard]] std::map<int, RunnerUp> runner_ups_of(const plan::Region& region, const plan::PlanInputs& inputs,
                                                    const plan::ProgramPlans& plans);

}  // namespace tdsl::tools
