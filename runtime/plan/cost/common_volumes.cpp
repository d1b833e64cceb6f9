#include "runtime/plan/cost/common_volumes.h"

#include <algorithm>
#include <utility>

namespace tdsl::plan::counting {

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
