#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "runtime/plan/schedules/program_plans.h"

// Planning options of executables and `tdslc explain`: a schedule, a plan file, or layouts of some sites.

namespace tdsl::plan {

/// A saved plan.
struct PlanFile {
  std::string path;  ///< for messages
  std::string text;
  /// If the text was derived from the file's: the file's line of each line. Such a plan is imposed whole: what would be
  /// dropped is an error.
  std::vector<std::size_t> lines{};
};

struct PlanRequest {
  std::string program;                 ///< name of the program
  const Schedule* schedule = nullptr;  ///< null: `auto`, the best of all
  std::optional<PlanFile> use;         ///< imposes all its decisions
  std::vector<std::string>
      place;             ///< each imposes the layout of one site (asked_layouts.h); the others are searched around them
  bool always = false;   ///< produce a plan even if every operation is planned individually
  bool compare = false;  ///< also find and price the plans of other schedules
};

/// Reads the file's plan for this region. Axes that an extent cannot carry are dropped with a warning. Throws
/// rt::RunError (usage), with the line number, if the plan is for another program, number of ranks or kind of site, or
/// is malformed.
[[nodiscard]] PlanValue plan_of_file(const PlanFile& file, const std::string& program, const Region& region,
                                     const PlanInputs& inputs, std::vector<std::string>& warnings);

/// The requested plans of a region, the chosen one first; plans carry the program's name. A pure function of its
/// arguments. Throws rt::RunError (usage).
[[nodiscard]] ProgramPlans plans_for(const Region& region, const PlanInputs& inputs, const PlanRequest& request);

/// The chosen plan for saving: without decisions if every operation is planned individually.
[[nodiscard]] PlanValue saved_plan(const ProgramPlans& plans, const Region& region, const PlanInputs& inputs,
                                   const PlanRequest& request);

}  // namespace tdsl::plan
