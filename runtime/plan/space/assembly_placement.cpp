#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/plan/space/placement.h"
#include "runtime/plan/space/placement_parts.h"

// Partial results of assemblies and transpositions: lists of entries.

namespace tdsl::plan {

/// Note [Assemblies] A compressed tensor is assembled from points with computed positions: `K[row[e], col[e]] +=
/// val[e]`. Ranks that share the points keep their values as lists of entries, a list per tile of the result. The lists
/// are pieces like any block; the owner of a tile concatenates those of all parts in order, sorts the entries by their
/// coordinates, stably, and combines the values of each element. So the bits do not depend on the number of parts. A
/// transposition (Op::moves) is an assembly if it is split: then a rank receives the elements of its columns, not all.
void PlacementBuilder::list_entries(const ReduceChoice& parts, TensorDesc& output) const {
  const double label = static_cast<double>(std::max<Index>(parts.tiling.extent(), 1));
  const double points = points_of(op_);
  const double largest = static_cast<double>(parts.tiling.longest() * parts.per_part) / label * points;
  const double count = static_cast<double>(ceil_div(parts.tiling.tiles(), parts.per_part));
  output.stored =
      op_.moves ? Estimate{0, entries_of(op_), output.stored.hi} : Estimate{0, points, std::ceil(largest * count)};
  output.storage = entry_lists(op_.shape.size());
  output.rows = nullptr;
  if (!output.uncut.empty()) output.uncut.insert(output.uncut.begin(), false);
}

/// The rows of lists are cut for all ranks, among which the combination shares them.
std::vector<Index> PlacementBuilder::list_tiles(std::vector<Index> multiple,
                                                const std::vector<Index>& reduce_shares) const {
  if (assembles(op_) && parts::split_labels(reduce_shares) > 0)
    multiple.front() = std::lcm(multiple.front(), inputs_.ranks);
  return multiple;
}

/// The tiles of an assembly are those of its lists, so that each list has one reader.
void PlacementBuilder::adopt_lists(const std::vector<Index>& multiple, std::vector<Tiling>& tilings) const {
  const PlacedTensor* const lists = parts::combined_lists(op_, operands_);
  if (lists == nullptr) return;
  const int first = lists->distribution.rank() - op_.out_rank();
  for (int d = 0; d < op_.out_rank(); ++d) {
    const Tiling& tiling = lists->distribution.tiling(first + d);
    if (tiling.tiles() % multiple[idx(d)] == 0) tilings[idx(d)] = tiling;
  }
}

}  // namespace tdsl::plan
