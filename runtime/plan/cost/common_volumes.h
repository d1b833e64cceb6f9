#pragma once

#include <cstddef>
#include <vector>

#include "runtime/plan/cost/shares.h"

namespace tdsl::plan::counting {

/// Elements that boxes of one list have in common with boxes of another, rank by rank: common_volume() of very many
/// pairs. Boxes are products, and few different columns of intervals make up many boxes: what two columns have in
/// common is found once.
class CommonVolumes {
 public:
  /// Both lists hold at least `dims` dimensions of the same ranks; further ones count for nothing. The lists are not
  /// kept.
  CommonVolumes(const std::vector<const Boxes*>& left, const std::vector<const Boxes*>& right, std::size_t dims);

  /// Per rank, for left box `l` and right box `r`; 0 where one of them has nothing.
  void of(std::size_t l, std::size_t r, std::vector<double>& volumes);

 private:
  using Column = std::vector<Interval>;  ///< of one dimension, per rank
  struct Side {
    std::vector<std::size_t> column_of;  ///< per box
    std::vector<Column> columns;
  };
  struct Dim {
    Side left, right;
    std::vector<std::vector<double>> common;  ///< per pair of columns and rank; empty: not asked for yet
  };
  [[nodiscard]] static Side side_of(const std::vector<const Boxes*>& boxes, std::size_t d, std::size_t ranks);
  [[nodiscard]] static const std::vector<double>& common(Dim& dim, std::size_t l, std::size_t r);

  std::size_t ranks_ = 0;
  std::vector<std::vector<char>> left_has_, right_has_;
  std::vector<Dim> dims_;
};

}  // namespace tdsl::plan::counting
