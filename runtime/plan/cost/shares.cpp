#include "runtime/plan/cost/shares.h"

#include <algorithm>
#include <utility>

#include "runtime/plan/cost/rank_view.h"

namespace tdsl::plan::counting {

namespace {

/// The interval of every label for one rank; false if the rank computes nothing.
bool label_intervals(const Op& op, const Boxes& work, std::size_t rank, std::vector<Interval>& labels) {
  if (!work.has[rank]) return false;
  labels.clear();
  for (const LabelDesc& label : op.labels) labels.push_back(label.range);
  for (std::size_t d = 0; d < op.shape.size(); ++d) {
    const OutSubscript& s = op.out[d];
    const Interval mine = work.of(rank, d);
    if (mine.empty()) return false;
    if (s.label < 0) continue;
    Interval& label = labels[idx(s.label)];
    label = intersect(label, preimage(s, mine));
    if (label.empty()) return false;
  }
  for (std::size_t k = 0; k < op.reduce.size(); ++k) {
    const Interval part = work.of(rank, op.shape.size() + k);
    Interval& label = labels[idx(op.reduce[k].label)];
    label = {label.lo + part.lo, label.lo + part.hi};
    if (label.empty()) return false;
  }
  return true;
}

Boxes nothing(std::size_t ranks, std::size_t dims) {
  Boxes boxes;
  boxes.dims = dims;
  boxes.at.resize(ranks * dims);
  boxes.has.assign(ranks, 0);
  return boxes;
}

/// Boxes of ranks in columns; blocks of other maps are no boxes, and stand for the whole space.
Boxes shares_of_map(const CutSpace& space, const BlockMap& map, const std::vector<Index>& ranks) {
  Boxes boxes = nothing(ranks.size(), space.extents.size());
  boxes.has.assign(ranks.size(), 1);
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    for (std::size_t d = 0; d < boxes.dims; ++d) {
      Interval& mine = boxes.at[r * boxes.dims + d];
      mine = {0, space.extents[d]};
      if (!map.columns || d >= map.blocks.size()) continue;
      const Tiling tiling = space.tilings[d].value_or(Tiling::near_equal(space.extents[d], map.blocks[d]));
      const Interval tiles = map.columns->tiles_of(ranks[r], static_cast<int>(d), tiling.tiles());
      mine = tiles.empty() ? Interval{} : Interval{tiling.tile(tiles.lo).lo, tiling.tile(tiles.hi - 1).hi};
    }
  }
  return boxes;
}

}  // namespace

Interval share(const std::optional<Tiling>& tiling, Index extent, Index coordinates, Index c) {
  if (coordinates == 1) return {0, extent};
  if (!tiling) return {c * extent / coordinates, (c + 1) * extent / coordinates};
  const Index tiles = tiling->tiles();
  const Index q = std::max<Index>(1, ceil_div(tiles, coordinates));
  if (c * q >= tiles) return {};
  return {tiling->tile(c * q).lo, tiling->tile(std::min((c + 1) * q, tiles) - 1).hi};
}

Boxes shares_of(const CutSpace& space, const Layout& layout, const Mesh& mesh, const std::vector<Index>& ranks) {
  if (layout.map) return shares_of_map(space, *layout.map, ranks);
  Boxes boxes = nothing(ranks.size(), space.extents.size());
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    if (!takes_part(mesh, layout, ranks[r])) continue;
    boxes.has[r] = 1;
    for (std::size_t d = 0; d < boxes.dims; ++d) {
      boxes.at[r * boxes.dims + d] = share(space.tilings[d], space.extents[d], coordinates(mesh, layout.cut[d]),
                                           coordinate(mesh, layout.cut[d], ranks[r]));
    }
  }
  return boxes;
}

Boxes needs_of(const Op& op, const Access& access, const std::vector<Index>& shape, const Boxes& work) {
  Boxes boxes = nothing(work.ranks(), shape.size());
  std::vector<Interval> labels;
  for (std::size_t r = 0; r < work.ranks(); ++r) {
    if (!label_intervals(op, work, r, labels)) continue;
    boxes.has[r] = 1;
    for (std::size_t d = 0; d < shape.size(); ++d)
      boxes.at[r * boxes.dims + d] = touched_by(access.dims[d], labels, shape[d]);
  }
  return boxes;
}

double points_of(const Op& op, const Boxes& work, std::size_t rank) {
  std::vector<Interval> labels;
  if (!label_intervals(op, work, rank, labels)) return 0;
  return volume_over(labels.size(), [&](std::size_t l) { return op.labels[l].from_data ? 1 : labels[l].size(); });
}

double touched_elements(const Op& op, const Access& access, const std::vector<Index>& shape, const Boxes& work,
                        std::size_t rank) {
  std::vector<Interval> labels;
  if (!label_intervals(op, work, rank, labels)) return 0;
  return volume_over(access.dims.size(),
                     [&](std::size_t d) { return touched_by(access.dims[d], labels, shape[d]).size(); });
}

Boxes common_boxes(const Boxes& a, const Boxes& b) {
  Boxes boxes = nothing(a.ranks(), a.dims);
  for (std::size_t r = 0; r < a.ranks(); ++r) {
    boxes.has[r] = a.has[r] != 0 && b.has[r] != 0 ? 1 : 0;
    for (std::size_t d = 0; boxes.has[r] != 0 && d < a.dims; ++d)
      boxes.at[r * a.dims + d] = intersect(a.of(r, d), b.of(r, d));
  }
  return boxes;
}

CommonVolumes::CommonVolumes(const std::vector<const Boxes*>& left, const std::vector<const Boxes*>& right,
                             std::size_t dims) {
  if (!left.empty()) ranks_ = left.front()->ranks();
  for (const Boxes* boxes : left) left_has_.push_back(boxes->has);
  for (const Boxes* boxes : right) right_has_.push_back(boxes->has);
  for (std::size_t d = 0; d < dims; ++d) {
    Dim dim{side_of(left, d, ranks_), side_of(right, d, ranks_), {}};
    dim.common.resize(dim.left.columns.size() * dim.right.columns.size());
    dims_.push_back(std::move(dim));
  }
}

CommonVolumes::Side CommonVolumes::side_of(const std::vector<const Boxes*>& boxes, std::size_t d, std::size_t ranks) {
  Side side;
  for (const Boxes* box : boxes) {
    Column column;
    for (std::size_t r = 0; r < ranks; ++r) column.push_back(box->of(r, d));
    const auto known = std::find(side.columns.begin(), side.columns.end(), column);
    side.column_of.push_back(static_cast<std::size_t>(known - side.columns.begin()));
    if (known == side.columns.end()) side.columns.push_back(std::move(column));
  }
  return side;
}

const std::vector<double>& CommonVolumes::common(Dim& dim, std::size_t l, std::size_t r) {
  const std::size_t left = dim.left.column_of[l], right = dim.right.column_of[r];
  std::vector<double>& sizes = dim.common[left * dim.right.columns.size() + right];
  if (!sizes.empty()) return sizes;
  const Column& a = dim.left.columns[left];
  const Column& b = dim.right.columns[right];
  for (std::size_t k = 0; k < a.size(); ++k) sizes.push_back(static_cast<double>(intersect(a[k], b[k]).size()));
  return sizes;
}

void CommonVolumes::of(std::size_t l, std::size_t r, std::vector<double>& volumes) {
  volumes.resize(ranks_);
  const std::vector<char>& left = left_has_[l];
  const std::vector<char>& right = right_has_[r];
  for (std::size_t k = 0; k < ranks_; ++k) volumes[k] = left[k] != 0 && right[k] != 0 ? 1.0 : 0.0;
  for (Dim& dim : dims_) {
    const std::vector<double>& sizes = common(dim, l, r);
    for (std::size_t k = 0; k < ranks_; ++k) volumes[k] *= sizes[k];
  }
}

}  // namespace tdsl::plan::counting
