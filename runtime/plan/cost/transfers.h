#pragma once

#include <vector>

#include "runtime/plan/cost/shares.h"
#include "runtime/plan/planner.h"

// Predicted seconds of whole-program planning: what an operation costs under layouts, before it is cut into tiles. The busiest of the ranks counts.

namespace tdsl::plan {

/// A tensor's boxes under a layout.
struct OwnedBoxes {
  const counting::Boxes& boxes;
  const Layout& layout;
  const Mesh& mesh;
  const TensorDesc& tensor;
  const std::vector<Index>& ranks;  ///< whose boxes these are; where nodes are told apart, all ranks of some nodes, node by node
};

[[nodiscard]] bool same_boxes(const std::vector<counting::Boxes>& a, const std::vector<counting::Boxes>& b);

/// The tasks of a rank: one, except where a column map cuts its part further.
[[nodiscard]] double tasks_of(const Layout& layout, const Mesh& mesh);

/// Computing the ranks' parts of the task space, tasks left out.
[[nodiscard]] double seconds_to_compute(const Op& op, const counting::Boxes& work, const PlanInputs& inputs);

/// Bringing the needed boxes of one operand, one entry per access to it: elements that two accesses need come once.
[[nodiscard]] double seconds_to_receive(const OwnedBoxes& own, const std::vector<counting::Boxes>& needs, const PlanInputs& inputs);

/// `parts` partial results, made by `work` under the layout `made` of the task space, meet where the result lies.
[[nodiscard]] double seconds_to_meet(const Op& op, const OwnedBoxes& own, const counting::Boxes& work, const Layout& made, Index parts,
                                     const PlanInputs& inputs);

/// Bytes of partial results on the busiest rank, per layout of the work; 0 where the reduction is not split.
[[nodiscard]] std::vector<double> partial_bytes(const Op& op, const std::vector<Layout>& works, const std::vector<counting::Boxes>& boxes);

}  // namespace tdsl::plan
