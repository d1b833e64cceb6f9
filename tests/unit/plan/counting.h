#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/plan/cost/cost_model.h"
#include "runtime/plan/op_builder.h"
#include "runtime/plan/planner.h"
#include "runtime/plan/steps/steps.h"

namespace tdsl::tests {

/// The enumerator's totals for one rank.
struct Counted {
  plan::Index elements = 0;
  plan::Index bytes = 0;
  plan::Index pieces = 0;
  plan::Index tasks = 0;
  plan::Index points = 0;
  plan::Index peak_remote_bytes =
      0;                   ///< pieces of one step that are remote or evicted, and those kept from earlier steps
  plan::Index loaded = 0;  ///< bytes of own pieces that are evicted
};

/// Enumerates the steps of a rank; calls `each` for every fetch.
template <class F>
Counted count(const plan::Op& op, const plan::OpPlan& plan, const plan::TensorLookup& tensors, plan::Index rank,
              F&& each) {
  Counted counted;
  const plan::TaskSpace space(op, plan, tensors);
  plan::StepCursor cursor(space, tensors, rank);
  plan::Step step;
  plan::Index kept = 0, stays = 0;
  while (cursor.next(step)) {
    plan::Index passing = 0;
    for (const plan::Fetch& fetch : step.fetch) {
      const plan::Index bytes = fetch.piece.box.volume() * tensors(fetch.piece.tensor).desc.element.bytes;
      if (fetch.owner == rank) {
        counted.loaded += bytes;
      } else {
        counted.elements += fetch.piece.box.volume();
        ++counted.pieces;
        counted.bytes += fetch.bytes.most_bytes();
      }
      (fetch.stays ? stays : fetch.keep ? kept : passing) += bytes;
      each(fetch);
    }
    counted.tasks += static_cast<plan::Index>(step.tasks.size());
    for (const plan::Task& task : step.tasks) {
      if (task.hit) counted.points += space.points(space.label_intervals(task.tile, task.panel));
    }
    counted.peak_remote_bytes = std::max(counted.peak_remote_bytes, stays + kept + passing);
    if (step.ends_super_block) kept = 0;
  }
  return counted;
}
inline Counted count(const plan::Op& op, const plan::OpPlan& plan, const plan::TensorLookup& tensors,
                     plan::Index rank) {
  return count(op, plan, tensors, rank, [](const plan::Fetch&) {});
}

inline bool inside(plan::Range range, plan::Index value) {
  const auto v = static_cast<double>(value);
  return range.lo <= v && v <= range.hi;
}
inline std::string text(const char* what, plan::Range range, plan::Index value) {
  return std::string(what) + " [" + std::to_string(range.lo) + ", " + std::to_string(range.hi) + "] does not hold " +
         std::to_string(value);
}

/// The first figure outside its predicted interval, or an empty string.
inline std::string outside(const plan::Cost& cost, const Counted& counted, const plan::Op& op) {
  const auto flops = static_cast<plan::Index>(static_cast<double>(counted.points) * op.flops_per_point);
  if (!inside(cost.received_elements, counted.elements))
    return text("received", cost.received_elements, counted.elements);
  if (!inside(cost.bytes_received, counted.bytes)) return text("bytes", cost.bytes_received, counted.bytes);
  if (!inside(cost.disk_read, counted.loaded)) return text("loaded", cost.disk_read, counted.loaded);
  if (!inside(cost.boxes, counted.pieces)) return text("boxes", cost.boxes, counted.pieces);
  if (!inside(cost.flops, flops)) return text("flops", cost.flops, flops);
  if (!inside(cost.tasks, counted.tasks)) return text("tasks", cost.tasks, counted.tasks);
  if (cost.step_bytes.hi < static_cast<double>(counted.peak_remote_bytes)) {
    return text("step bytes", {0, cost.step_bytes.hi}, counted.peak_remote_bytes);
  }
  return {};
}

/// Records sources and operations as one segment for a planner.
class Recorder {
 public:
  explicit Recorder(plan::PlanInputs inputs) : planner(std::move(inputs)) {}

  plan::TensorId source(const std::string& name, const std::vector<plan::Index>& shape,
                        plan::ElementKind element = {}) {
    plan::OpBuilder builder(plan::OpClass::kSource, name, site_++, 1);
    for (std::size_t d = 0; d < shape.size(); ++d) builder.out("d" + std::to_string(d), shape[d]);
    return finish(builder, name, element);
  }
  /// The recorded result, with the operation's shape.
  plan::TensorId finish(plan::OpBuilder& builder, const std::string& name, plan::ElementKind element = {}) {
    plan::Op& op = builder.op();
    const plan::TensorId id = next_++;
    op.outputs.push_back({id, element, op.shape, name});
    segment.push_back(op);
    return id;
  }
  /// C[i, j] = sum[k](A[i, k] * B[k, j]); a transposed operand has its subscripts exchanged.
  plan::TensorId product(plan::TensorId a, bool a_transposed, plan::TensorId b, bool b_transposed, plan::Index m,
                         plan::Index n, plan::Index k, plan::ElementKind element = {}) {
    using plan::at;
    plan::OpBuilder builder(plan::OpClass::kContraction, "C", site_++, 1);
    builder.out("i", m).out("j", n).reduce("k", k).combine(plan::Combine::kSum).flops(2);
    builder.read(a, a_transposed ? std::vector{at(2), at(0)} : std::vector{at(0), at(2)});
    builder.read(b, b_transposed ? std::vector{at(1), at(2)} : std::vector{at(2), at(1)});
    return finish(builder, "C", element);
  }
  std::vector<std::shared_ptr<const plan::PlannedOp>> run() {
    return planner.plan({std::exchange(segment, {}), {}}).ops;
  }

  plan::Planner planner;
  std::vector<plan::Op> segment;

 private:
  plan::TensorId next_ = 0;
  int site_ = 0;
};

}  // namespace tdsl::tests
