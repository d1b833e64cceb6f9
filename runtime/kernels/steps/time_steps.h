#pragma once

#include <vector>

#include "runtime/kernels/each.h"
#include "runtime/plan/time_tile.h"

namespace tdsl::rt {

/// Several steps of a map that reads its own earlier values (Note [Time tiles] in plan/time_tile.h).
struct TimeSteps {
  Index count = 1;
  int operand = 0;                 ///< the read of the values before; its box holds the margins of all steps
  Index element_bytes = 8;         ///< of this operand and the result
  std::vector<Interval> domain;    ///< ranges of the labels, which are the result's dimensions; values outside stay
  std::vector<plan::Reach> reach;  ///< of one step, per label
};

/// The kernel of `count` steps, made of the kernel of one. Tiles of the labels' box go through all steps, one after the
/// other, in two buffers; the first step reads the operand, the last one writes the result.
[[nodiscard]] EmittedKernel time_steps(TimeSteps steps, EmittedKernel kernel);

}  // namespace tdsl::rt
