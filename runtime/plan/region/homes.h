#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/plan/planner.h"
#include "runtime/plan/region/region.h"
#include "runtime/plan/value/plan_value.h"

// Note [Homes]
// A program that fits by no plan spills by a plan: some tensors are at home on disk, or stay in their input files, from
// the beginning to the end of their lives. Nothing is evicted while the program runs, so what is read and written is
// known before it starts.
//
// The search takes the operation that needs most memory, and of what lives then moves the tensor with the largest bytes
// x distance to its next use: as long as that helps and until the operation fits; then the next one that does not fit.
// When everything fits, tensors on disk get back into memory what there is room for, tile row by tile row, where that
// is predicted to be faster: of what is scanned again and again a part that stays is a part that is never read, while a
// product may do more with the same memory in larger super-blocks.

namespace tdsl::plan {

/// A tensor that is not at home in memory.
struct MovedTensor {
  int site = 0;
  int line = 0;
  std::string name;
  Housing housing;
  double bytes = 0;  ///< of it away, on the rank that has most
  friend bool operator==(const MovedTensor&, const MovedTensor&) = default;
};

struct FoundHomes {
  bool fits = false;
  std::map<int, Housing> homes;
  MemoryNeed need;                   ///< with these
  std::vector<MovedTensor> tensors;  ///< in program order
  double read = 0, written = 0;      ///< predicted bytes of the rank with most, all iterations together
  double disk_seconds = 0;           ///< for these
  double seconds = 0;                ///< of the region
  Index largest_block = 0;           ///< of those that are not in memory, bytes
  Index between = 0;                 ///< the most that a rank holds between two operations
  double saved = 0;                  ///< bytes on disk that a checkpoint reads at most
  Index memory = 0;                  ///< planned within so many bytes,
  Index reserve = 0;  ///< and so many are kept free for blocks that are read for peers and for checkpoints
};

struct HomeRequest {
  bool disk = true;  ///< there is one to write to
  /// Whether the input of that name may stay in its file, in pieces of which `row_bytes` lie in a row at least.
  std::function<bool(const std::string& input, Index row_bytes)> in_file;
  bool certain = false;                               ///< sized blocks count as large as they may be
  bool saves = false;                                 ///< checkpoints are written or gone on from
  std::function<bool()> late = [] { return false; };  ///< no further improvement is looked for
};

/// Blocks that a rank reads for its peers at a time.
inline constexpr Index kMostServed = 2;

/// Rows of pieces in a file are to be no shorter.
inline constexpr Index kLeastFileRow = Index{64} << 10;

/// Homes with which a region fits PlanInputs::memory where operations are planned as `plan` says (null: each by
/// itself), or those that need least.
[[nodiscard]] FoundHomes find_homes(const Region& region, const PlanInputs& inputs,
                                    const std::shared_ptr<const PlanValue>& plan, const HomeRequest& request);
/// The same with room in memory for what is read from there beside the program: as many blocks as are read for peers at
/// a time, and one for a checkpoint between two operations. Where that fits anyway, homes are those of a run without
/// checkpoints.
[[nodiscard]] FoundHomes find_homes_and_room(const Region& region, const PlanInputs& inputs,
                                             const std::shared_ptr<const PlanValue>& plan, const HomeRequest& request);

}  // namespace tdsl::plan
