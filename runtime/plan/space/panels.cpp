#include <algorithm>

#include "runtime/plan/compressed.h"
#include "runtime/plan/space/placement.h"
#include "runtime/plan/space/placement_parts.h"
#include "runtime/plan/space/tiles.h"

// Cuts of reduce labels: panels, and the number of partial results.

namespace tdsl::plan {

using parts::gathered_bytes;
using parts::plain_dim;
using parts::reduced_dim;

Index PlacementBuilder::parts_wanted(Index output_tiles, Index ranks_used) const {
  if (op_.combine == Combine::kNone || inputs_.threads == 1 || op_.most_split_labels() == 0 || op_.reduce.empty())
    return 1;
  const Index mine = std::max<Index>(1, output_tiles / std::max<Index>(ranks_used, 1));
  if (mine >= inputs_.threads || simple_points_of(op_) / static_cast<double>(ranks_used) < 1 << 18) return 1;
  const Index wanted =
      std::min(ceil_div(parts_per_thread(ranks_used) * inputs_.threads, mine),
               grains(seconds_ / static_cast<double>(std::max<Index>(ranks_used, 1) * mine), inputs_.machine));
  if (wanted < 2) return 1;
  if (inputs_.memory == 0 || op_.outputs.empty()) return wanted;
  const double bytes = static_cast<double>(op_.outputs.front().element.bytes) * elements_of(op_.shape);
  const bool fits = static_cast<double>(wanted) * bytes <= kShareOfParts * static_cast<double>(inputs_.memory);
  return fits ? wanted : 1;
}

// Note [Parts of large results] Every part is an additional result to initialise and add. That is negligible next to
// long sums, but the product of a transposed sparse matrix with a vector makes only a few additions per element: such a
// result gets one part per thread, and none if the parts would fill a memory limit.
Index PlacementBuilder::parts_per_thread(Index ranks_used) const {
  const double flops = points_of(op_) * op_.flops_per_point / static_cast<double>(ranks_used);
  return flops < kFlopsOfPart * elements_of(op_.shape) * static_cast<double>(2 * inputs_.threads) ? 1 : 2;
}

Tiling PlacementBuilder::panels(std::size_t k, Index multiple) const {
  if (cuts_) return cuts_->reduce[k].tiling;
  const int label = op_.reduce[k].label;
  const bool small = op_.labels[idx(label)].from_data && gathered_bytes(op_, label, operands_) < kGatherWhole;
  // Each panel of a gather iterates over all points.
  if (small || (op_.labels[idx(label)].from_data && inputs_.ranks == 1))
    return Tiling::near_equal(op_.labels[idx(label)].range.size(), 1);
  // Non-commutative combinations need row-major order of the labels: only the first label may be cut.
  const bool in_order =
      k > 0 && ((op_.combine == Combine::kNone && op_.op_class == OpClass::kReduce) || assembles(op_));
  // A task sorts the entries of all lists together.
  if (in_order || parts::combined_lists(op_, operands_) != nullptr) {
    return Tiling::near_equal(op_.labels[idx(label)].range.size(), 1);
  }
  const Tiling* chosen = nullptr;
  for (const Access& access : op_.reads) {
    const PlacedTensor* placed = operands_.placed(access.tensor);
    if (placed == nullptr) continue;
    const int d = reduced_dim(op_, access, label, placed->desc);
    if (d < 0) continue;
    // A compressed block cannot be divided: other cuts would move it whole.
    const Tiling& tiling = placed->distribution.tiling(d);
    const bool cut = placed->desc.sized() && tiling.tiles() > 1;
    if (chosen == nullptr || cut) chosen = &tiling;
    if (cut) break;
  }
  if (chosen != nullptr) return *chosen;
  return even_panels(label, multiple);
}

Tiling PlacementBuilder::whole_panels(std::size_t k, Index multiple) const {
  if (!op_.moves || cuts_) return panels(k, multiple);
  return Tiling::near_equal(op_.labels[idx(op_.reduce[k].label)].range.size(), 1);
}

Tiling PlacementBuilder::even_panels(int label, Index multiple) const {
  const Index extent = op_.labels[idx(label)].range.size();
  Index counted = extent;  // at most one row per element
  bool dense = false;      // some operand has an element for every value
  for (const Access& access : op_.reads) {
    const PlacedTensor* const placed = operands_.placed(access.tensor);
    const TensorDesc& tensor = placed != nullptr ? placed->desc : operands_.describe(access.tensor);
    if (tensor.sized() && plain_dim(op_, access, label, tensor) == 0)
      counted = std::min(counted, cut_extents(tensor).front());
    const auto has_label = [&](const auto& term) { return term.label == label; };
    dense = dense || (!tensor.sized() && std::ranges::any_of(access.dims, [&](const DimAccess& dim) {
              return std::ranges::any_of(dim.terms, has_label);
            }));
  }
  counted = dense ? extent : std::max(counted, std::min(extent, multiple));
  Tiling chosen = choose_panels(counted, multiple, longest_edge(label), inputs_.tile);
  if (counted < extent) {
    const Index tiles = ceil_div(std::max(chosen.tiles(), ceil_div(extent, kMostBlockExtent)), multiple) * multiple;
    chosen = inputs_.tile.empty() ? Tiling::near_equal(extent, tiles)
                                  : choose_panels(extent, multiple, longest_edge(label), inputs_.tile);
  }
  const RowCounts* const counts = inputs_.tile.empty() ? counts_along(label) : nullptr;
  return counts != nullptr ? counts->cut(chosen.tiles()) : chosen;
}

const RowCounts* PlacementBuilder::counts_along(int label) const {
  const Interval range = op_.labels[idx(label)].range;
  const auto counts_of = [&](const TensorDesc& tensor) {
    return tensor.rows != nullptr && range.lo == 0 && tensor.rows->rows == range.hi ? tensor.rows.get() : nullptr;
  };
  for (const Access& access : op_.reads) {
    const PlacedTensor* const placed = operands_.placed(access.tensor);
    const TensorDesc& tensor = placed != nullptr ? placed->desc : operands_.describe(access.tensor);
    if (tensor.rows != nullptr && plain_dim(op_, access, label, tensor) == 0) return counts_of(tensor);
  }
  const bool rows = op_.outputs.size() == 1 && !op_.out.empty() && op_.out[0].label == label &&
                    op_.out[0].coefficient == 1 && op_.out[0].constant == 0;
  return rows ? counts_of(op_.outputs.front()) : nullptr;
}

}  // namespace tdsl::plan
