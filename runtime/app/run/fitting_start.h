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

// What is found out about a program before it runs, with the answer to whether it fits into memory.

namespace tdsl::rt {

/// A program and how it is to be planned.
struct StartRequest {
  /// What is recorded on `ranks` of the inputs.
  std::function<record::Recording(const plan::PlanInputs&)> program;
  plan::PlanInputs inputs;  ///< `memory` is --memory; 0: not given
  std::string memory_text;  ///< --memory as given, whose unit messages use
  plan::PlanRequest plan;
  RankMemory limit;  ///< what the system lets a rank have, if that is less; bytes 0: nothing
  int ranks_of_node = 1;
  bool disk = false;    ///< tensors may have homes on disk
  bool saves = false;   ///< the run writes checkpoints or goes on from one
  std::string no_disk;  ///< why not, for messages: "--spill none forbids it"
  std::function<bool(const std::string& input)>
      in_file{};  ///< pieces of the input can be read from its file at any time; empty: of none
  std::function<SourceLine(int)> place;
  std::chrono::seconds patience{10};  ///< after which no better answer is looked for
};

struct FittingStart {
  record::Start start;
  plan::Index memory =
      0;  ///< bytes it was planned within, as another plan does not fit the limit; 0: the limit changes nothing
  plan::FoundHomes homes{};  ///< tensors that are not in memory; none where the program fits
};

/// Plans the program as if there were no limit, and again within the limit where that plan does not fit. Throws
/// RunError where no plan fits: with the operation that needs most, the least memory and the least number of ranks that
/// are enough.
[[nodiscard]] FittingStart fitting_start(const StartRequest& request);

/// --memory that is enough by some plan.
struct EnoughMemory {
  plan::Index in_memory = 0;  ///< the least with all tensors in memory; it may be a little too large
  std::optional<plan::Index>
      on_disk;  ///< less that is enough with tensors on disk and in their files, if the request allows that
};

/// What --memory could say instead, where the program would start as `found`; `request.inputs.memory` and
/// `request.limit` do not count.
[[nodiscard]] EnoughMemory enough_memory(const StartRequest& request, const record::Start& found);

/// `--memory 3GB is too small: `C` needs 3.22 GB on a rank: …; give at least --memory 3.22GB`, in the unit of `like`.
[[nodiscard]] std::string too_little_memory(const plan::MemoryNeed& need, plan::Index given, std::string_view like);

/// What the program needs by the plan that an earlier run made within `request.inputs.memory` (empty: operation by
/// operation), if that is more than the system lets a rank have now, margin included; else nothing.
[[nodiscard]] std::optional<plan::MemoryNeed> need_beyond_limit(const StartRequest& request, const std::string& plan);

}  // namespace tdsl::rt
