#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "runtime/plan/cost/common_volumes.h"
#include "runtime/plan/cost/shares.h"
#include "runtime/plan/planner.h"

// Predicted seconds of whole-program planning: what an operation costs under layouts, before it is cut into tiles. The
// busiest of the ranks counts.

namespace tdsl::plan {

/// A tensor's boxes under a layout.
struct OwnedBoxes {
  const counting::Boxes& boxes;
  const Layout& layout;
  const Mesh& mesh;
  const TensorDesc& tensor;
  const std::vector<Index>&
      ranks;  ///< whose boxes these are; where nodes are told apart, all ranks of some nodes, node by node
};

[[nodiscard]] bool same_boxes(const std::vector<counting::Boxes>& a, const std::vector<counting::Boxes>& b);

/// The tasks of a rank: one, except where a column map cuts its part further.
[[nodiscard]] double tasks_of(const Layout& layout, const Mesh& mesh);

/// A tensor; null: not known.
using DescOf = std::function<const TensorDesc*(TensorId)>;
/// Computing the ranks' parts of the task space, tasks left out.
[[nodiscard]] double seconds_to_compute(const Op& op, const counting::Boxes& work, const PlanInputs& inputs,
                                        const DescOf& desc_of);

/// Bringing the needed boxes of one operand, one entry per access to it: elements that two accesses need come once.
[[nodiscard]] double seconds_to_receive(const OwnedBoxes& own, const std::vector<counting::Boxes>& needs,
                                        const PlanInputs& inputs);

/// The same of many layouts of an operand and many needs of it.
class ReceivingTable {
 public:
  /// Boxes, layouts and needs are kept as references.
  ReceivingTable(const std::vector<OwnedBoxes>& own, const std::vector<std::vector<counting::Boxes>>& needs,
                 const PlanInputs& inputs);
  [[nodiscard]] double seconds(std::size_t layout, std::size_t need);

 private:
  const std::vector<OwnedBoxes>& own_;
  const std::vector<std::vector<counting::Boxes>>& needs_;
  const PlanInputs& inputs_;
  std::vector<std::size_t> first_;           ///< per need: its first box among those that are compared
  std::vector<std::vector<double>> needed_;  ///< per need and rank: elements
  std::vector<counting::Boxes> both_;        ///< what two accesses need
  std::optional<counting::CommonVolumes> common_;
  std::vector<double> lacking_, volumes_;
};

/// `parts` partial results, made by `work` under the layout `made` of the task space, meet where the result lies.
[[nodiscard]] double seconds_to_meet(const Op& op, const OwnedBoxes& own, const counting::Boxes& work,
                                     const Layout& made, Index parts, const PlanInputs& inputs);
/// The same where it is known how many elements of what a rank owns of the result it has made a part of itself.
[[nodiscard]] double seconds_to_meet(const Op& op, const OwnedBoxes& own, const counting::Boxes& work,
                                     const std::vector<double>& ready, const Layout& made, Index parts,
                                     const PlanInputs& inputs);

/// Bytes of partial results on the busiest rank, per layout of the work; 0 where the reduction is not split.
[[nodiscard]] std::vector<double> partial_bytes(const Op& op, const std::vector<Layout>& works,
                                                const std::vector<counting::Boxes>& boxes);

}  // namespace tdsl::plan
