#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/app/report/statistics_text.h"
#include "runtime/engine/engine.h"
#include "runtime/engine/mpi/mpi_world.h"
#include "runtime/engine/store/store.h"
#include "runtime/io/tensor/tensor_file.h"

namespace tdsl::rt {

/// All the statistics file needs of one rank.
struct RankStatistics {
  std::vector<SiteStatistics> sites;
  std::map<int, WriteCount> writes;  ///< to output files, by site
  Predictions predictions;
  Traffic traffic;
  std::vector<std::int64_t> received_from;  ///< bytes by rank
  Phases phases;
  plan::Index peak_block_bytes = 0;
  plan::Index start_rss_bytes = 0;  ///< once MPI has started, before any input is read
  plan::Index peak_rss_bytes = 0;
  plan::Index blocks_at_exit = 0;
  Engine::DiskFigures disk;
  Front::Seconds between;              ///< while no step was open
  Silence silence;                     ///< while it computed
  plan::Index packed_bytes = 0;        ///< copied because of --reproducible
  std::optional<plan::Cost> baseline;  ///< predicted without --reproducible; only with it
  bool measured = true;                ///< false: predictions only (--plan)
};

/// VmHWM of this process in bytes.
[[nodiscard]] plan::Index peak_rss();

/// Gathers every rank's statistics; on rank 0 the JSON text of --stats, elsewhere "". All ranks call.
[[nodiscard]] std::string statistics_json(World& world, const RunDescription& run, const RankStatistics& mine);

}  // namespace tdsl::rt
