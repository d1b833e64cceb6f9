#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/plan/home.h"
#include "runtime/plan/op.h"
#include "runtime/plan/space/distribution.h"

namespace tdsl::plan {

/// The planner's decisions for one operation. A function of the operation, the operands' distributions and PlanInputs
/// alone, so equal on all ranks.
struct OpPlan {
  /// Distribution of the output tiles and of the outputs. A task runs on every rank that owns its output tile.
  Distribution space;
  /// Per reduce label: its tiles (of the label's range, from its begin). For a label with part_dim, of P parts, part c
  /// has tiles [c m, (c+1) m), m = ceil(T / P); the last parts may have fewer.
  std::vector<Tiling> reduce;
  /// Super-blocks of output tiles: how many owned tiles per dimension a rank processes at once (memory limit); with an
  /// owner table, which has no dimensions, the first number counts tiles of the rank's list. A remote box is fetched
  /// once per super-block that needs it, unless its operand is kept. 0: all.
  std::vector<Index> super_block;
  /// Per read: true if the operand is kept over super-blocks. Each of its remote boxes is fetched in the first
  /// super-block that needs it and held until the operation's last step. Equal for all reads of a tensor. Empty: none.
  std::vector<bool> kept;
  [[nodiscard]] bool keeps(const Op& op, TensorId tensor) const;
  /// An operand that is part of a local block is copied as if it had been received (`--reproducible`).
  bool packed = false;
  /// True if operands must have the same layout whether local or received: also if several ranks do the same work,
  /// whose results must be bitwise equal.
  [[nodiscard]] bool packs() const { return packed || space.copies() > 1; }
  /// A box that several ranks of another node fetch in one step enters that node once (tree.h). 1: nodes are ignored.
  Index ranks_per_node = 1;
  Housing housing;  ///< of the outputs
  std::string why;  ///< one line for explain
};

/// Where an output's blocks are placed: like the output tiles; results of a loop are whole on the rank of its task.
[[nodiscard]] Distribution distribution_of(const Op& op, const OpPlan& plan, const TensorDesc& output);

inline bool OpPlan::keeps(const Op& op, TensorId tensor) const {
  for (std::size_t a = 0; a < kept.size(); ++a) {
    if (kept[a] && op.reads[a].tensor == tensor) return true;
  }
  return false;
}

/// Lookup of a tensor's shape, element and placement.
struct PlacedTensor {
  TensorDesc desc;
  Distribution distribution;
  Housing housing{};

  /// The rank's first tile coordinate along the first dimension whose blocks are not kept in memory; the number of
  /// tiles if all are.
  [[nodiscard]] Index first_away(Index rank) const;
  /// True if that block, owned by the rank, is on disk or in its input file.
  [[nodiscard]] bool away(const Coord& tile, Index rank) const {
    return housing.home != Home::kMemory && tile.rank > 0 && tile[0] >= first_away(rank);
  }
};
using TensorLookup = std::function<const PlacedTensor&(TensorId)>;

/// An operation with its plan. One recorded operation may become several (partial results and their combination).
struct PlannedOp {
  Op op;
  OpPlan plan;
  int part = 0;  ///< 0: the operation or its partial results; 1: the combination; 2: a kept copy of the result
  std::uint64_t decision = 0;  ///< hash of the planner's decision
};

}  // namespace tdsl::plan
