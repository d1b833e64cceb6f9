#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/app/report/predictions.h"

// The files of --stats and --plan as text: what every rank did, and what was foreseen. No MPI: `tdslc explain` writes
// them, too.

namespace tdsl::rt {

/// Seconds of each phase of the run on this rank.
struct Phases {
  double start = 0;    ///< from exec to the ranks being up
  double read = 0;     ///< options and headers
  double plan = 0;     ///< in the planner
  double compute = 0;  ///< the program, planning excluded; files are written in it too
  double write = 0;    ///< names given to files
  double total = 0;
};

/// What a survey found before the run.
struct SurveyFacts {
  std::uint64_t hash = 0;  ///< of the region
  std::size_t operations = 0;
  bool whole = false;
  plan::Index unsurveyed = 0;  ///< operations recorded later at sites that it had not found
};

/// Of the whole run, equal on all ranks.
struct RunDescription {
  std::string program;
  std::uint64_t plan_hash = 0;
  std::optional<SurveyFacts> survey;  ///< on rank 0 of several
  plan::Index ranks_per_node = 1;     ///< 1: the plan knows no nodes
  int threads = 1;
  plan::Machine machine;
  std::string source{};                 ///< the program's file, as it was named when it was built
  std::vector<std::string> start_up{};  ///< what rank 0 knew at the start of where ranks sit
  std::vector<std::string> warnings{};
  plan::Index memory_limit = 0;  ///< per rank; 0: none
};

/// One rank's numbers of one site.
struct SiteNumbers {
  double site = 0;
  double bytes_received = 0, bytes_sent = 0, messages = 0, flops = 0, tasks = 0, kernels = 0, begin = 0, seconds = 0;
  double stored = 0, stored_bytes = 0;
  double disk_read = 0, disk_written = 0;
  double writes = 0, written_bytes = 0;  ///< to output files
  double wall = 0, kernel_seconds = 0, waiting_seconds = 0,
         disk_waiting_seconds = 0;  ///< of threads summed but for the first
  plan::Range predicted_stored_bytes;
  plan::Range predicted_disk_read, predicted_disk_written, predicted_writes;
  plan::Range predicted_bytes, predicted_sent, predicted_from_other_nodes, predicted_messages, predicted_flops,
      predicted_tasks, predicted_seconds;
};
/// One rank's numbers without its sites.
struct RankNumbers {
  double bytes_received = 0, bytes_from_other_nodes = 0, bytes_sent = 0, control_bytes = 0, blocks_at_exit = 0;
  double peak_block_bytes = 0, start_rss_bytes = 0, peak_rss_bytes = 0;
  double predicted_peak_block_bytes = 0;
  double packed_bytes = 0;
  double longest_silence = 0;
  double disk_read = 0, disk_written = 0, peak_disk_bytes = 0, disk_bytes_at_exit = 0;
  double between_wall = 0, between_waiting = 0, between_disk_waiting = 0;  ///< while no step was open
  plan::Range baseline_bytes, baseline_tasks, baseline_seconds;
  Phases phases;
};

/// One rank's numbers.
struct RankFigures {
  RankNumbers numbers;
  std::vector<SiteNumbers> sites;
};

/// Who received how many bytes from whom, of ranks one by one or in groups of equal nodes: too many rows are of no use
/// to anyone.
struct TrafficMatrix {
  int per_row = 1;  ///< ranks, or nodes where `by_node`
  bool by_node = false;
  std::vector<std::vector<double>> bytes;  ///< by receiver, then by sender
};
/// Groups of ranks so that there are at most this many rows.
inline constexpr int kMatrixRows = 256;
/// The row of every rank, alike on all ranks.
[[nodiscard]] std::vector<int> matrix_rows(const std::vector<int>& node_of_rank, TrafficMatrix& form);

/// Adds what was foreseen of a rank to its sites' numbers.
void add_predictions(std::map<int, SiteNumbers>& sites, const Predictions& predictions);

/// What is known of a run beside its numbers.
struct StatisticsForm {
  bool measured = true;   ///< false: predictions only (--plan)
  bool baseline = false;  ///< with what was foreseen without --reproducible
  TrafficMatrix matrix{};
};
/// The JSON text. `known`: some rank's predictions, for the names of sites.
[[nodiscard]] std::string statistics_text(const RunDescription& run, const std::vector<RankFigures>& ranks,
                                          const Predictions& known, const StatisticsForm& form);

}  // namespace tdsl::rt
