#pragma once

#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "runtime/plan/planner.h"
#include "runtime/plan/value/imposed.h"
#include "runtime/record/sink.h"

namespace tdsl::record {

/// Plans recorded segments, and drops dead tensors after `planned` has seen them.
class PlanningSink : public Sink {
 public:
  explicit PlanningSink(plan::PlanInputs inputs) : planner_(std::move(inputs)) {}
  /// Imposes a plan's layouts from now on.
  void impose(std::unique_ptr<plan::Imposed> plan) { planner_.impose(std::move(plan)); }
  void share(std::shared_ptr<plan::Planner::Decisions> decisions) { planner_.share(std::move(decisions)); }

  /// Call before anything is recorded.
  void limit_memory(plan::Index bytes, std::map<int, plan::Housing> homes = {}) {
    planner_.limit_memory(bytes, std::move(homes));
  }

  /// Announces the result of a kRestore operation (Planner::restores).
  void restores(plan::TensorId tensor, int site, const plan::Housing& housing) {
    planner_.restores(tensor, site, housing);
  }

  void segment(plan::Segment segment) override;
  [[nodiscard]] const plan::Planner& planner() const { return planner_; }
  /// Time spent in the planner so far.
  [[nodiscard]] double planning_seconds() const { return planning_seconds_; }

 protected:
  /// Called with every planned segment; the planner still knows all tensors used or ended in it.
  virtual void planned(const plan::PlannedSegment& segment) = 0;

 private:
  plan::Planner planner_;
  double planning_seconds_ = 0;
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
