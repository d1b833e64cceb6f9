#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "runtime/plan/space/candidates.h"
#include "runtime/plan/space/canonical.h"
#include "runtime/plan/space/task_size.h"

// Builds single candidates: one kind of placement each, with tiles, panels, parts and the layouts of operands that are
// not placed yet.

namespace tdsl::plan {

/// The cut of a reduce label: its tiles, and for partial results, tiles per part and the parts' grid.
struct ReduceChoice {
  Tiling tiling;
  Index per_part = 0;  ///< 0: not split into parts
  GridDim grid;
};

/// A placement under construction.
struct Draft {
  std::vector<Tiling> tilings;  ///< of the recorded output
  std::vector<GridDim> dims;
  std::vector<ReduceChoice> reduce;
  Index home = 0;
  std::vector<GridAxis> repeat;
  /// Instead of `dims`: an owner per block of output dimensions and reduce labels, with tiles as whole parts of blocks.
  std::optional<BlockMap> map{};
};

class PlacementBuilder {
 public:
  PlacementBuilder(const Op& op, const PlanInputs& inputs, const Operands& operands);
  /// The prescribed cuts under `--reproducible`.
  [[nodiscard]] const std::optional<Cuts>& cuts() const { return cuts_; }

  /// Partial results worth creating per rank so that all threads have work.
  [[nodiscard]] Index parts_wanted(Index output_tiles, Index ranks_used) const;
  /// Number of parts per thread.
  [[nodiscard]] Index parts_per_thread(Index ranks_used) const;
  /// Tiles of a reduce label: those of a placed operand, else chosen.
  [[nodiscard]] Tiling panels(std::size_t k, Index multiple) const;
  /// The same for a label that is not split: a single panel if elements are moved, which need no lists then.
  [[nodiscard]] Tiling whole_panels(std::size_t k, Index multiple) const;
  /// Tiles of a label independent of its operands; of equal work if the row distribution is known.
  [[nodiscard]] Tiling even_panels(int label, Index multiple) const;
  /// Longest edge of a task along a label.
  [[nodiscard]] Index longest_edge(int label) const { return longest_[idx(label)]; }
  /// Two output dimensions that index the same dimension of one operand (X X') get equal cuts: nested or overlapping
  /// boxes would send elements to a rank twice.
  void share_cuts(Draft& draft) const;
  /// Makes the output of a part of an assembly lists of entries.
  void list_entries(const ReduceChoice& parts, TensorDesc& output) const;
  [[nodiscard]] std::vector<Index> list_tiles(std::vector<Index> multiple,
                                              const std::vector<Index>& reduce_shares) const;
  void adopt_lists(const std::vector<Index>& multiple, std::vector<Tiling>& tilings) const;
  [[nodiscard]] Candidate build(Draft draft, std::string why) const;
  /// The canonical cut of a reduce label, its parts over `grid` (of parts).
  [[nodiscard]] ReduceChoice canonical(std::size_t k, GridDim grid) const;
  /// Maps a placed operand's ranks along one dimension to another tiling of the same extent.
  [[nodiscard]] static GridDim carried(GridDim dim, const Tiling& from, const Tiling& to);
  [[nodiscard]] std::vector<ReduceChoice> unsplit(Index output_tiles, Index ranks_used, Index multiple) const;
  /// Everything on one rank.
  [[nodiscard]] Candidate single(Index home, std::string why) const;
  /// A grid with these numbers of ranks along output dimensions and reduce labels.
  [[nodiscard]] Candidate grid(const std::vector<Index>& out_factor, const std::vector<Index>& reduce_factor) const;
  /// A layout of the task space over the mesh, if extents and prescribed tiles can carry it.
  [[nodiscard]] std::optional<Candidate> realise(const Layout& work, const Mesh& mesh) const;
  /// The same for a block map.
  [[nodiscard]] std::optional<Candidate> realise(const BlockMap& work) const;
  /// A tensor under a layout over the mesh, with the tiles of `like` where they fit.
  [[nodiscard]] Distribution lay_out(const TensorDesc& tensor, const Layout& layout, const Distribution& like) const;
  /// The placement of an operand, carried over to the output (and to parts of reduce labels).
  [[nodiscard]] std::optional<Candidate> inherit(const Access& access, const PlacedTensor& operand) const;
  /// The placement of a tensor of the same shape, unchanged.
  [[nodiscard]] Candidate same_as(const Distribution& d, std::string why) const;
  /// Tilings of the output with dimension d spread over `multiple[d]` coordinates; an uncut dimension has one tile.
  [[nodiscard]] std::vector<Tiling> out_tilings(const std::vector<Index>& multiple, int threads, Index spread) const;
  [[nodiscard]] static Index tile_count(const std::vector<Tiling>& tilings);
  /// Number of ranks of a node along each axis of a grid: the reduce labels' axes, then the output dimensions'. All 1
  /// if the grid does not fill several nodes.
  [[nodiscard]] std::vector<Index> ranks_in_node(const std::vector<Index>& factors) const;
  [[nodiscard]] std::string name_of_dim(std::size_t d) const;

 private:
  /// Reduce labels cut like the map's blocks beyond the output's dimensions; nothing if impossible.
  [[nodiscard]] std::optional<std::vector<ReduceChoice>> reduce_by(const BlockMap& map, Index output_tiles) const;
  /// The layout wanted for a source under a map; nothing if prescribed tiles do not divide its blocks.
  [[nodiscard]] std::optional<Distribution> source_by(const BlockMap& map, const Distribution& leaf,
                                                      const TensorDesc& tensor) const;
  /// Cuts reduce labels and makes a candidate: `draft` has tiles and axes of the output; `shares` and `dims` (whose q
  /// is left open) are those of reduce labels.
  [[nodiscard]] Candidate spread(Draft draft, const std::vector<Index>& out_shares,
                                 const std::vector<GridDim>& reduce_dims, std::string why) const;
  /// Adopts the unequal cuts of placed operands that consist of these numbers of blocks.
  void adopt_cuts(const std::vector<Index>& blocks, std::vector<Tiling>& tilings) const;
  /// Adopts the tiles of the largest operand that is distributed along the output's axes like the output.
  void adopt_tiles(Draft& draft) const;
  void place_leaves(Candidate& c) const;
  /// The layout over the mesh that is wanted for a source, with the candidate's tiles.
  [[nodiscard]] Distribution as_wanted(const Layout& wanted, const Distribution& leaf, const TensorDesc& tensor) const;
  /// The wanted layout with the tiles that the tensor's annotation asks for.
  [[nodiscard]] Distribution annotated(const Distribution& wanted, const TensorDesc& tensor) const;
  /// The best layout of an unplaced operand for this candidate: like the labels that index it, with unused axes spread
  /// over its longest free dimension.
  [[nodiscard]] Distribution leaf(const Candidate& c, const Access& access, const TensorDesc& tensor) const;
  /// A large source whose first use is on one rank: spread over all ranks along its longest dimension (with canonical
  /// cuts, the one with the most tiles).
  [[nodiscard]] Distribution spread_rows(const TensorDesc& tensor,
                                         const std::vector<std::optional<Tiling>>& known) const;
  /// A tensor among ranks in columns. Dimensions of the map that the tensor lacks (-1) are replaced by its others.
  [[nodiscard]] Distribution in_columns(const TensorDesc& tensor, RankColumns columns,
                                        std::vector<std::optional<Tiling>> tiling) const;
  void spread_unused(const TensorDesc& tensor, const Distribution& space, const std::vector<bool>& used,
                     std::vector<std::optional<Tiling>>& tiling, std::vector<GridDim>& dims) const;
  /// The row distribution for the label, if it alone indexes the rows of a compressed operand or result; else null.
  [[nodiscard]] const RowCounts* counts_along(int label) const;
  /// `tiles` tiles of a dimension of a tensor; of equal work if the row distribution is known.
  [[nodiscard]] static Tiling even(const TensorDesc& tensor, std::size_t d, Index tiles);
  [[nodiscard]] std::vector<Tiling> tilings_for(const TensorDesc& tensor,
                                                const std::vector<std::optional<Tiling>>& known) const;

  const Op& op_;
  const PlanInputs& inputs_;
  const Operands& operands_;
  std::vector<Index> longest_;
  Stream stream_;
  double seconds_ = std::numeric_limits<double>::infinity();  ///< of one thread, predicted
  std::optional<Cuts> cuts_;
};

/// Points of the operation's label space.
[[nodiscard]] double points_of(const Op& op);
/// Expected entries of all lists of an assembly together.
[[nodiscard]] double entries_of(const Op& op);
/// The same, where a point of a fused operator, a row's share of many operations, counts for every two operations.
[[nodiscard]] double simple_points_of(const Op& op);
/// Elements of a tensor of this shape.
[[nodiscard]] double elements_of(const std::vector<Index>& shape);

}  // namespace tdsl::plan
