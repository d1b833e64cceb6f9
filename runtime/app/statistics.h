#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/engine/engine.h"
#include "runtime/engine/mpi_world.h"
#include "runtime/engine/store.h"
#include "runtime/plan/cost/cost_model.h"
#include "runtime/plan/cost/last_uses.h"
#include "runtime/plan/planner.h"

namespace tdsl::rt {

/// What the cost model foresees for this rank, summed per site as operations are planned.
class Predictions {
 public:
  struct Site {
    int line = 0;
    std::string kind;
    plan::Cost cost;
    plan::Range bytes_sent;
    plan::Range bytes_from_other_nodes;  ///< of those received
  };
  /// Predictions cost time: they are made only for --stats and --plan.
  void enable(int rank) {
    enabled_ = true;
    rank_ = rank;
    resident_ = plan::ResidentBytes(rank);
  }
  /// `dead`: tensors that the operation is the last to mention.
  void add(const plan::PlannedOp& op, const plan::TensorLookup& lookup, const plan::PlanInputs& inputs, const std::vector<plan::TensorId>& dead);
  /// A tensor that no operation of the segment mentions has lost its last name.
  void free(plan::TensorId id) { resident_.free(id); }
  /// Bytes of blocks held at most if operations run one after the other.
  [[nodiscard]] double peak_block_bytes() const { return resident_.peak(); }
  [[nodiscard]] const std::map<int, Site>& sites() const { return sites_; }

 private:
  bool enabled_ = false;
  int rank_ = 0;
  plan::ResidentBytes resident_{0};
  std::map<int, Site> sites_;
};

/// Seconds of each phase of the run on this rank.
struct Phases {
  double start = 0;    ///< from exec to the ranks being up
  double read = 0;     ///< options and headers
  double plan = 0;     ///< in the planner
  double compute = 0;  ///< the program, planning excluded; files are written in it too
  double write = 0;    ///< names given to files
  double total = 0;
};

/// All the statistics file needs of one rank.
struct RankStatistics {
  std::vector<SiteStatistics> sites;
  Predictions predictions;
  Traffic traffic;
  Phases phases;
  plan::Index peak_block_bytes = 0;
  plan::Index start_rss_bytes = 0;  ///< once MPI has started, before any input is read
  plan::Index peak_rss_bytes = 0;
  plan::Index blocks_at_exit = 0;
  Silence silence;                       ///< while it computed
  plan::Index packed_bytes = 0;          ///< copied because of --reproducible
  std::optional<plan::Cost> baseline;   ///< predicted without --reproducible; only with it
  bool measured = true;  ///< false: predictions only (--plan)
};

/// What a survey found before the run.
struct SurveyFacts {
  std::uint64_t hash = 0;        ///< of the region
  std::size_t operations = 0;
  bool whole = false;
  plan::Index unsurveyed = 0;    ///< operations recorded later at sites that it had not found
};

/// Of the whole run, equal on all ranks.
struct RunDescription {
  std::string program;
  std::uint64_t plan_hash = 0;
  std::optional<SurveyFacts> survey;  ///< on rank 0 of several
  plan::Index ranks_per_node = 1;  ///< 1: the plan knows no nodes
  int threads = 1;
  plan::Machine machine;
};

/// VmHWM of this process in bytes.
[[nodiscard]] plan::Index peak_rss();

/// Gathers every rank's statistics; on rank 0 the JSON text of --stats, elsewhere "". All ranks call.
[[nodiscard]] std::string statistics_json(World& world, const RunDescription& run, const RankStatistics& mine);

}  // namespace tdsl::rt
