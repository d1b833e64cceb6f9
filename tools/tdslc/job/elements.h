#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "runtime/app/options/options.h"
#include "tools/tdslc/job/sweep.h"

// Options of a job's elements, for `submit`.

namespace tdsl::tools {

/// Files that an element reads and writes; a checkpoint directory counts as a file.
[[nodiscard]] ElementFiles files_of(const rt::AppOptions& options);
/// Total size of all input files; a file used by several inputs counts once.
[[nodiscard]] double bytes_of_inputs(const rt::AppOptions& options);
/// Throws rt::RunError (usage) for options that belong to the job. `checkpoints`: submit adds --checkpoint and --resume
/// itself.
void check_options(const std::vector<rt::AppOptions>& elements, bool checkpoints);

/// Elements that agree in all arguments affecting sizes are planned once; at most this many are planned.
inline constexpr std::size_t kMostPlanned = 64;

struct PlannedElements {
  std::vector<std::size_t> elements;
  std::size_t kinds = 0;  ///< number of distinct elements; may exceed the planned ones
};
/// `outputs`: names of the program's outputs.
[[nodiscard]] PlannedElements planned_elements(const std::vector<SweepElement>& elements,
                                               const std::set<std::string>& outputs);

}  // namespace tdsl::tools
