#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/plan/op_plan.h"
#include "runtime/plan/planner.h"
#include "runtime/plan/space/layout.h"

// Ways to place one operation. A candidate is a full plan: the operation (rewritten when its reduction is split into
// parts), its distribution, and where operands that are not placed yet would go.

namespace tdsl::plan {

struct Candidate {
  Op op;  ///< the recorded operation, or the one that makes its partial results
  OpPlan plan;
  bool partial = false;                     ///< `op` makes partial results that must be combined
  std::map<TensorId, Distribution> leaves;  ///< layouts of operands not placed yet
};

/// What is known about operands: placed tensors have a distribution, sources waiting for their first use only a shape.
struct Operands {
  std::function<const PlacedTensor*(TensorId)> placed;  ///< null: waiting
  std::function<const TensorDesc&(TensorId)> describe;
  std::function<const Layout*(TensorId)>
      wanted{};                ///< where a source that waits shall lie; null: where its first use wants it
  const Mesh* mesh = nullptr;  ///< of these layouts
};

/// Every candidate for the operation, in a fixed order. Never empty.
[[nodiscard]] std::vector<Candidate> candidates_for(const Op& op, const PlanInputs& inputs, const Operands& operands);

/// The operation under a layout of its task space (output dimensions, then reduce labels; `operands.mesh`); nothing if
/// its extents or given tiles cannot carry the layout, or if operations like it have no choice (effects, results that
/// lie where their base does).
[[nodiscard]] std::optional<Candidate> realise(const Op& op, const Layout& work, const PlanInputs& inputs,
                                               const Operands& operands);

/// The rank of a tiny tensor: a hash of the operation that defines it, names left out.
[[nodiscard]] Index home_of(const Op& op, Index ranks);

/// Where a tensor lies under a layout over `operands.mesh`; `op` makes it, `like` says how it is cut where that fits.
[[nodiscard]] Distribution lay_out(const Op& op, const TensorDesc& tensor, const Layout& layout,
                                   const Distribution& like, const PlanInputs& inputs, const Operands& operands);

/// A copy of the tensor, element by element, for the planner's own use.
[[nodiscard]] Op copy_of(const Op& op, const TensorDesc& tensor);

/// The operation that combines partial results of `partial` (outputs [parts..., out...]) into the recorded outputs.
[[nodiscard]] Op combination_of(const Op& recorded, const Op& partial);

}  // namespace tdsl::plan
