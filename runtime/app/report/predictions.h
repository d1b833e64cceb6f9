#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/plan/cost/cost_model.h"
#include "runtime/plan/cost/last_uses.h"
#include "runtime/plan/planner.h"

namespace tdsl::rt {

/// What the cost model foresees for this rank, summed per site as operations are planned.
class Predictions {
 public:
  struct Site {
    int line = 0;
    std::string name;
    std::string kind;
    plan::Cost cost;
    plan::Range bytes_sent;
    plan::Range bytes_from_other_nodes;  ///< of those received
    plan::Estimate stored;               ///< elements of sized results, on all ranks
    plan::Range stored_bytes;            ///< of their blocks, on this rank
  };
  /// Predictions cost time: they are made only for --stats and --plan.
  void enable(int rank) {
    enabled_ = true;
    rank_ = rank;
    resident_ = plan::ResidentBytes(rank);
  }
  /// `dead`: tensors that the operation is the last to mention.
  void add(const plan::PlannedOp& op, const plan::TensorLookup& lookup, const plan::PlanInputs& inputs,
           const std::vector<plan::TensorId>& dead);
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

}  // namespace tdsl::rt
