#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/plan/region/region.h"

// Duration of loop iterations.

namespace tdsl::tools {

/// Statements that execute about equally often: a loop body, or a body with the condition of its `while`, which
/// executes once more.
struct LoopPart {
  double least = 0, most = 0;  ///< execution count
  double iteration = 0;        ///< seconds per iteration
  int first = 0, last = 0;     ///< lines; 0: none
};

/// The parts of the region that execute more than once. `seconds_of` must be linear in the weights; `seconds` is its
/// value for the region.
[[nodiscard]] std::vector<LoopPart> loop_parts(plan::Region region, double seconds,
                                               const std::function<double(const plan::Region&)>& seconds_of);
/// Upper bound on the seconds between two iteration starts.
[[nodiscard]] double longest_iteration(const std::vector<LoopPart>& parts);
/// The part with the longest total time: `200 iterations of lines 8 to 12, 51 s each`; empty without loops.
[[nodiscard]] std::string loop_text(const std::vector<LoopPart>& parts);

}  // namespace tdsl::tools
