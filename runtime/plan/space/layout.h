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

/// Axes of the mesh along which a dimension is cut, most significant first. The order is part of the layout: of 2 x 2
/// ranks, `ab` gives the quarters of a dimension to ranks 0 1 2 3, `ba` to ranks 0 2 1 3.
using Axes = std::vector<std::int8_t>;

/// Who has which part of a tensor, or does which part of an operation's task space, without saying how it is cut into
/// tiles: every dimension is cut in as many near-equal shares as its axes have coordinates.
///   - no axis anywhere: all of it on rank `home`, or, `repeated`, on every rank;
///   - axes in no dimension: only ranks with coordinate 0 along them have a part, or, `repeated`, every coordinate
///   along them has a copy
///     (or does the same work): of 2 x 2 x 2 ranks, `i0:a i1:b repeated` gives each quarter of a matrix to two ranks;
///   - `columns`: a column map instead of axes;
///   - `map`: blocks dealt out one by one. That of an operation's task space may leave out reduce labels, which are not
///   split then.
struct Layout {
  std::vector<Axes> cut;  ///< one entry per dimension
  bool repeated = false;
  Index home = 0;
  std::optional<ColumnMap> columns;
  std::optional<BlockMap> map{};

  [[nodiscard]] bool whole() const;  ///< all of it is at one place
  friend bool operator==(const Layout&, const Layout&) = default;
};

/// Ranks along a dimension.
[[nodiscard]] Index coordinates(const Mesh& mesh, const Axes& axes);
/// The rank's coordinate along a dimension.
[[nodiscard]] Index coordinate(const Mesh& mesh, const Axes& axes, Index rank);
/// Whether the rank has a part at all.
[[nodiscard]] bool takes_part(const Mesh& mesh, const Layout& layout, Index rank);
/// As a dimension of a distribution: its axes; q is left at 1.
[[nodiscard]] GridDim grid_dim(const Mesh& mesh, const Axes& axes);
/// The axes along which a distribution with this layout has copies: none unless it is `repeated`.
[[nodiscard]] std::vector<GridAxis> repeat_axes(const Mesh& mesh, const Layout& layout);

/// Every way to give all axes to dimensions, `most[d]` being the most shares that dimension d has, every order of the
/// axes of a dimension included. Where extents are too small for all axes, the ways that use the most ranks; never
/// empty (all of it on rank 0).
[[nodiscard]] std::vector<Layout> spread_layouts(const Mesh& mesh, const std::vector<Index>& most);

/// Layouts of copies: every way to give some axes, but not all, to dimensions, in ascending order, with a copy for
/// every coordinate along the others; `everywhere` first.
[[nodiscard]] std::vector<Layout> copy_layouts(const Mesh& mesh, const std::vector<Index>& most);

/// `i0:ab i1:c`, `i0:ab repeated`, `everywhere`, `home 3`, `columns 2 (i0, i1)`, and maps as block_map.h prints them:
/// axes are called a, b, c.
[[nodiscard]] std::string text_of(const Layout& layout, const std::vector<std::string>& names);
/// Reads what text_of printed for dimensions of these names; nothing if the text is malformed.
[[nodiscard]] std::optional<Layout> parse_layout(std::string_view text, const std::vector<std::string>& names,
                                                 std::size_t mesh_axes);

}  // namespace tdsl::plan
