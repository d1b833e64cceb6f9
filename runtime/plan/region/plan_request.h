#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/plan/region/schedules.h"

// What executables and `tdslc explain` are asked about a program's plan: a schedule, a plan file, or layouts of some
// sites.

namespace tdsl::plan {

/// A plan as it was saved.
struct PlanFile {
  std::string path;  ///< for messages
  std::string text;
};

struct PlanRequest {
  std::string program;  ///< its name
  Schedule schedule = Schedule::kAuto;
  std::optional<PlanFile> use;     ///< imposes all it says
  std::vector<std::string> place;  ///< imposes a site each (asked_layouts.h); the rest is searched around them
  bool always = false;             ///< plans are wanted also where every operation is planned by itself
  bool compare = false;            ///< other schedules are found and priced, too
};

/// The plan of the file for this region. Axes that an extent cannot carry are dropped, and warned of. Throws
/// rt::RunError (usage), with the line of the file: a plan of another program, number of ranks or kind of site, or none
/// that can be read.
[[nodiscard]] PlanValue plan_of_file(const PlanFile& file, const std::string& program, const Region& region,
                                     const PlanInputs& inputs, std::vector<std::string>& warnings);

/// The plans of a region as requested, the chosen one first; plans carry the program's name. A function of its
/// arguments alone. Throws rt::RunError (usage).
[[nodiscard]] ProgramPlans plans_for(const Region& region, const PlanInputs& inputs, const PlanRequest& request);

/// The chosen plan as it is saved: without decisions if every operation is planned by itself.
[[nodiscard]] PlanValue saved_plan(const ProgramPlans& plans, const Region& region, const PlanInputs& inputs,
                                   const PlanRequest& request);

}  // namespace tdsl::plan
