#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/plan/cost/cost_model.h"
#include "runtime/plan/cost/last_uses.h"
#include "runtime/plan/planner.h"
#include "runtime/plan/steps/in_place.h"

namespace tdsl::rt {

/// The cost model's predictions for this rank, summed per site as operations are planned.
class Predictions {
 public:
  struct Site {
    int line = 0;
    std::string name;
    std::string kind;
    plan::Cost cost;
    plan::Range bytes_sent;
    plan::Range bytes_from_other_nodes;  ///< of the bytes received
    double bytes_in_place = 0;           ///< of the bytes received
    plan::Estimate stored;               ///< elements of results with data-dependent size, on all ranks
    plan::Range stored_bytes;            ///< bytes of their blocks, on this rank
  };
  /// Predictions take time, so they are made only for --stats and --plan. `in_place`: for pieces that ranks of a node
  /// read in place.
  void enable(int rank, plan::InPlace in_place = {}) {
    enabled_ = true;
    rank_ = rank;
    in_place_ = std::move(in_place);
    resident_ = plan::ResidentBytes(rank);
  }
  /// `dead`: tensors whose last use is this operation.
  void add(const plan::PlannedOp& op, const plan::TensorLookup& lookup, const plan::PlanInputs& inputs,
           const std::vector<plan::TensorId>& dead);
  /// The same for an operation that repeats one of this cost on a rank that runs alone: nothing is exchanged.
  void add_again(const plan::PlannedOp& op, const plan::Cost& cost, const std::vector<plan::TensorId>& dead);
  /// Call for a tensor that loses its last name without a use in the segment.
  void free(plan::TensorId id) { resident_.free(id); }
  /// Peak bytes of blocks if operations run one at a time.
  [[nodiscard]] double peak_block_bytes() const { return resident_.peak(); }
  [[nodiscard]] const std::map<int, Site>& sites() const { return sites_; }

 private:
  bool enabled_ = false;
  int rank_ = 0;
  plan::InPlace in_place_;
  plan::ResidentBytes resident_{0};
  std::map<int, Site> sites_;
};

}  // namespace tdsl::rt
