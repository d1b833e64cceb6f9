#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "runtime/app/options/options.h"
#include "tools/tdslc/job/sweep.h"

// What submit asks of the options of a job's elements.

namespace tdsl::tools {

/// Files that an element reads and writes; a directory of checkpoints is a file here.
[[nodiscard]] ElementFiles files_of(const rt::AppOptions& options);
/// Bytes of the files of all inputs; what several inputs are in counts once.
[[nodiscard]] double bytes_of_inputs(const rt::AppOptions& options);
/// Throws rt::RunError (usage) for options that are the job's: `checkpoints`: submit gives --checkpoint and --resume
/// itself.
void check_options(const std::vector<rt::AppOptions>& elements, bool checkpoints);

/// Elements that differ in nothing that sizes depend on are planned once, and at most so many are.
inline constexpr std::size_t kMostPlanned = 64;

struct PlannedElements {
  std::vector<std::size_t> elements;
  std::size_t kinds = 0;  ///< of elements; more than are planned if there are too many
};
/// `outputs`: names of the program's.
[[nodiscard]] PlannedElements planned_elements(const std::vector<SweepElement>& elements,
                                               const std::set<std::string>& outputs);

}  // namespace tdsl::tools
