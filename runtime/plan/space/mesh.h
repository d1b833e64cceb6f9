#pragma once

#include <vector>

#include "runtime/plan/space/index.h"

namespace tdsl::plan {

/// An axis of a grid of ranks: `size` coordinates, `stride` ranks apart.
struct GridAxis {
  Index size = 1;
  Index stride = 1;
  /// The rank's coordinate along the axis.
  [[nodiscard]] Index coordinate(Index rank) const { return rank / stride % size; }
  friend bool operator==(const GridAxis&, const GridAxis&) = default;
};

/// An axis of the mesh.
struct MeshAxis : GridAxis {
  bool inside_node = false;  ///< ranks that differ only along this axis share a node
  friend bool operator==(const MeshAxis&, const MeshAxis&) = default;
};

/// All ranks as a box of coordinates: a rank is the sum of its coordinates times their axes' strides. 12 ranks as 2 x 2
/// x 3 have axes {2, 6}, {2, 3}, {3, 1}. Layouts assign axes to dimensions (layout.h), so row, grid and replicated
/// layouts are all assignments of axes.
struct Mesh {
  std::vector<MeshAxis> axes;

  [[nodiscard]] Index ranks() const;
  friend bool operator==(const Mesh&, const Mesh&) = default;
};

/// Limit on the axes of a mesh.
inline constexpr std::size_t kMeshAxes = 3;

/// Meshes of `ranks` ranks with at most kMeshAxes axes that do not coarsen another mesh: 16 ranks are 2 x 2 x 4 (whose
/// assignments include 4 x 4 and 2 x 8), 64 ranks are 2 x 2 x 16, 2 x 4 x 8 and 4 x 4 x 4. One rank has a mesh without
/// axes. If ranks fill several nodes (`ranks_per_node` > 1 divides `ranks`), every axis is within nodes or between
/// them, and axes within nodes have the smaller strides. Sizes ascend, between nodes first; the order of the meshes is
/// fixed.
[[nodiscard]] std::vector<Mesh> meshes_of(Index ranks, Index ranks_per_node);

}  // namespace tdsl::plan
