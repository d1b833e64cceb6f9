#pragma once

#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "runtime/plan/lists.h"
#include "runtime/plan/op_plan.h"

// The enumerator: tasks, steps and messages of one planned operation on one rank. The engine executes this list and
// `explain` prints it. Its only state is the current step.
//
// Steps. A rank's owned output tiles are cut into super-blocks; the steps of a super-block are the reduce tiles
// (panels) in row-major order, in small products starting cyclically from another panel. A step is identified by
// (super-block, panel); no task of a step needs a result of another task of the same step on another rank. Remote boxes
// are listed in the first step of the super-block that needs them and kept until the last; those of kept operands
// (OpPlan::kept) in the first step of the operation.

namespace tdsl::plan {

/// A box of a tensor inside one of its blocks: the unit of a request. For a sized tensor always the whole block:
/// accessed boxes decide which blocks are needed. (Ranges of the outermost level are future work: for_each_piece and
/// for_each_candidate make pieces.)
struct Piece {
  TensorId tensor = -1;
  Index block = 0;  ///< row-major tile number in the tensor's distribution
  Box box;          ///< elements, in the tensor's coordinates, within the block
  friend bool operator==(const Piece&, const Piece&) = default;
};
struct PieceHash {
  std::size_t operator()(const Piece& p) const noexcept;
};

struct Task {
  Coord tile;         ///< output tile
  Coord panel;        ///< tile number per reduce label
  bool first = true;  ///< first panel of this output tile
  bool last = true;   ///< last panel: the output block is complete afterwards
  bool hit = true;  ///< false: the operation writes no element of this tile, which keeps its base (one task, no panels)
};

/// A piece that a step waits for because it is not in this rank's memory.
struct Fetch {
  Piece piece;
  Index owner = 0;  ///< this rank itself: the block is on disk or in its file
  Estimate bytes;
  bool keep =
      false;  ///< true: kept until the super-block ends, because later panels use it; false: only this step uses it
  bool stays = false;  ///< true: kept until the operation's last step
  int listed = -1;     ///< the access that may request it by a list; -1: the whole piece is needed
};

/// The part of `within`, a box of the operand, that a task with these label intervals accesses (the hull, in each
/// dimension).
[[nodiscard]] Box touched_box(const Access& access, const std::vector<Interval>& labels, const Box& within);

/// Geometry of one operation: intervals, boxes, panels. Cheap to construct; keeps references to its arguments.
class TaskSpace {
 public:
  TaskSpace(const Op& op, const OpPlan& plan, const TensorLookup& tensors);

  [[nodiscard]] const Op& op() const { return op_; }
  [[nodiscard]] const OpPlan& plan() const { return plan_; }

  [[nodiscard]] Box out_box(const Coord& tile) const { return plan_.space.box(tile); }
  /// Interval of every label for the task (may be empty if the output tile is not hit).
  [[nodiscard]] std::vector<Interval> label_intervals(const Coord& tile, const Coord& panel) const;
  /// The same, into `labels`, whose memory is reused.
  void label_intervals(const Coord& tile, const Coord& panel, std::vector<Interval>& labels) const;
  /// Elements of the operand accessed by a task with these label intervals.
  [[nodiscard]] Box access_box(const Access& access, const std::vector<Interval>& labels) const;
  /// True if the operation writes any element of the output tile (given constant subscripts and label ranges).
  [[nodiscard]] bool hit(const Coord& tile) const;
  /// Points of the label space a task computes; 1 without labels.
  [[nodiscard]] Index points(std::span<const Interval> labels) const;
  /// Splits an element box of a tensor by the tensor's tiles; f(block coordinates, piece).
  void for_each_piece(TensorId tensor, const Box& box, const std::function<void(const Coord&, const Piece&)>& f) const;

  /// Number of panels of every output tile (product over reduce labels; 1 without).
  [[nodiscard]] Index panels() const { return panels_; }
  [[nodiscard]] Coord panel(const Coord& tile, Index number) const;
  /// The panel a rank begins with; the others follow cyclically. Note [Own panels first]
  [[nodiscard]] Index first_panel(Index rank) const;

  /// Super-blocks of `rank`, in order, each as row-major output tile numbers.
  [[nodiscard]] Index super_blocks(Index rank) const;
  [[nodiscard]] std::vector<Index> super_block(Index rank, Index number) const;
  /// Bytes of all outputs' blocks of one output tile.
  [[nodiscard]] Estimate output_bytes(const Coord& tile) const;
  /// Upper bound for the sized outputs. A later panel rebuilds them while the previous version is held.
  [[nodiscard]] Index sized_output_bytes(const Coord& tile) const;
  /// True if later panels of the same super-block may need the same boxes of this access again.
  [[nodiscard]] bool kept_across_panels(const Access& access) const;
  /// See lists.h.
  [[nodiscard]] std::optional<Walk> walk_of(const Access& access) const { return plan::walk_of(op_, access, tensors_); }
  [[nodiscard]] bool by_lists(TensorId operand) const { return plan::by_lists(op_, plan_, tensors_, operand); }

  /// The inverse map: calls f(requesting rank, piece, times) for every remote request for a piece of this block of
  /// `tensor`; `times` counts super-blocks that fetch it. Requests of one rank and super-block for the same piece
  /// are merged. `me`, an owner of the block, is excluded, as are ranks that read from another owner's copy.
  void for_each_request(TensorId tensor, const Coord& block, Index me,
                        const std::function<void(Index, const Piece&, Index)>& f) const;

  /// The ranks that fetch the piece in step (super_block, panel), ascending, excluding `owner` of the block.
  [[nodiscard]] std::vector<Index> ranks_wanting(const Piece& piece, Index owner, Index super_block, Index panel) const;
  /// The same for all pieces of a block: calls f(piece, ranks) once per step that fetches the piece.
  void for_each_wanted(TensorId tensor, const Coord& block, Index owner,
                       const std::function<void(const Piece&, const std::vector<Index>&)>& f) const;

 private:
  class Wanted;
  struct Relevance;
  struct Candidate;
  [[nodiscard]] Relevance relevance(const Access& access) const;
  /// Label values such that a tile must overlap each listed interval for its access box to touch the block (necessary,
  /// not sufficient). One interval per subscript: a tile's box is a rectangle even if the label runs along its
  /// diagonal.
  [[nodiscard]] std::vector<Interval> values_touching(const Access& access, int label, const Box& block) const;
  [[nodiscard]] Interval tiles_writing(int dim, Interval label_values) const;
  [[nodiscard]] Interval label_interval_of(int dim, Interval elements) const;
  [[nodiscard]] Index panels_of(std::size_t reduce) const;
  [[nodiscard]] Interval reduce_interval(std::size_t reduce, Index tile) const;
  void for_each_candidate(const Access& access, const Coord& block,
                          const std::function<void(const Candidate&)>& f) const;
  [[nodiscard]] std::vector<Index> chunks_along(Index rank, int dim) const;
  /// For an owner table: chunks of the rank's list that contain tiles of the candidate.
  [[nodiscard]] std::vector<Index> chunks_of_list(Index rank, const Candidate& candidate) const;
  [[nodiscard]] std::vector<Index> super_blocks_needing(Index rank, const Candidate& candidate) const;

  const Op& op_;
  const OpPlan& plan_;
  const TensorLookup& tensors_;
  Index panels_ = 1;
};

/// One step of a rank: its tasks, and the pieces they wait for.
struct Step {
  Index super_block = 0;
  Index panel = 0;  ///< its number, independent of the execution order
  std::vector<Task> tasks;
  std::vector<Fetch>
      fetch;  ///< remote pieces and own non-resident ones first needed in this step, each once, in order of first use
  Estimate fetch_bytes;
  Estimate output_bytes;  ///< output blocks that begin in this step
  Index assembled_bytes =
      0;  ///< the most that one task assembles: operands in several blocks or pieces; includes rebuilt sized blocks
  bool ends_super_block = false;
};

/// Enumerates a rank's steps in order.
class StepCursor {
 public:
  StepCursor(const TaskSpace& space, const TensorLookup& tensors, Index rank);
  /// The next step, or false at the end.
  bool next(Step& step);

 private:
  void begin_super_block();
  [[nodiscard]] bool is_away(TensorId tensor, const Coord& block);
  void fetch(Step& step, TensorId tensor, const Piece& piece, Index owner, const std::vector<bool>& keep,
             int listed = -1);

  const TaskSpace& space_;
  const TensorLookup& tensors_;
  Index rank_;
  std::unordered_map<TensorId, Index> first_away_;  ///< of tensors with non-resident blocks
  std::vector<int> listed_;                         ///< per access: Fetch::listed, the first of equal accesses
  bool mixed_ = false;  ///< a tensor is read by accesses of which only some are listed, or by several listed ones
  Index super_blocks_;
  Index super_block_ = 0;
  Index panel_ = 0;  ///< position in the order of this super-block's panels
  Index first_panel_ = 0;
  std::vector<Index> tiles_;
  std::unordered_set<Piece, PieceHash> fetched_;  ///< pieces of the current super-block already listed
  std::unordered_set<Piece, PieceHash> kept_;     ///< listed pieces of kept operands
};

}  // namespace tdsl::plan
