#pragma once

#include <optional>
#include <vector>

#include "runtime/plan/cost/products.h"
#include "runtime/plan/op.h"
#include "runtime/plan/space/layout.h"

// Boxes that ranks have under a layout before dimensions are cut into tiles. Numbers of tiles are multiples of the
// numbers of coordinates that share them, so these are the actual boxes; bytes computed from them equal those of the
// planned operation (plan_overlap tests).

namespace tdsl::plan::counting {

/// A box per sampled rank. A tensor of rank 0 is one point; `has[r]` is false for a rank without a part.
struct Boxes {
  std::size_t dims = 0;
  std::vector<Interval> at;  ///< rank-major
  std::vector<char> has;
  [[nodiscard]] std::size_t ranks() const { return has.size(); }
  [[nodiscard]] const Interval& of(std::size_t rank, std::size_t d) const { return at[rank * dims + d]; }
};

/// The space to cut: extents, and per dimension the prescribed tiles (`--tile`, annotations, `--reproducible`), if any.
struct CutSpace {
  std::vector<Index> extents;
  std::vector<std::optional<Tiling>> tilings;
};

/// The elements of coordinate c out of `coordinates` near-equal shares; whole tiles if the tiling is prescribed.
[[nodiscard]] Interval share(const std::optional<Tiling>& tiling, Index extent, Index coordinates, Index c);

/// The ranks' boxes of a space under a layout.
[[nodiscard]] Boxes shares_of(const CutSpace& space, const Layout& layout, const Mesh& mesh,
                              const std::vector<Index>& ranks);

/// The boxes of an operand that ranks need for their part `work` of the operation's task space (output dimensions, then
/// reduce labels).
[[nodiscard]] Boxes needs_of(const Op& op, const Access& access, const std::vector<Index>& shape, const Boxes& work);

/// Points of the operation's label space in the rank's part of the task space.
[[nodiscard]] double points_of(const Op& op, const Boxes& work, std::size_t rank);

/// Elements of an operand of this shape that the rank's points access, including overhangs.
[[nodiscard]] double touched_elements(const Op& op, const Access& access, const std::vector<Index>& shape,
                                      const Boxes& work, std::size_t rank);

/// The intersection per rank; empty where either box is empty.
[[nodiscard]] Boxes common_boxes(const Boxes& a, const Boxes& b);
/// Number of elements in the intersection of a rank's boxes, over the dimensions of the first; 0 if the rank lacks one.
template <class... More>
[[nodiscard]] double volume(std::size_t rank, const Boxes& first, const More&... more) {
  if (first.has[rank] == 0 || ((more.has[rank] == 0) || ...)) return 0;
  return volume_over(first.dims, [&](std::size_t d) {
    Interval both = first.of(rank, d);
    ((both = intersect(both, more.of(rank, d))), ...);
    return both.size();
  });
}

}  // namespace tdsl::plan::counting
