#pragma once

#include <cstddef>
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

/// Volumes of the pairwise intersections of two lists of boxes, rank by rank: common_volume() for large numbers of
/// pairs. Boxes are products of intervals, and a few distinct interval columns make up many boxes, so the intersection
/// of two columns is computed once.
class CommonVolumes {
 public:
  /// Both lists have at least `dims` dimensions over the same ranks; further dimensions are ignored. The lists are not
  /// retained.
  CommonVolumes(const std::vector<const Boxes*>& left, const std::vector<const Boxes*>& right, std::size_t dims);

  /// Volumes per rank for left box `l` and right box `r`; 0 where either is empty.
  void of(std::size_t l, std::size_t r, std::vector<double>& volumes);

 private:
  using Column = std::vector<Interval>;  ///< one dimension, per rank
  struct Side {
    std::vector<std::size_t> column_of;  ///< per box
    std::vector<Column> columns;
  };
  struct Dim {
    Side left, right;
    std::vector<std::vector<double>> common;  ///< per pair of columns and rank; empty: not computed yet
  };
  [[nodiscard]] static Side side_of(const std::vector<const Boxes*>& boxes, std::size_t d, std::size_t ranks);
  [[nodiscard]] static const std::vector<double>& common(Dim& dim, std::size_t l, std::size_t r);

  std::size_t ranks_ = 0;
  std::vector<std::vector<char>> left_has_, right_has_;
  std::vector<Dim> dims_;
};

}  // namespace tdsl::plan::counting
