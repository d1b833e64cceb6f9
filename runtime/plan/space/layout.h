#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/space/block_map.h"
#include "runtime/plan/space/distribution.h"
#include "runtime/plan/space/mesh.h"

namespace tdsl::plan {

/// Axes of the mesh along which a dimension is cut, most significant first. The order matters: on 2 x 2 ranks, `ab`
/// gives the quarters of a dimension to ranks 0 1 2 3, `ba` to ranks 0 2 1 3.
using Axes = std::vector<std::int8_t>;

/// The part of a tensor, or of an operation's task space, that each rank has, independent of tiles: every dimension is
/// cut into as many near-equal shares as its axes have coordinates.
///   - no axes: all of it on rank `home`, or, if `repeated`, on every rank;
///   - unassigned axes: only ranks with coordinate 0 along them have a part, or, if `repeated`, every coordinate along
///     them has a copy (or does the same work): on 2 x 2 x 2 ranks, `i0:a i1:b repeated` gives each quarter of a
///     matrix to two ranks;
///   - `map`: a map of blocks to ranks instead of axes. A map of an operation's task space may omit reduce labels,
///     which are then not split.
struct Layout {
  std::vector<Axes> cut;  ///< one entry per dimension
  bool repeated = false;
  Index home = 0;
  std::optional<BlockMap> map;

  [[nodiscard]] bool whole() const;  ///< all of it is in one place
  friend bool operator==(const Layout&, const Layout&) = default;
};

/// The layout with every rank replaced by (rank + shift) mod ranks. Cuts along axes stay: they use all ranks.
[[nodiscard]] Layout turned(Layout layout, Index shift, Index ranks);

/// Number of ranks along a dimension.
[[nodiscard]] Index coordinates(const Mesh& mesh, const Axes& axes);
/// Number of near-equal shares of a dimension, or of a map's blocks.
[[nodiscard]] Index shares_along(const Mesh& mesh, const Layout& layout, std::size_t d);
/// The rank's coordinate along a dimension.
[[nodiscard]] Index coordinate(const Mesh& mesh, const Axes& axes, Index rank);
/// True if the rank has a part at all.
[[nodiscard]] bool takes_part(const Mesh& mesh, const Layout& layout, Index rank);
/// A distribution's dimension with these axes; q is left at 1.
[[nodiscard]] GridDim grid_dim(const Mesh& mesh, const Axes& axes);
/// The axes along which a distribution with this layout has copies: none unless it is `repeated`.
[[nodiscard]] std::vector<GridAxis> repeat_axes(const Mesh& mesh, const Layout& layout);

/// All assignments of all axes to dimensions, with at most `most[d]` shares of dimension d and every order of the axes
/// of a dimension. If extents are too small for all axes, the assignments that use the most ranks; never empty (at
/// least all of it on rank 0).
[[nodiscard]] std::vector<Layout> spread_layouts(const Mesh& mesh, const std::vector<Index>& most);

/// Layouts of copies: all assignments of some but not all axes to dimensions, in ascending order, with a copy for every
/// coordinate along the others; `everywhere` first.
[[nodiscard]] std::vector<Layout> copy_layouts(const Mesh& mesh, const std::vector<Index>& most);

/// `i0:ab i1:c`, `i0:ab repeated`, `everywhere`, `home 3`, and maps as block_map.h prints them. Axes are called a, b,
/// c.
[[nodiscard]] std::string text_of(const Layout& layout, const std::vector<std::string>& names);
/// Parses the output of text_of for dimensions of these names; nothing if the text is malformed.
[[nodiscard]] std::optional<Layout> parse_layout(std::string_view text, const std::vector<std::string>& names,
                                                 const Mesh& mesh);

}  // namespace tdsl::plan
