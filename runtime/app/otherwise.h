#pragma once

#include <vector>

#include "runtime/plan/cost/cost_model.h"
#include "runtime/plan/planner.h"

namespace tdsl::rt {

/// The operations of a `--reproducible` run as they would be planned without the switch: only predictions, so that the
/// statistics can say what the switch costs.
class OtherwisePlan {
 public:
  OtherwisePlan(plan::PlanInputs inputs, plan::Index rank);

  void plan(std::vector<plan::Op> segment);
  /// The tensor's last name is gone, and nothing mentions it any more.
  void forget(plan::TensorId id);
  /// Of this rank, summed over all operations.
  [[nodiscard]] const plan::Cost& cost() const { return cost_; }

 private:
  plan::Planner planner_;
  plan::Index rank_;
  plan::Cost cost_;
};

}  // namespace tdsl::rt
