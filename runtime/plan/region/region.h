#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/plan/op.h"

namespace tdsl::plan {

/// One recorded operation of a region.
struct RegionOp {
  Op op;
  double weight = 1;                ///< execution count
  int run = 0;                      ///< run of the survey (runtime/record/survey.h); tensors belong to one run
  std::vector<TensorId> last_uses;  ///< tensors whose last use it is; others outlive the region
};

/// A site where one of several equivalent variants was recorded, once per surveyed iteration.
struct RegionChoice {
  int site = 0;
  int form = 0;  ///< the recorded variant
  int forms = 1;
  double weight = 1;
  double flops = 0;  ///< weighted flops recorded there
};

/// Floating-point operations of all tasks together.
[[nodiscard]] double flops_of(const Op& op);

/// The recorded operations of a program or of its first part: everything that can be planned before it runs. Loops are
/// represented by two iterations.
struct Region {
  std::vector<RegionOp> ops;  ///< in program order, run by run
  std::vector<RegionChoice> choices;
  bool whole = false;      ///< the region reaches the end of the program, and all branches went both ways
  std::string fence;       ///< otherwise: why it ends early, or that branches went one way only
  bool guessed = false;    ///< some loop count is data-dependent: weights are guesses
  std::uint64_t hash = 0;  ///< of everything a plan depends on; excludes names and lines
};

[[nodiscard]] std::uint64_t hash_of(const Region& region);

/// A line for the whole and one per operation, with its weight and place:
///
///     region 3f0c91d2a4be7715: 4 operations, 1 run, whole
///         0  x1     line 3    site 1   load A: t0[i0:60, i1:50] f64
///         1  x1     line 4    site 2   load B: t1[i0:50, i1:40] f64
///         2  x1     line 5    site 3   contraction C: t2[i:60, k:40] f64 = sum[j:50] t0[i, j], t1[j, k]; ends t0, t1
///         3  x1     line 6    site 4   collect C: t2[0..3, 0..3], t2[0..3, 37..40], t2[57..60, 0..3],
///         t2[57..60, 37..40]; on rank 0; ends t2
[[nodiscard]] std::string text_of(const Region& region);

}  // namespace tdsl::plan
