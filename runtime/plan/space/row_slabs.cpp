#include "runtime/plan/space/row_slabs.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace tdsl::plan {

namespace {

/// The coordinates of all ranks that have a part, with dimension `first` varying slowest: neighbours along it stay
/// neighbours.
std::vector<GridAxis> all_axes(const Distribution& where, std::size_t first) {
  if (!where.by_axes()) return {{where.ranks(), 1}};
  std::vector<GridAxis> axes = where.grid_dims()[first].axes;
  for (std::size_t d = 0; d < where.grid_dims().size(); ++d) {
    const std::vector<GridAxis>& inner = where.grid_dims()[d].axes;
    if (d != first) axes.insert(axes.end(), inner.begin(), inner.end());
  }
  return axes;
}

}  // namespace

std::optional<Distribution> row_slabs(const TensorDesc& tensor, const Distribution& where, Index tile_bytes) {
  if (where.everywhere() || tensor.shape.empty() || tensor.elements() == 0) return std::nullopt;
  GridDim cut;
  std::size_t d = 0;  // the first cut dimension: those before it have tiles of one element, those after it are whole
  for (; d < tensor.shape.size(); ++d) {
    cut.axes = all_axes(where, d);
    if (tensor.shape[d] >= cut.size()) break;
  }
  const Index writers = cut.size();
  if (d == tensor.shape.size() || writers == 1) return std::nullopt;
  std::vector<Tiling> tilings;
  Index row = tensor.element.bytes;
  for (std::size_t k = 0; k < tensor.shape.size(); ++k) {
    tilings.push_back(k < d ? Tiling::fixed(tensor.shape[k], 1) : Tiling::near_equal(tensor.shape[k], 1));
    if (k > d) row *= tensor.shape[k];
  }
  const Index rows = ceil_div(tensor.shape[d], writers);
  cut.q = std::clamp<Index>(ceil_div(rows, std::max<Index>(1, tile_bytes / row)), 1, tensor.shape[d] / writers);
  tilings[d] = Tiling::near_equal(tensor.shape[d], writers * cut.q);
  std::vector<GridDim> dims(tensor.shape.size());
  dims[d] = std::move(cut);
  return Distribution::grid(where.ranks(), std::move(tilings), std::move(dims), where.home());
}

}  // namespace tdsl::plan
