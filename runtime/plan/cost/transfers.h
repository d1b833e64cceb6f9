#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "runtime/plan/cost/shares.h"
#include "runtime/plan/planner.h"

// Predicted seconds for whole-program planning: the cost of an operation under layouts, before it is cut into tiles.
// The busiest rank counts.

namespace tdsl::plan {

/// A tensor's boxes under a layout.
struct OwnedBoxes {
  const counting::Boxes& boxes;
  const Layout& layout;
  const Mesh& mesh;
  const TensorDesc& tensor;
  const std::vector<Index>&
      ranks;  ///< the ranks of these boxes; if nodes are distinguished, all ranks of some nodes, node by node
};

[[nodiscard]] bool same_boxes(const std::vector<counting::Boxes>& a, const std::vector<counting::Boxes>& b);

/// The tasks of a rank: one, unless a block map cuts its part further.
[[nodiscard]] double tasks_of(const Layout& layout, const Mesh& mesh);

/// A tensor's descriptor; null: unknown.
using DescOf = std::function<const TensorDesc*(TensorId)>;
/// Time to compute the ranks' parts of the task space, without task overhead.
[[nodiscard]] double seconds_to_compute(const Op& op, const counting::Boxes& work, const PlanInputs& inputs,
                                        const DescOf& desc_of);

/// Time to receive the needed boxes of one operand, one entry per access to it; elements that two accesses need are
/// received once.
[[nodiscard]] double seconds_to_receive(const OwnedBoxes& own, const std::vector<counting::Boxes>& needs,
                                        const PlanInputs& inputs);

/// The same for many layouts of an operand and many needs.
class ReceivingTable {
 public:
  /// Keeps references to boxes, layouts and needs.
  ReceivingTable(const std::vector<OwnedBoxes>& own, const std::vector<std::vector<counting::Boxes>>& needs,
                 const PlanInputs& inputs);
  [[nodiscard]] double seconds(std::size_t layout, std::size_t need);

 private:
  const std::vector<OwnedBoxes>& own_;
  const std::vector<std::vector<counting::Boxes>>& needs_;
  const PlanInputs& inputs_;
  std::vector<std::size_t> first_;           ///< per need: its first box among the compared boxes
  std::vector<std::vector<double>> needed_;  ///< per need and rank: elements
  std::vector<counting::Boxes> both_;        ///< intersections of the needs of two accesses
  std::optional<counting::CommonVolumes> common_;
  std::vector<double> lacking_, volumes_;
};

/// Time to combine `parts` partial results, computed by `work` under the layout `made` of the task space, at the
/// result's owners.
[[nodiscard]] double seconds_to_meet(const Op& op, const OwnedBoxes& own, const counting::Boxes& work,
                                     const Layout& made, Index parts, const PlanInputs& inputs);
/// The same, given the number of elements of its part of the result to which each rank itself contributed.
[[nodiscard]] double seconds_to_meet(const Op& op, const OwnedBoxes& own, const counting::Boxes& work,
                                     const std::vector<double>& ready, const Layout& made, Index parts,
                                     const PlanInputs& inputs);

/// Bytes of partial results on the busiest rank, per work layout; 0 if the reduction is not split.
[[nodiscard]] std::vector<double> partial_bytes(const Op& op, const std::vector<Layout>& works,
                                                const std::vector<counting::Boxes>& boxes);

}  // namespace tdsl::plan
