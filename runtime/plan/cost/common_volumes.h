#pragma once

#include <cstddef>
#include <vector>

#include "runtime/plan/cost/shares.h"

namespace tdsl::plan::counting {

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
