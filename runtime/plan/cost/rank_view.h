#pragma once

#include <vector>

#include "runtime/plan/cost/products.h"
#include "runtime/plan/op_plan.h"

// Element intervals, per dimension, that one rank needs and owns, computed from the parameters of distributions: the
// basis of the closed forms (cost_model, sent_bytes). Nothing here calls the enumerator or Distribution's owner map.

namespace tdsl::plan::counting {

using Intervals = std::vector<Interval>;

[[nodiscard]] Index total(const Intervals& list);
/// Sorts the list and removes duplicates and empty intervals.
void tidy(Intervals& list);
/// The union of a tidy list, as disjoint intervals.
[[nodiscard]] Intervals merged(const Intervals& list);
/// Elements of the intervals of `list`, each counted separately, inside the disjoint sorted `inside`.
[[nodiscard]] Index measure_inside(const Intervals& list, const Intervals& inside);
/// The intersection of two disjoint sorted lists.
[[nodiscard]] Intervals common(const Intervals& a, const Intervals& b);
/// True if no two distinct intervals of the lists overlap.
[[nodiscard]] bool equal_or_disjoint(const Intervals& a, const Intervals& b);
/// Element intervals of the tiles of dimension d that a rank owns, computed from the distribution's parameters alone.
[[nodiscard]] Intervals owned_intervals(const Distribution& x, Index rank, int d);
/// The same elements as disjoint intervals.
[[nodiscard]] Intervals owned_elements(const Distribution& x, Index rank, int d);

/// True if a rank owns any tile, assuming every dimension has at least one tile per coordinate: the rank is within the
/// grid, including its copies.
[[nodiscard]] bool has_part(const Distribution& x, Index rank);
/// True if two rank numbers have equal coordinates along all of these axes.
[[nodiscard]] bool same_coordinates(const std::vector<GridAxis>& axes, Index a, Index b);
/// True if two ranks read from the same copy: they have equal coordinates along the repeat axes.
[[nodiscard]] bool share_copy(const Distribution& x, Index rank, Index other);

/// Label values whose elements along an output dimension fall into the interval.
[[nodiscard]] Interval preimage(const OutSubscript& s, Interval elements);

/// The inputs of all counts for one operation on one rank.
struct RankView {
  const Op& op;
  const OpPlan& plan;
  std::vector<Intervals> owned_out;  ///< per output dimension
  std::vector<Intervals> label;      ///< per label: one interval per tile of the output; of a reduction, see panels
  std::vector<Index> hit;            ///< per output dimension: owned tiles that are written
  std::vector<bool> busy;            ///< per output dimension: true if every owned tile computes something
  bool exact = true;
  bool works = true;
  Index super_blocks = 1;     ///< product over dimensions
  std::vector<Index> chunks;  ///< super-blocks per output dimension
  /// Per label: the panels of a reduce label, whose values are a single interval in `label` (there may be a million
  /// panels). Null: `label` lists the intervals.
  std::vector<const Tiling*> panels;

  /// The number of intervals of a label, and interval k.
  [[nodiscard]] Index intervals(int l) const {
    const Tiling* cut = panels[static_cast<std::size_t>(l)];
    return cut != nullptr ? cut->tiles() : static_cast<Index>(label[static_cast<std::size_t>(l)].size());
  }
  [[nodiscard]] Interval interval(int l, Index k) const {
    const Intervals& listed = label[static_cast<std::size_t>(l)];
    const Tiling* cut = panels[static_cast<std::size_t>(l)];
    if (cut == nullptr) return listed[static_cast<std::size_t>(k)];
    const Interval panel = cut->tile(k);
    return {listed.front().lo + panel.lo, listed.front().lo + panel.hi};
  }
};

/// View of all tiles of the rank; not for owner tables.
[[nodiscard]] RankView view_of(const Op& op, const OpPlan& plan, Index rank);
/// View of one tile with these elements.
[[nodiscard]] RankView view_of_tile(const Op& op, const OpPlan& plan, const std::vector<Interval>& elements);

/// The hull of the elements of one operand dimension that labels in these intervals access.
[[nodiscard]] Interval touched_by(const DimAccess& dim, const std::vector<Interval>& labels, Index extent);

/// Intervals of one operand dimension that the rank's tasks access.
[[nodiscard]] Intervals touched(const RankView& v, const DimAccess& dim, Index extent);
/// The tiles that the intervals overlap, each once: sized tensors are fetched as whole blocks.
[[nodiscard]] Intervals whole_tiles(const Intervals& list, const Tiling& tiling);

/// The longest tile of every dimension.
[[nodiscard]] std::vector<Index> longest_tiles(const Distribution& x);
/// Bytes of `blocks` blocks of a tensor with `elements` elements in total, no block repeated more than `times` times.
[[nodiscard]] Estimate bytes_of_blocks(const TensorDesc& tensor, const Distribution& where, const Estimate& blocks,
                                       const Estimate& elements, double times = 1);
/// Bytes of all blocks that a rank owns of a tensor; by the closed forms of the distribution.
[[nodiscard]] Estimate owned_bytes(const TensorDesc& tensor, const Distribution& where, Index rank);

/// For a tensor with non-resident blocks: the elements along the first dimension of the rank's non-resident tiles.
[[nodiscard]] Intervals away_along(const Distribution& where, const Housing& housing, Index rank);
/// Bytes of the rank's non-resident blocks; 0 for a tensor stored in memory.
[[nodiscard]] double away_bytes(const TensorDesc& tensor, const Distribution& where, const Housing& housing,
                                Index rank);
/// Bytes that a rank keeps in memory of a tensor.
[[nodiscard]] Estimate resident_bytes(const TensorDesc& tensor, const Distribution& where, const Housing& housing,
                                      Index rank);

}  // namespace tdsl::plan::counting
