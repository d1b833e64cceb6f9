#pragma once

#include <vector>

#include "runtime/plan/space/index.h"

// Note [Time tiles]
// A loop of steps `U = f(U)`, where f reads U at constant distances, runs in blocks of `height` steps. A block is one
// operation: it reads its box grown by `height` times these distances and computes the points of earlier steps that the
// last one depends on, also margins that neighbors compute, too. So ranks exchange once per block, and tiles of a task
// stay in cache for the steps of a block. Each element is the same expression of the same values for every height.

namespace tdsl::plan {

struct Machine;

/// How far a step reads the values of the step before in one dimension, on either side; not negative.
struct Reach {
  Index below = 0;
  Index above = 0;
  friend bool operator==(const Reach&, const Reach&) = default;
};

/// A loop that can run in blocks of steps.
struct StencilLoop {
  Index begin = 0, end = 0;  ///< of the steps
  std::vector<Index> shape;
  std::vector<Reach> reach;  ///< per dimension
  Index element_bytes = 8;
  double flops = 1;  ///< per point and step
};

inline constexpr Index kMostHeight = 64;

/// The edges of a tile of which two copies stay in the cache of a core during `steps` steps; at most `extents`, which
/// are not 0.
[[nodiscard]] std::vector<Index> cache_tile(const std::vector<Index>& extents, const std::vector<Reach>& reach,
                                            Index steps, Index element_bytes);

/// Predicted seconds of a step on a rank, in blocks of `height` steps.
[[nodiscard]] double seconds_of_step(const StencilLoop& loop, Index height, const Machine& machine, Index ranks,
                                     int threads);

/// The steps of a block: as asked for, at most kMostHeight and the loop's number of steps, or, if `asked` is 0, the
/// cheapest power of two. 1: step by step.
[[nodiscard]] Index time_tile(const StencilLoop& loop, Index asked, const Machine& machine, Index ranks, int threads);

}  // namespace tdsl::plan
