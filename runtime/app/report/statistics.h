#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/app/report/statistics_text.h"
#include "runtime/check.h"
#include "runtime/engine/engine.h"
#include "runtime/engine/mpi/mpi_world.h"
#include "runtime/io/tensor/tensor_file.h"

namespace tdsl::rt {

/// One rank's data for the statistics file.
struct RankStatistics {
  std::vector<SiteStatistics> sites;
  std::map<int, WriteCount> writes;  ///< writes to output files, by site
  Predictions predictions;
  Traffic traffic;
  std::vector<std::int64_t> received_from;  ///< bytes, by rank
  Phases phases;
  plan::Index peak_block_bytes = 0;
  plan::Index start_rss_bytes = 0;  ///< after MPI_Init, before any input is read
  plan::Index peak_rss_bytes = 0;
  plan::Index blocks_at_exit = 0;
  Engine::DiskFigures disk;
  Front::Seconds between;              ///< while no step was open
  Silence silence;                     ///< during computation
  plan::Index packed_bytes = 0;        ///< copied for --reproducible
  std::optional<plan::Cost> baseline;  ///< prediction without --reproducible; set only if that option is given
  bool measured = true;                ///< false: predictions only (--plan)
};

/// VmHWM of this process in bytes.
[[nodiscard]] plan::Index peak_rss();

/// Gathers all ranks' statistics. Returns the JSON text of --stats on rank 0, "" elsewhere. Collective.
[[nodiscard]] std::string statistics_json(World& world, const RunDescription& run, const RankStatistics& mine);

/// Whether every run compares its counts with the cost model's predictions: in builds with assertions.
#ifdef NDEBUG
inline constexpr bool kChecksCounts = false;
#else
inline constexpr bool kChecksCounts = true;
#endif

/// Throws RunError with the source line where this rank's counts (bytes received and sent, tasks, operations) differ
/// from a closed-form prediction. `place` maps a site to its line.
void check_counts(const Predictions& predictions, const std::vector<SiteStatistics>& measured,
                  const std::map<int, WriteCount>& writes, const std::function<SourceLine(int)>& place);

}  // namespace tdsl::rt
