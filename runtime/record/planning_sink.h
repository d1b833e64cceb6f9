#pragma once

#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "runtime/plan/planner.h"
#include "runtime/plan/value/imposed.h"
#include "runtime/record/sink.h"

namespace tdsl::record {

/// Plans what is recorded, and forgets tensors that have ended once `planned` has seen them.
class PlanningSink : public Sink {
 public:
  explicit PlanningSink(plan::PlanInputs inputs) : planner_(std::move(inputs)) {}
  /// Layouts that are asked for from now on.
  void impose(std::unique_ptr<plan::Imposed> plan) { planner_.impose(std::move(plan)); }

  /// Before anything is recorded.
  void limit_memory(plan::Index bytes, std::map<int, plan::Housing> homes = {}) {
    planner_.limit_memory(bytes, std::move(homes));
  }

  /// What a kRestore operation is going to make (Planner::restores).
  void restores(plan::TensorId tensor, int site, const plan::Housing& housing) {
    planner_.restores(tensor, site, housing);
  }

  void segment(plan::Segment segment) override;
  [[nodiscard]] const plan::Planner& planner() const { return planner_; }
  /// Spent in the planner so far.
  [[nodiscard]] double planning_seconds() const { return planning_seconds_; }

 protected:
  /// Every segment with its plans; the planner still knows all tensors that it mentions or ends.
  virtual void planned(const plan::PlannedSegment& segment) = 0;

 private:
  plan::Planner planner_;
  double planning_seconds_ = 0;
};

/// The operations of a `--reproducible` run as they would be planned without the switch, and without a memory limit:
/// only for predictions, which say what the switch costs.
class BaselineSink : public PlanningSink {
 public:
  using Visitor = std::function<void(const plan::PlannedOp&, const plan::TensorLookup&, const plan::PlanInputs&)>;
  BaselineSink(plan::PlanInputs inputs, Visitor visit);

 private:
  void planned(const plan::PlannedSegment& segment) override;
  Visitor visit_;
};

}  // namespace tdsl::record
