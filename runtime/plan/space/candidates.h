#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/plan/op_plan.h"
#include "runtime/plan/planner.h"
#include "runtime/plan/space/layout.h"

// Candidate placements of one operation. A candidate is a full plan: the operation (rewritten if its reduction is split
// into parts), its distribution, and the layouts of operands that are not placed yet.

namespace tdsl::plan {

struct Candidate {
  Op op;  ///< the recorded operation, or the one that computes its partial results
  OpPlan plan;
  bool partial = false;                     ///< `op` computes partial results that must be combined
  std::map<TensorId, Distribution> leaves;  ///< layouts of operands not placed yet
};

/// Known operands: placed tensors have a distribution, sources waiting for their first use only a shape.
struct Operands {
  std::function<const PlacedTensor*(TensorId)> placed;  ///< null: a waiting source
  std::function<const TensorDesc&(TensorId)> describe;
  std::function<const Layout*(TensorId)>
      wanted{};                ///< required layout of a waiting source; null: its first use decides
  const Mesh* mesh = nullptr;  ///< the mesh of these layouts
};

/// All candidates for the operation, in a fixed order. Never empty.
[[nodiscard]] std::vector<Candidate> candidates_for(const Op& op, const PlanInputs& inputs, const Operands& operands);

/// False for operations without elements and for those whose place follows from others: effects, operations that the
/// recorder places, and results that share the layout of their base.
[[nodiscard]] bool has_choice(const Op& op, const Operands& operands);

/// The operation under a layout of its task space (output dimensions, then reduce labels; `operands.mesh`); nothing if
/// its extents or prescribed tiles cannot carry the layout, or if it has no choice.
[[nodiscard]] std::optional<Candidate> realise(const Op& op, const Layout& work, const PlanInputs& inputs,
                                               const Operands& operands);

/// True if extents and tiles of the operation's result permit ranks in columns.
[[nodiscard]] bool carries_columns(const Op& op, const PlanInputs& inputs);
/// Maps of the operation's result to all ranks in columns that differ in their numbers of ranks (others are grids);
/// none if the operation permits none. At most about `most` column counts, at equal ratios.
[[nodiscard]] std::vector<BlockMap> column_maps(const Op& op, const PlanInputs& inputs, std::size_t most);

/// The rank that owns a tiny tensor: a hash of the operation that defines it, excluding names.
[[nodiscard]] Index home_of(const Op& op, Index ranks);

/// The distribution of a tensor under a layout over `operands.mesh`; `op` creates it, `like` supplies the tiles where
/// they fit.
[[nodiscard]] Distribution lay_out(const Op& op, const TensorDesc& tensor, const Layout& layout,
                                   const Distribution& like, const PlanInputs& inputs, const Operands& operands);

/// An element-wise copy of the tensor, for the planner's own use.
[[nodiscard]] Op copy_of(const Op& op, const TensorDesc& tensor);

/// The operation that combines the partial results of `partial` (outputs [parts..., out...]) into the recorded outputs.
[[nodiscard]] Op combination_of(const Op& recorded, const Op& partial);

}  // namespace tdsl::plan
