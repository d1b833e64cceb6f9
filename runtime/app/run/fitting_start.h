#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/app/memory/rank_memory.h"
#include "runtime/check.h"
#include "runtime/plan/region/homes.h"
#include "runtime/plan/region/memory_need.h"
#include "runtime/record/start.h"

// Planning before a run starts: whether the program fits into memory, and how.

namespace tdsl::rt {

/// A program and its planning options.
struct StartRequest {
  /// Records the program for the given inputs, including the number of ranks.
  std::function<record::Recording(const plan::PlanInputs&)> program;
  plan::PlanInputs inputs;  ///< `memory` is --memory, 0 if not given
  std::string memory_text;  ///< --memory as given; messages use its unit
  plan::PlanRequest plan;
  RankMemory limit;  ///< the system limit per rank, where it is stricter; bytes 0: none
  int ranks_of_node = 1;
  bool disk = false;    ///< tensors may be spilled to disk
  bool saves = false;   ///< the run writes checkpoints or resumes from one
  std::string no_disk;  ///< why spilling is impossible, for messages: "--spill none forbids it"
  std::function<bool(const std::string& input)>
      in_file{};  ///< true if any part of the input can be read from its file at any time; empty: no input
  std::function<SourceLine(int)> place;
  std::chrono::seconds patience{10};  ///< time limit for improving the answer
};

struct FittingStart {
  record::Start start;
  plan::Index memory =
      0;  ///< memory limit used for planning, in bytes, if the unlimited plan does not fit; 0: unlimited
  plan::FoundHomes homes{};  ///< tensors not kept in memory; empty if the program fits
};

/// Plans the program without a limit, and within the limit if that plan does not fit. Throws RunError if no plan fits,
/// naming the operation that needs most, the least sufficient memory, and the least sufficient number of ranks.
[[nodiscard]] FittingStart fitting_start(const StartRequest& request);

/// Values of --memory for which some plan fits.
struct EnoughMemory {
  plan::Index in_memory = 0;  ///< the least with all tensors in memory; may be slightly too large
  std::optional<plan::Index>
      on_disk;  ///< a smaller value, with tensors on disk and in input files, if the request allows that
};

/// Smallest sufficient values of --memory for the program recorded in `found`; ignores `request.inputs.memory` and
/// `request.limit`.
[[nodiscard]] EnoughMemory enough_memory(const StartRequest& request, const record::Start& found);

/// `--memory 3GB is too small: `C` needs 3.22 GB on a rank: …; give at least --memory 3.22GB`, in the unit of `like`.
[[nodiscard]] std::string too_little_memory(const plan::MemoryNeed& need, plan::Index given, std::string_view like);
/// `--window 1MiB is too small: the largest step …; the smallest legal value is --window 2MiB`.
[[nodiscard]] std::string too_small_window(plan::Index largest_step, plan::Index given, std::string_view like);
/// `; --schedule=auto may need less` if a schedule of the whole program is requested; else empty.
[[nodiscard]] std::string other_schedules(const plan::PlanRequest& request);

/// Memory need of the program with the plan that an earlier run made within `request.inputs.memory` (empty: planned
/// operation by operation), if that exceeds the current system limit per rank plus margin; empty if it fits.
[[nodiscard]] std::optional<plan::MemoryNeed> need_beyond_limit(const StartRequest& request, const std::string& plan);

}  // namespace tdsl::rt
