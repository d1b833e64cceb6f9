#pragma once

#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "runtime/plan/op_plan.h"

// The enumerator: tasks, steps and messages of one planned operation on one rank. The engine executes what it lists and
// `explain` prints it. It keeps no state beyond the step it is at.
//
// Steps. A rank's owned output tiles are cut into super-blocks; inside a super-block the steps are the reduce tiles
// (panels) in row-major order, or in small products from another one on and round. A step's name is (super-block,
// panel); no task of a step needs a result of another task of the same step on another rank. Remote boxes are listed in
// the first step of the super-block that needs them and kept until the last.

namespace tdsl::plan {

/// A box of a tensor inside one of its blocks: what one request asks for. Of a sized tensor all of the block: boxes
/// that are accessed decide which blocks are needed. (Ranges of the outermost level are to come: for_each_piece and
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
  bool hit = true;    ///< false: the operation writes no element of this tile; it keeps its base (one task, no panels)
};

/// One piece a step waits for that is not in this rank's memory.
struct Fetch {
  Piece piece;
  Index owner = 0;  ///< this rank itself: the block is away, on disk or in its file
  Estimate bytes;
  bool keep = false;  ///< also used by later panels: keep until the super-block ends; else only this step uses it
};

/// What of `within`, a box of the operand, a task with these label intervals touches (the hull, in each dimension).
[[nodiscard]] Box touched_box(const Access& access, const std::vector<Interval>& labels, const Box& within);

/// Geometry of one operation: intervals, boxes, panels. Cheap to build; refers to its arguments.
class TaskSpace {
 public:
  TaskSpace(const Op& op, const OpPlan& plan, const TensorLookup& tensors);

  [[nodiscard]] const Op& op() const { return op_; }
  [[nodiscard]] const OpPlan& plan() const { return plan_; }

  [[nodiscard]] Box out_box(const Coord& tile) const { return plan_.space.box(tile); }
  /// Interval of every label for the task (possibly empty where the output tile is not hit).
  [[nodiscard]] std::vector<Interval> label_intervals(const Coord& tile, const Coord& panel) const;
  /// Elements of the operand touched by a task with these label intervals.
  [[nodiscard]] Box access_box(const Access& access, const std::vector<Interval>& labels) const;
  /// Whether the operation writes any element of the output tile (constant subscripts and label ranges considered).
  [[nodiscard]] bool hit(const Coord& tile) const;
  /// Points of the label space a task computes; 1 without labels.
  [[nodiscard]] Index points(const std::vector<Interval>& labels) const;
  /// Splits an element box of a tensor by the tensor's tiles; f(block coordinates, piece).
  void for_each_piece(TensorId tensor, const Box& box, const std::function<void(const Coord&, const Piece&)>& f) const;

  /// Number of panels of every output tile (product over reduce labels; 1 without).
  [[nodiscard]] Index panels() const { return panels_; }
  [[nodiscard]] Coord panel(const Coord& tile, Index number) const;
  /// The panel a rank begins with; the others follow, after the last comes number 0. Note [Own panels first]
  [[nodiscard]] Index first_panel(Index rank) const;

  /// Super-blocks of `rank`, in order, each as row-major output tile numbers.
  [[nodiscard]] Index super_blocks(Index rank) const;
  [[nodiscard]] std::vector<Index> super_block(Index rank, Index number) const;
  /// Bytes of all outputs' blocks of one output tile.
  [[nodiscard]] Estimate output_bytes(const Coord& tile) const;
  /// Of the sized ones at most. A later panel makes them anew, beside what they are so far.
  [[nodiscard]] Index sized_output_bytes(const Coord& tile) const;
  /// Whether later panels of the same super-block may need the same boxes of this access again.
  [[nodiscard]] bool kept_across_panels(const Access& access) const;

  /// The inverse map: every remote request for a piece of this block of `tensor`: f(requesting rank, piece, times),
  /// where `times` counts super-blocks that fetch it again. Requests of one rank and super-block for the same piece are
  /// one. `me`, an owner of the block, is left out, as are ranks that read from another owner's copy.
  void for_each_request(TensorId tensor, const Coord& block, Index me,
                        const std::function<void(Index, const Piece&, Index)>& f) const;

  /// Who fetches the piece in its step (super_block, panel), ascending; `owner` of the block is left out.
  [[nodiscard]] std::vector<Index> ranks_wanting(const Piece& piece, Index owner, Index super_block, Index panel) const;
  /// The same for all pieces of a block: f(piece, ranks) once per step that fetches the piece.
  void for_each_wanted(TensorId tensor, const Coord& block, Index owner,
                       const std::function<void(const Piece&, const std::vector<Index>&)>& f) const;

 private:
  class Wanted;
  struct Relevance;
  struct Candidate;
  [[nodiscard]] Relevance relevance(const Access& access) const;
  /// Label values of which a tile must meet each listed interval for its access box to touch the block (necessary, not
  /// sufficient). One interval per subscript: a tile's box is a rectangle even where the label runs along its diagonal.
  [[nodiscard]] std::vector<Interval> values_touching(const Access& access, int label, const Box& block) const;
  [[nodiscard]] Interval tiles_writing(int dim, Interval label_values) const;
  [[nodiscard]] Interval label_interval_of(int dim, Interval elements) const;
  [[nodiscard]] Index panels_of(std::size_t reduce) const;
  [[nodiscard]] Interval reduce_interval(std::size_t reduce, Index tile) const;
  void for_each_candidate(const Access& access, const Coord& block,
                          const std::function<void(const Candidate&)>& f) const;
  [[nodiscard]] std::vector<Index> chunks_along(Index rank, int dim) const;
  /// Of a table: chunks of the rank's list with tiles of the candidate.
  [[nodiscard]] std::vector<Index> chunks_of_list(Index rank, const Candidate& candidate) const;
  [[nodiscard]] std::vector<Index> super_blocks_needing(Index rank, const Candidate& candidate) const;

  const Op& op_;
  const OpPlan& plan_;
  const TensorLookup& tensors_;
  Index panels_ = 1;
};

/// One step of a rank: its tasks, and the pieces that must be there first.
struct Step {
  Index super_block = 0;
  Index panel = 0;  ///< its number, which is not how many came before
  std::vector<Task> tasks;
  std::vector<Fetch>
      fetch;  ///< remote pieces and own ones that are away, first needed here, each once, in order of first use
  Estimate fetch_bytes;
  Estimate output_bytes;  ///< output blocks that begin in this step
  Index assembled_bytes =
      0;  ///< what one task copies together at most: operands in several blocks or pieces; with sized blocks made anew
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
  void fetch(Step& step, TensorId tensor, const Piece& piece, Index owner, const std::vector<bool>& keep);

  const TaskSpace& space_;
  const TensorLookup& tensors_;
  Index rank_;
  std::unordered_map<TensorId, Index> first_away_;  ///< of tensors that have blocks away
  Index super_blocks_;
  Index super_block_ = 0;
  Index panel_ = 0;  ///< how many panels of this super-block came before
  Index first_panel_ = 0;
  std::vector<Index> tiles_;
  std::unordered_set<Piece, PieceHash> fetched_;  ///< pieces of the current super-block already listed
};

}  // namespace tdsl::plan
