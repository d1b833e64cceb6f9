#include "runtime/plan/space/layout.h"

#include <algorithm>
#include <charconv>
#include <functional>

namespace tdsl::plan {

bool Layout::whole() const {
  return !map && std::all_of(cut.begin(), cut.end(), [](const Axes& axes) { return axes.empty(); });
}

Layout turned(Layout layout, Index shift, Index ranks) {
  if (layout.map) {
    layout.map->first = layout.map->cyclic() ? (layout.map->first + shift) % ranks : layout.map->first;
    for (std::int32_t& owner : layout.map->owners) owner = static_cast<std::int32_t>((owner + shift) % ranks);
  } else if (layout.whole() && !layout.repeated) {
    layout.home = (layout.home + shift) % ranks;
  }
  return layout;
}

Index coordinates(const Mesh& mesh, const Axes& axes) {
  Index n = 1;
  for (const std::int8_t axis : axes) n *= mesh.axes[static_cast<std::size_t>(axis)].size;
  return n;
}

Index shares_along(const Mesh& mesh, const Layout& layout, std::size_t d) {
  if (!layout.map) return coordinates(mesh, layout.cut[d]);
  return d < layout.map->blocks.size() ? layout.map->blocks[d] : 1;
}

Index coordinate(const Mesh& mesh, const Axes& axes, Index rank) {
  Index at = 0;
  for (const std::int8_t axis : axes) {
    const auto a = static_cast<std::size_t>(axis);
    at = at * mesh.axes[a].size + mesh.axes[a].coordinate(rank);
  }
  return at;
}

namespace {

/// True if some dimension is cut along the axis.
bool is_cut_along(const Layout& layout, std::size_t axis) {
  return std::any_of(layout.cut.begin(), layout.cut.end(), [axis](const Axes& axes) {
    return std::find(axes.begin(), axes.end(), static_cast<std::int8_t>(axis)) != axes.end();
  });
}

}  // namespace

bool takes_part(const Mesh& mesh, const Layout& layout, Index rank) {
  if (layout.repeated || layout.map) return true;
  if (layout.whole()) return rank == layout.home;
  for (std::size_t a = 0; a < mesh.axes.size(); ++a) {
    if (!is_cut_along(layout, a) && mesh.axes[a].coordinate(rank) != 0) return false;
  }
  return true;
}

std::vector<GridAxis> repeat_axes(const Mesh& mesh, const Layout& layout) {
  if (layout.repeated && layout.whole()) return {{mesh.ranks(), 1}};
  std::vector<GridAxis> repeat;
  for (std::size_t a = 0; layout.repeated && a < mesh.axes.size(); ++a) {
    if (!is_cut_along(layout, a)) repeat.push_back(mesh.axes[a]);
  }
  return repeat;
}

GridDim grid_dim(const Mesh& mesh, const Axes& axes) {
  GridDim dim;
  for (const std::int8_t axis : axes) dim.axes.push_back(mesh.axes[static_cast<std::size_t>(axis)]);
  return dim;
}

std::vector<Layout> spread_layouts(const Mesh& mesh, const std::vector<Index>& most) {
  std::vector<Layout> found;
  Index ranks_used = 0;
  std::vector<Axes> cut(most.size());
  // Every axis is inserted at some position of a dimension's list, or dropped: this gives lists in all orders, each
  // once.
  const std::function<void(std::size_t, Index)> give = [&](std::size_t axis, Index used) {
    if (axis == mesh.axes.size()) {
      if (used < ranks_used) return;
      if (used > ranks_used) found.clear();
      ranks_used = used;
      found.push_back({cut, false, 0, std::nullopt});
      return;
    }
    const Index size = mesh.axes[axis].size;
    for (std::size_t d = 0; d < cut.size(); ++d) {
      if (coordinates(mesh, cut[d]) * size > most[d]) continue;
      for (std::size_t at = 0; at <= cut[d].size(); ++at) {
        cut[d].insert(cut[d].begin() + static_cast<std::ptrdiff_t>(at), static_cast<std::int8_t>(axis));
        give(axis + 1, used * size);
        cut[d].erase(cut[d].begin() + static_cast<std::ptrdiff_t>(at));
      }
    }
    give(axis + 1, used);
  };
  give(0, 1);
  return found;
}

std::vector<Layout> copy_layouts(const Mesh& mesh, const std::vector<Index>& most) {
  std::vector<Layout> found;
  std::vector<Axes> cut(most.size());
  const std::function<void(std::size_t, std::size_t)> give = [&](std::size_t axis, std::size_t given) {
    if (axis == mesh.axes.size()) {
      if (given < mesh.axes.size()) found.push_back({cut, true, 0, std::nullopt});
      return;
    }
    give(axis + 1, given);
    for (std::size_t d = 0; d < cut.size(); ++d) {
      if (coordinates(mesh, cut[d]) * mesh.axes[axis].size > most[d]) continue;
      cut[d].push_back(static_cast<std::int8_t>(axis));
      give(axis + 1, given + 1);
      cut[d].pop_back();
    }
  };
  give(0, 0);
  return found;
}

std::string text_of(const Layout& layout, const std::vector<std::string>& names) {
  if (layout.map) return text_of(*layout.map, names);
  if (layout.whole()) return layout.repeated ? "everywhere" : "home " + std::to_string(layout.home);
  std::string text;
  for (std::size_t d = 0; d < layout.cut.size(); ++d) {
    if (layout.cut[d].empty()) continue;
    text += (text.empty() ? "" : " ") + names[d] + ':';
    for (const std::int8_t axis : layout.cut[d]) text += static_cast<char>('a' + axis);
  }
  return layout.repeated ? text + " repeated" : text;
}

namespace {

std::optional<Index> number_in(std::string_view text) {
  Index value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

std::optional<int> dimension_called(std::string_view name, const std::vector<std::string>& names) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<int>(found - names.begin());
}

}  // namespace

std::optional<Layout> parse_layout(std::string_view text, const std::vector<std::string>& names, const Mesh& mesh) {
  Layout layout;
  layout.cut.resize(names.size());
  if (text == "everywhere") {
    layout.repeated = true;
    return layout;
  }
  if (text.starts_with("home ")) {
    const auto home = number_in(text.substr(5));
    if (!home) return std::nullopt;
    layout.home = *home;
    return layout;
  }
  layout.map = parse_block_map(text, names, mesh.ranks());
  if (layout.map) return layout;
  std::vector<bool> used(mesh.axes.size(), false);
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (word == "repeated" && !layout.whole()) {
      layout.repeated = true;
      return text.empty() ? std::optional(layout) : std::nullopt;
    }
    const std::size_t colon = word.rfind(':');
    if (colon == std::string_view::npos || colon + 1 == word.size()) return std::nullopt;
    const auto d = dimension_called(word.substr(0, colon), names);
    if (!d || !layout.cut[static_cast<std::size_t>(*d)].empty()) return std::nullopt;
    for (const char c : word.substr(colon + 1)) {
      const auto axis = static_cast<std::size_t>(c - 'a');
      if (c < 'a' || axis >= used.size() || used[axis]) return std::nullopt;
      used[axis] = true;
      layout.cut[static_cast<std::size_t>(*d)].push_back(static_cast<std::int8_t>(axis));
    }
  }
  return layout;
}

}  // namespace tdsl::plan
