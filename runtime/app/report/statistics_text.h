#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/app/report/predictions.h"
#include "runtime/picture/picture.h"

// Text of the --stats and --plan files: measurements and predictions of every rank. Free of MPI, because `tdslc
// explain` writes these files too.

namespace tdsl::rt {

/// Seconds of each phase of the run on this rank.
struct Phases {
  double start = 0;    ///< from exec until all ranks are up
  double read = 0;     ///< reading options and headers
  double plan = 0;     ///< in the planner
  double compute = 0;  ///< running the program without planning, includes writing files
  double write = 0;    ///< renaming output files
  double total = 0;
};

/// Results of a survey before the run.
struct SurveyFacts {
  std::uint64_t hash = 0;  ///< of the region
  std::size_t operations = 0;
  bool whole = false;
  plan::Index unsurveyed = 0;  ///< operations recorded at sites that the survey had not found
};

/// Segments that repeated (Note [Repeats]).
struct RepeatFacts {
  std::int64_t kept = 0;        ///< segments listed for repetition
  std::int64_t repeated = 0;    ///< segments
  std::int64_t operations = 0;  ///< of the repeated segments
};

/// Properties of the whole run, equal on all ranks.
struct RunDescription {
  std::string program;
  std::uint64_t plan_hash = 0;
  std::optional<SurveyFacts> survey;  ///< only on rank 0 of several
  plan::Index ranks_per_node = 1;     ///< 1: the plan ignores nodes
  int threads = 1;
  plan::Machine machine;
  std::string source{};                 ///< source file name as given to the build
  std::vector<std::string> start_up{};  ///< rank 0's start-up messages about placement
  std::vector<std::string> warnings{};
  plan::Index memory_limit = 0;  ///< per rank; 0: none
  std::vector<ShownPicture> pictures{};
  RepeatFacts repeats{};  ///< rank 0's
};

/// One rank's numbers for one site.
struct SiteNumbers {
  double site = 0;
  double bytes_received = 0, bytes_sent = 0, messages = 0, flops = 0, tasks = 0, kernels = 0, begin = 0, seconds = 0;
  double stored = 0, stored_bytes = 0;
  double bytes_by_lists = 0, list_bytes = 0;
  double bytes_in_place = 0, predicted_in_place = 0;
  double disk_read = 0, disk_written = 0;
  double writes = 0, written_bytes = 0;  ///< to output files
  double wall = 0, kernel_seconds = 0, waiting_seconds = 0,
         disk_waiting_seconds = 0;  ///< sum over all threads but the first
  plan::Range predicted_stored_bytes;
  plan::Range predicted_disk_read, predicted_disk_written, predicted_writes;
  plan::Range predicted_bytes, predicted_sent, predicted_from_other_nodes, predicted_messages, predicted_flops,
      predicted_tasks, predicted_seconds;
};
/// One rank's totals.
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

/// All numbers of one rank.
struct RankFigures {
  RankNumbers numbers;
  std::vector<SiteNumbers> sites;
};

/// Bytes received by sender and receiver. Rows are ranks or groups of equally many nodes, to bound the size of the
/// matrix.
struct TrafficMatrix {
  int per_row = 1;  ///< ranks per row, or nodes per row if `by_node`
  bool by_node = false;
  std::vector<std::vector<double>> bytes;  ///< [receiver][sender]
};
/// Maximum number of rows; ranks are grouped to stay within it.
inline constexpr int kMatrixRows = 256;
/// Row of each rank; equal on all ranks.
[[nodiscard]] std::vector<int> matrix_rows(const std::vector<int>& node_of_rank, TrafficMatrix& form);

/// Adds a rank's predictions to the numbers of its sites.
void add_predictions(std::map<int, SiteNumbers>& sites, const Predictions& predictions);

/// Parts of the file that are not numbers.
struct StatisticsForm {
  bool measured = true;   ///< false: predictions only (--plan)
  bool baseline = false;  ///< with predictions without --reproducible
  TrafficMatrix matrix{};
};
/// The JSON text. `known`: any rank's predictions, used for site names.
[[nodiscard]] std::string statistics_text(const RunDescription& run, const std::vector<RankFigures>& ranks,
                                          const Predictions& known, const StatisticsForm& form);

}  // namespace tdsl::rt
