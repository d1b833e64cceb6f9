#pragma once

#include <memory>
#include <string>

#include "runtime/app/options/options.h"
#include "runtime/app/run/program_info.h"
#include "runtime/app/session/stored_blocks.h"
#include "runtime/checkpoint/manifest.h"
#include "runtime/engine/mpi/mpi_world.h"
#include "runtime/plan/planner.h"

// Which checkpoint a run goes on from.

namespace tdsl::rt {

/// What a run shares with the one that it continues: program, params, extents, seed, and of every input file size,
/// beginning and samples. Of rank 0.
[[nodiscard]] checkpoint::Facts identity_of(const ProgramInfo& info, const AppOptions& options);
/// All else that a plan depends on: with equal ones a run goes on with the same bits.
[[nodiscard]] checkpoint::Facts setting_of(const plan::PlanInputs& inputs, const AppOptions& options);

struct ResumePoint {
  std::shared_ptr<const StoredBlocks> blocks;
  bool same_setting = false;  ///< it goes on with the saved plan
  std::string why_anew;       ///< of rank 0: why it does not although all settings are equal
};

/// The newest checkpoint in the directory of which every block is as it was written; the files are shared out. None if
/// the directory is empty, which rank 0 says. What cannot be read, although it is there, ends the search: it may be
/// good. Every rank calls it; throws the same RunError on all. `identity`: of rank 0.
[[nodiscard]] std::optional<ResumePoint> find_resume_point(World& world, const std::string& directory,
                                                           const checkpoint::Facts& identity,
                                                           const checkpoint::Facts& setting, bool quiet);

}  // namespace tdsl::rt
