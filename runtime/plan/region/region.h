#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/plan/op.h"

namespace tdsl::plan {

/// One recorded operation of a region.
struct RegionOp {
  Op op;
  double weight = 1;                ///< how often it runs
  int run = 0;                      ///< of the survey (runtime/record/survey.h); tensors belong to one run
  std::vector<TensorId> last_uses;  ///< tensors that it is the last to mention; others live on behind the region
};

/// A place where one of several forms with equal results was recorded, once per iteration that was surveyed.
struct RegionChoice {
  int site = 0;
  int form = 0;  ///< the one that was recorded
  int forms = 1;
  double weight = 1;
  double flops = 0;  ///< of what was recorded there, weighted
};

/// Floating-point operations of all tasks together.
[[nodiscard]] double flops_of(const Op& op);

/// What a program records, or its first part: what can be planned before it runs. Loops are in it by two iterations.
struct Region {
  std::vector<RegionOp> ops;  ///< in program order, run by run
  std::vector<RegionChoice> choices;
  bool whole = false;      ///< whether it reaches the end of the program
  std::string fence;       ///< else why it does not
  bool guessed = false;    ///< how often some loop runs comes from data: weights are guesses
  std::uint64_t hash = 0;  ///< of everything a plan depends on; names and lines are left out
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
