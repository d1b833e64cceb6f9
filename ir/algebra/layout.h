#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/algebra/keys.h"

namespace tdsl::ir::algebra {

/// The sites form a grid with these extents; site numbers are row-major. The papers' s sites are one axis.
struct Mesh {
  std::vector<Index> sizes;
  [[nodiscard]] Index sites() const { return volume(sizes); }
};

/// The coordinates along `axes` are a function of the key's values at `dims`, the same for all relations; it depends
/// only on the values and their order. An additional axis refines a cut: the coordinates along earlier axes stay
/// unchanged, so the order of axes matters.
struct Cut {
  std::vector<int> axes;
  Dims dims;
  friend bool operator==(const Cut& a, const Cut& b) = default;
};

/// The sites that hold a tuple, for every axis of the mesh: along a cut's axis, the tuple's values determine the
/// coordinate; along a loose axis, each tuple is at one unknown coordinate; along any other axis there is a copy at
/// every coordinate. The papers' PART over D is all axes in one cut by D (D empty: one site holds everything); ALL has
/// no cut and no loose axis.
class Layout {
 public:
  /// On one axis, if `axes` is not given.
  [[nodiscard]] static Layout all(int axes = 1);
  [[nodiscard]] static Layout part(Dims dims, int axes = 1);
  [[nodiscard]] static Layout loose(int axes = 1);
  /// Throws AlgebraError if an axis is repeated or out of range.
  Layout(int axes, std::vector<Cut> cuts, std::vector<int> loose_axes);

  [[nodiscard]] int axes() const { return axes_; }
  [[nodiscard]] const std::vector<Cut>& cuts() const { return cuts_; }         ///< by their first axis
  [[nodiscard]] const std::vector<int>& loose_axes() const { return loose_; }  ///< in increasing order
  [[nodiscard]] const Cut* cut_of(int axis) const;
  [[nodiscard]] bool is_loose(int axis) const;
  [[nodiscard]] bool is_copied(int axis) const { return cut_of(axis) == nullptr && !is_loose(axis); }
  [[nodiscard]] bool is_all() const { return cuts_.empty() && loose_.empty(); }
  /// The dimensions of all cuts.
  [[nodiscard]] Dims cut_dims() const;
  /// The number of sites that hold each tuple.
  [[nodiscard]] Index copies(const Mesh& mesh) const;
  /// The layout of tuples that stay in place while their keys change: dimension d becomes dimension after[d]. A cut by
  /// a dropped dimension (nothing) makes its axes loose.
  [[nodiscard]] Layout renamed(const std::vector<std::optional<int>>& after) const;

  friend bool operator==(const Layout& a, const Layout& b) = default;

 private:
  int axes_ = 1;
  std::vector<Cut> cuts_;
  std::vector<int> loose_;
};

/// On one axis `all`, `part [0, 2]` or `loose`. On several axes, called a, b, ..: `mesh ab` followed by the cuts and
/// the loose axes: `mesh ab part [0:a] part [1, 2:b]`, `mesh abc part [0:ca] loose b`.
[[nodiscard]] std::string layout_text(const Layout& layout);
[[nodiscard]] std::string axes_text(const std::vector<int>& axes);

}  // namespace tdsl::ir::algebra
