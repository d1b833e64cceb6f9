#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/plan/planner.h"
#include "runtime/plan/region/region.h"
#include "runtime/plan/value/plan_value.h"

// Note [Homes] A program for which no plan fits in memory spills according to a plan: some tensors are stored on disk,
// or stay in their input files, for their whole lifetime. Nothing is evicted at run time, so all disk reads and writes
// are known in advance.
//
// The search takes the operation with the largest memory need and moves out the live tensor with the largest bytes x
// distance to its next use, as long as that helps and until the operation fits; then it takes the next operation that
// does not fit. When everything fits, tensors on disk are moved back as far as memory allows, tile row by tile row, if
// that is predicted to be faster: for a tensor that is scanned repeatedly, the resident part is never read again, while
// a product may gain more from the same memory through larger super-blocks.

namespace tdsl::plan {

/// A tensor that is not stored in memory.
struct MovedTensor {
  int site = 0;
  int line = 0;
  std::string name;
  Housing housing;
  double bytes = 0;  ///< its non-resident bytes on the rank that has the most
  friend bool operator==(const MovedTensor&, const MovedTensor&) = default;
};

struct FoundHomes {
  bool fits = false;
  std::map<int, Housing> homes;
  MemoryNeed need;                   ///< memory need with these locations
  std::vector<MovedTensor> tensors;  ///< in program order
  double read = 0, written = 0;      ///< predicted bytes on the rank with the most, over all iterations
  double disk_seconds = 0;           ///< predicted seconds for these
  double seconds = 0;                ///< of the whole region
  Index largest_block = 0;           ///< bytes of the largest non-resident block
  Index between = 0;                 ///< the most that a rank holds between two operations
  double saved = 0;                  ///< upper bound of the bytes on disk that a checkpoint reads
  Index memory = 0;                  ///< memory limit used for planning,
  Index reserve = 0;                 ///< and the part of memory reserved for blocks read for peers and checkpoints
};

struct HomeRequest {
  bool disk = true;  ///< a spill directory is available
  /// True if the input of that name may stay in its file, given that its pieces have rows of at least `row_bytes`.
  std::function<bool(const std::string& input, Index row_bytes)> in_file;
  bool certain = false;                               ///< sized blocks count at their upper bound
  bool saves = false;                                 ///< checkpoints are written or restored
  std::function<bool()> late = [] { return false; };  ///< true: stop looking for improvements
};

/// Blocks that a rank reads for its peers at a time.
inline constexpr Index kMostServed = 2;

/// Minimum row length, in bytes, of pieces read from a file.
inline constexpr Index kLeastFileRow = Index{64} << 10;

/// Storage locations with which a region fits PlanInputs::memory if operations are planned by `plan` (null:
/// individually), or the locations with the smallest need.
[[nodiscard]] FoundHomes find_homes(const Region& region, const PlanInputs& inputs,
                                    const std::shared_ptr<const PlanValue>& plan, const HomeRequest& request);
/// The same with memory reserved for blocks read outside the program: as many as are read for peers at a time, and one
/// for a checkpoint between two operations. If everything fits anyway, the locations equal those of a run without
/// checkpoints.
[[nodiscard]] FoundHomes find_homes_and_room(const Region& region, const PlanInputs& inputs,
                                             const std::shared_ptr<const PlanValue>& plan, const HomeRequest& request);

}  // namespace tdsl::plan
