#pragma once

#include <memory>
#include <string>

#include "runtime/app/options/options.h"
#include "runtime/app/run/program_info.h"
#include "runtime/app/session/stored_blocks.h"
#include "runtime/checkpoint/manifest.h"
#include "runtime/engine/mpi/mpi_world.h"
#include "runtime/plan/planner.h"

// Selects the checkpoint that a run resumes from.

namespace tdsl::rt {

/// Facts that must match between a run and its continuation: program, params, extents, seed, and size, beginning and
/// samples of each input file. Valid on rank 0.
[[nodiscard]] checkpoint::Facts identity_of(const ProgramInfo& info, const AppOptions& options);
/// All other facts that the plan depends on. If they match, the resumed run is bit-identical.
[[nodiscard]] checkpoint::Facts setting_of(const plan::PlanInputs& inputs, const AppOptions& options);

struct ResumePoint {
  std::shared_ptr<const StoredBlocks> blocks;
  bool same_setting = false;  ///< continues with the saved plan
  std::string why_anew;       ///< on rank 0: why it is replanned although all settings match
};

/// The newest checkpoint in the directory whose blocks are all intact; the files are divided among the ranks for
/// checking. Empty if the directory has none, which rank 0 reports. A file that exists but cannot be read ends the
/// search, since it may be intact. Collective; throws the same RunError on all ranks. `identity` is rank 0's.
[[nodiscard]] std::optional<ResumePoint> find_resume_point(World& world, const std::string& directory,
                                                           const checkpoint::Facts& identity,
                                                           const checkpoint::Facts& setting, bool quiet);

}  // namespace tdsl::rt
