#include "ir/algebra/layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "ir/algebra/error.h"

namespace tdsl::ir::algebra {

Layout::Layout(int axes, std::vector<Cut> cuts, std::vector<int> loose_axes)
    : axes_(axes), cuts_(std::move(cuts)), loose_(std::move(loose_axes)) {
  std::erase_if(cuts_, [](const Cut& c) { return c.axes.empty(); });
  std::ranges::sort(cuts_, {}, [](const Cut& c) { return c.axes.front(); });
  std::ranges::sort(loose_);
  std::set<int> seen;
  const auto check = [&](int axis) {
    if (axis < 0 || axis >= axes_ || !seen.insert(axis).second)
      throw AlgebraError("a layout names an axis twice or one that the mesh does not have");
  };
  for (const Cut& cut : cuts_) std::ranges::for_each(cut.axes, check);
  std::ranges::for_each(loose_, check);
}

Layout Layout::all(int axes) { return {axes, {}, {}}; }
Layout Layout::part(Dims dims, int axes) {
  return {axes, {{all_dims(static_cast<std::size_t>(axes)), std::move(dims)}}, {}};
}
Layout Layout::loose(int axes) { return {axes, {}, all_dims(static_cast<std::size_t>(axes))}; }

const Cut* Layout::cut_of(int axis) const {
  const auto found = std::ranges::find_if(cuts_, [&](const Cut& c) { return position_of(c.axes, axis).has_value(); });
  return found == cuts_.end() ? nullptr : &*found;
}

bool Layout::is_loose(int axis) const { return position_of(loose_, axis).has_value(); }

Dims Layout::cut_dims() const {
  std::set<int> dims;
  for (const Cut& cut : cuts_) dims.insert(cut.dims.begin(), cut.dims.end());
  return {dims.begin(), dims.end()};
}

Index Layout::copies(const Mesh& mesh) const {
  Index copies = 1;
  for (int axis = 0; axis < axes_; ++axis) copies *= is_copied(axis) ? mesh.sizes[static_cast<std::size_t>(axis)] : 1;
  return copies;
}

Layout Layout::renamed(const std::vector<std::optional<int>>& after) const {
  std::vector<Cut> cuts;
  std::vector<int> loose = loose_;
  for (Cut cut : cuts_) {
    const auto new_dim = [&](int dim) { return after[static_cast<std::size_t>(dim)]; };
    if (std::ranges::all_of(cut.dims, [&](int dim) { return new_dim(dim).has_value(); })) {
      std::ranges::transform(cut.dims, cut.dims.begin(), [&](int dim) { return *new_dim(dim); });
      cuts.push_back(std::move(cut));
    } else {
      loose.insert(loose.end(), cut.axes.begin(), cut.axes.end());
    }
  }
  return {axes_, std::move(cuts), std::move(loose)};
}

std::string axes_text(const std::vector<int>& axes) {
  std::string text;
  for (const int axis : axes) text += static_cast<char>('a' + axis);
  return text;
}

std::string layout_text(const Layout& layout) {
  if (layout.axes() == 1) {
    if (layout.is_all()) return "all";
    return layout.cuts().empty() ? "loose" : "part " + dims_text(layout.cuts().front().dims);
  }
  std::string text = "mesh " + axes_text(all_dims(static_cast<std::size_t>(layout.axes())));
  for (const Cut& cut : layout.cuts())
    text += fmt::format(" part [{}:{}]", fmt::join(cut.dims, ", "), axes_text(cut.axes));
  if (!layout.loose_axes().empty()) text += " loose " + axes_text(layout.loose_axes());
  return text;
}

}  // namespace tdsl::ir::algebra
