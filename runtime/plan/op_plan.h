#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/plan/home.h"
#include "runtime/plan/op.h"
#include "runtime/plan/space/distribution.h"

namespace tdsl::plan {

/// Everything the planner decides about one operation. A function of the operation, the operands' distributions and
/// PlanInputs alone, hence equal on all ranks.
struct OpPlan {
  /// Of the output tiles; the outputs' distribution. A task runs on every rank that owns its output tile.
  Distribution space;
  /// Per reduce label: its tiles (of the label's range, from its begin). For a label with part_dim, of P parts, part c
  /// has tiles [c m, (c+1) m), m = ceil(T / P); the last parts may have fewer.
  std::vector<Tiling> reduce;
  /// Super-blocks of output tiles: how many owned tiles per dimension a rank works on at once (memory limit); where
  /// they lie by a table, which knows no dimensions, the first number says how many of the rank's list. A remote box is
  /// fetched once per super-block that needs it. 0: all.
  std::vector<Index> super_block;
  /// An operand that is a part of a local block is copied, as if it had been received (`--reproducible`).
  bool packed = false;
  /// Whether operands are to look alike wherever they lie: also where several ranks do the same work, whose results
  /// must not differ in a bit.
  [[nodiscard]] bool packs() const { return packed || space.copies() > 1; }
  /// Boxes that several ranks of another node fetch in one step enter it once (tree.h). 1: as if every rank were near
  /// every other.
  Index ranks_per_node = 1;
  Housing housing;  ///< of the outputs
  std::string why;  ///< one line for explain
};

/// Where an output's blocks lie: like the output tiles; the results of a loop are whole where its task runs.
[[nodiscard]] Distribution distribution_of(const Op& op, const OpPlan& plan, const TensorDesc& output);

/// Lookup of a tensor's shape, element and placement.
struct PlacedTensor {
  TensorDesc desc;
  Distribution distribution;
  Housing housing{};

  /// The first tile coordinate along the first dimension at which blocks of the rank are not kept in memory; the number
  /// of tiles there if none is.
  [[nodiscard]] Index first_away(Index rank) const;
  /// Whether that block of the rank, which owns it, is on disk or in its file.
  [[nodiscard]] bool away(const Coord& tile, Index rank) const {
    return housing.home != Home::kMemory && tile.rank > 0 && tile[0] >= first_away(rank);
  }
};
using TensorLookup = std::function<const PlacedTensor&(TensorId)>;

/// An operation with its plan. One recorded operation may become several (partial results, then their combination).
struct PlannedOp {
  Op op;
  OpPlan plan;
  int part = 0;  ///< 0: the operation or its partial results; 1: the combination; 2: a kept copy of the result
};

}  // namespace tdsl::plan
