#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/plan/region/region.h"

// How long iterations of a program's loops take.

namespace tdsl::tools {

/// Statements that run about equally often: a body, or a body and the condition of its `while`, which runs once more.
struct LoopPart {
  double least = 0, most = 0;  ///< how often
  double iteration = 0;        ///< seconds of one
  int first = 0, last = 0;     ///< lines; 0: of none
};

/// Parts of the region that run more than once. `seconds_of` is linear in the weights; `seconds` is what it says of the
/// region.
[[nodiscard]] std::vector<LoopPart> loop_parts(plan::Region region, double seconds,
                                               const std::function<double(const plan::Region&)>& seconds_of);
/// Seconds between two tops of iterations, at most.
[[nodiscard]] double longest_iteration(const std::vector<LoopPart>& parts);
/// What takes longest in all: `200 times what is in lines 8 to 12, 51 s each`; empty without loops.
[[nodiscard]] std::string loop_text(const std::vector<LoopPart>& parts);

}  // namespace tdsl::tools
