#pragma once

#include <vector>

#include "runtime/plan/op_plan.h"

// What one rank needs and owns, as lists of element intervals per dimension, found from the parameters of
// distributions: what the closed forms (cost_model, sent_bytes) are made of. Nothing here calls the enumerator or
// Distribution's owner map.

namespace tdsl::plan::counting {

using Intervals = std::vector<Interval>;

[[nodiscard]] Index total(const Intervals& list);
/// Sorted, without equal or empty entries.
void tidy(Intervals& list);
/// The union of a tidy list, as disjoint intervals.
[[nodiscard]] Intervals merged(const Intervals& list);
/// Elements of the intervals of `list`, each counted by itself, inside the disjoint sorted `inside`.
[[nodiscard]] Index measure_inside(const Intervals& list, const Intervals& inside);
/// Elements both of two disjoint sorted lists hold.
[[nodiscard]] Intervals common(const Intervals& a, const Intervals& b);
/// No two different intervals of the two lists overlap.
[[nodiscard]] bool equal_or_disjoint(const Intervals& a, const Intervals& b);
/// Element intervals of the tiles of dimension d that a rank owns, from the parameters of the distribution alone.
[[nodiscard]] Intervals owned_intervals(const Distribution& x, Index rank, int d);

/// Whether a rank owns any tile, if every dimension has as many tiles as coordinates: it is at coordinates of the grid,
/// its copies included.
[[nodiscard]] bool has_part(const Distribution& x, Index rank);
/// Ranks that read from the same copy have the same coordinates along the axes that repeat.
[[nodiscard]] bool share_copy(const Distribution& x, Index rank, Index other);

/// Labels whose elements along an output dimension lie in the interval.
[[nodiscard]] Interval preimage(const OutSubscript& s, Interval elements);

/// Everything about one operation on one rank that the counts are made of.
struct RankView {
  const Op& op;
  const OpPlan& plan;
  std::vector<Intervals> owned_out;  ///< per output dimension
  std::vector<Intervals> label;      ///< per label: one interval per tile (of output or reduction)
  std::vector<Index> hit;            ///< per output dimension: owned tiles that are written
  std::vector<bool> busy;            ///< per output dimension: every owned tile computes something
  bool exact = true;
  bool works = true;
  Index super_blocks = 1;     ///< product over dimensions
  std::vector<Index> chunks;  ///< super-blocks per output dimension
};

/// Of all its tiles together; not where they lie by a table.
[[nodiscard]] RankView view_of(const Op& op, const OpPlan& plan, Index rank);
/// Of one tile of these elements.
[[nodiscard]] RankView view_of_tile(const Op& op, const OpPlan& plan, const std::vector<Interval>& elements);

/// What labels in these intervals touch of one dimension of an operand: the hull.
[[nodiscard]] Interval touched_by(const DimAccess& dim, const std::vector<Interval>& labels, Index extent);

/// Intervals of one dimension of an operand that the rank's tasks touch.
[[nodiscard]] Intervals touched(const RankView& v, const DimAccess& dim, Index extent);
/// The tiles that they touch, each once: of a sized tensor whole blocks are fetched.
[[nodiscard]] Intervals whole_tiles(const Intervals& list, const Tiling& tiling);

/// The longest tile of every dimension.
[[nodiscard]] std::vector<Index> longest_tiles(const Distribution& x);
/// Of `blocks` blocks of a tensor with `elements` elements together, no block more than `times` times.
[[nodiscard]] Estimate bytes_of_blocks(const TensorDesc& tensor, const Distribution& where, const Estimate& blocks,
                                       const Estimate& elements, double times = 1);
/// Of all that a rank has of a tensor; by the closed forms of the distribution.
[[nodiscard]] Estimate owned_bytes(const TensorDesc& tensor, const Distribution& where, Index rank);

/// Of a tensor with blocks away, the elements along the first dimension of the rank's tiles that are.
[[nodiscard]] Intervals away_along(const Distribution& where, const Housing& housing, Index rank);
/// Bytes of the rank's blocks that are away; 0 of a tensor at home in memory.
[[nodiscard]] double away_bytes(const TensorDesc& tensor, const Distribution& where, const Housing& housing,
                                Index rank);
/// Of all that a rank keeps in memory of a tensor.
[[nodiscard]] Estimate resident_bytes(const TensorDesc& tensor, const Distribution& where, const Housing& housing,
                                      Index rank);

}  // namespace tdsl::plan::counting
