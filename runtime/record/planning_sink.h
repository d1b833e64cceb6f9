#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/plan/planner.h"
#include "runtime/plan/value/imposed.h"
#include "runtime/record/sink.h"

namespace tdsl::record {

/// The segments that a run recorded, and their plans.
struct PlannedRun {
  static constexpr std::size_t kMostOperations = 256;
  struct Part {
    plan::Segment recorded;
    std::shared_ptr<const plan::PlannedSegment> planned;
  };
  std::vector<Part> parts;
  std::unordered_map<plan::TensorId, plan::PlacedTensor> tensors;  ///< of all parts
  std::size_t operations = 0;
};

/// What runs with equal inputs and an equal imposed plan share.
struct SharedPlans {
  std::shared_ptr<plan::Planner::Decisions> decisions = plan::Planner::no_decisions();
  std::shared_ptr<const PlannedRun> run;  ///< a complete run; null: none yet
};

/// Plans recorded segments, and drops dead tensors after `planned` has seen them.
///
/// Note [Runs that repeat]
/// With SharedPlans, a run takes the plans of the earlier run as long as it records the same segments: names, sizes,
/// numbers of tensors, everything. At the first difference the planner plans the segments recorded so far and goes on.
/// Decisions depend on the recorded operations and the inputs alone, so the plans are those that the planner would have
/// made.
class PlanningSink : public Sink {
 public:
  explicit PlanningSink(plan::PlanInputs inputs) : planner_(std::move(inputs)) {}
  /// Imposes a plan's layouts from now on.
  void impose(std::unique_ptr<plan::Imposed> plan) { planner_.impose(std::move(plan)); }
  /// After impose() and limit_memory().
  void share(std::shared_ptr<SharedPlans> plans);
  /// After the last segment: gives the run to later ones.
  void keep_run();

  /// A complete run with the plans of this one; null: none is kept.
  [[nodiscard]] const PlannedRun* shared_run() const { return shared_ != nullptr ? shared_->run.get() : nullptr; }

  /// Call before anything is recorded.
  void limit_memory(plan::Index bytes, std::map<int, plan::Housing> homes = {}) {
    planner_.limit_memory(bytes, std::move(homes));
  }

  /// Announces the result of a kRestore operation (Planner::restores).
  void restores(plan::TensorId tensor, int site, const plan::Housing& housing) {
    planner_.restores(tensor, site, housing);
  }

  void segment(plan::Segment segment) override;
  /// Knows nothing of a run that repeats an earlier one.
  [[nodiscard]] const plan::Planner& planner() const { return planner_; }
  /// Of tensors that are planned and have not ended.
  [[nodiscard]] plan::TensorLookup lookup() const {
    return [this](plan::TensorId id) -> const plan::PlacedTensor& {
      return earlier_ != nullptr ? earlier_->tensors.at(id) : planner_.tensor(id);
    };
  }
  /// Time spent in the planner so far.
  [[nodiscard]] double planning_seconds() const { return planning_seconds_; }

 protected:
  /// True if segments are planned on their own: no earlier run has plans for them, and none is to get these.
  [[nodiscard]] bool plans_segments() const { return earlier_ == nullptr && kept_ == nullptr; }
  /// The planner, for operations that repeat without being planned.
  [[nodiscard]] plan::Planner& its_planner() { return planner_; }
  /// Called with every planned segment; the planner still knows all tensors used or ended in it.
  virtual void planned(const plan::PlannedSegment& segment) = 0;

 private:
  void plan(plan::Segment segment);
  [[nodiscard]] plan::PlannedSegment made(plan::Segment segment);
  void erase(const plan::PlannedSegment& plans);
  void note(plan::Segment recorded, const std::shared_ptr<const plan::PlannedSegment>& plans);
  void leave_earlier();

  plan::Planner planner_;
  double planning_seconds_ = 0;
  std::shared_ptr<SharedPlans> shared_;        ///< null: nothing is shared
  std::shared_ptr<const PlannedRun> earlier_;  ///< this run repeats it so far
  std::size_t repeated_ = 0;                   ///< its parts
  std::unique_ptr<PlannedRun> kept_;           ///< this run, if later ones may repeat it
};

/// Plans the operations of a `--reproducible` run as without that option and without a memory limit: used only to
/// predict the cost of the option.
class BaselineSink : public PlanningSink {
 public:
  using Visitor = std::function<void(const plan::PlannedOp&, const plan::TensorLookup&, const plan::PlanInputs&)>;
  BaselineSink(plan::PlanInputs inputs, Visitor visit);

 private:
  void planned(const plan::PlannedSegment& segment) override;
  Visitor visit_;
};

}  // namespace tdsl::record
