#pragma once

#include <vector>

#include "runtime/plan/space/index.h"

namespace tdsl::plan {

/// An axis of the mesh: `size` coordinates, each `stride` ranks from the next.
struct MeshAxis {
  Index size = 1;
  Index stride = 1;
  bool inside_node = false;  ///< ranks that differ along this axis only are on one node
  friend bool operator==(const MeshAxis&, const MeshAxis&) = default;
};

/// All ranks as a box of coordinates: a rank is the sum of its coordinates times their axes' strides. 12 ranks as 2 x 2
/// x 3 have axes {2, 6}, {2, 3}, {3, 1}. Layouts give axes to dimensions (layout.h), so rows, grids and replicated
/// forms are all assignments of axes.
struct Mesh {
  std::vector<MeshAxis> axes;

  [[nodiscard]] Index ranks() const;
  [[nodiscard]] Index coordinate(Index rank, std::size_t axis) const {
    return rank / axes[axis].stride % axes[axis].size;
  }
  friend bool operator==(const Mesh&, const Mesh&) = default;
};

/// The most axes a mesh has.
inline constexpr std::size_t kMeshAxes = 3;

/// Meshes of `ranks` ranks with at most kMeshAxes axes that are no coarsening of another: 16 ranks are 2 x 2 x 4 (which
/// has 4 x 4 and 2 x 8 among its assignments), 64 ranks are 2 x 2 x 16, 2 x 4 x 8 and 4 x 4 x 4. One rank has a mesh
/// without axes. Where ranks fill several nodes (`ranks_per_node` > 1 divides `ranks`), every axis lies within nodes or
/// between them, those within having the smaller strides. Sizes ascend, between nodes first; the order of the meshes is
/// fixed.
[[nodiscard]] std::vector<Mesh> meshes_of(Index ranks, Index ranks_per_node);

}  // namespace tdsl::plan
