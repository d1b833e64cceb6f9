#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "runtime/engine/store/row_list.h"
#include "runtime/engine/store/tensor_table.h"
#include "runtime/kernels/task.h"
#include "runtime/plan/op_plan.h"
#include "runtime/plan/row_counts.h"
#include "runtime/plan/steps/steps.h"

// Operations in progress: the operation and its cursor, its admitted tasks, and the pieces fetched for them. All of it
// is bounded by the admitted steps.

namespace tdsl::rt {

struct Meetings;
struct SiteStatistics;
struct OperationRun;
struct Relay;
class Outbox;

/// A box fetched from its owner. Held by the operation until it has admitted the last step that may need it, and by the
/// tasks that read it; its bytes leave the window with the last hold.
struct RemotePiece {
  RemotePiece(Index& window, BufferRef b, const Box& where)
      : box(where), buffer(std::move(b)), counted(buffer->bytes()), used(window) {
    used += counted;
  }
  /// Of unknown size: counts as its expected size until then.
  RemotePiece(Index& window, Index expected, const Box& where) : box(where), counted(expected), used(window) {
    used += counted;
  }
  /// Ends the lease of a piece that is read in place.
  ~RemotePiece();
  RemotePiece(const RemotePiece&) = delete;
  RemotePiece& operator=(const RemotePiece&) = delete;

  /// Changes the bytes counted for the piece.
  void count(Index bytes) {
    used += bytes - counted;
    counted = bytes;
  }

  Box box;
  BufferRef buffer;  ///< sized block: null until granted, and if it is absent
  RowListRef rows;   ///< fetched by a list: the rows that the buffer has, packed; null: all
  bool arrived = false;
  std::vector<TaskRun*> waiting;
  Relay* relay = nullptr;       ///< if other ranks will request the piece from this rank
  int source = 0;               ///< rank it was requested from: this rank for an own block that is away
  std::uint32_t request = 0;    ///< number of the request
  std::uint32_t operation = 0;  ///< the requesting operation
  Index panel = 0;
  double asked = 0;   ///< time of the request
  Index counted = 0;  ///< bytes in the window
  Index& used;
  // A piece that is read in place has its owner's memory for a buffer:
  Outbox* lender = nullptr;  ///< null: it is received, or has not arrived
  Index lease = 0;           ///< the owner's identifier
  // Sized blocks, and pieces that may be fetched by lists:
  Index step = 0;  ///< fetching step, numbered as admitted
  int site = 0;
  Index reserved = 0;    ///< bytes reserved for it under --memory, until it is granted
  Index announced = -1;  ///< its size, once the sender has announced it
  Index offer = 0;       ///< the sender's identifier of the transfer
};

/// The part of an operand inside one block, owned or fetched.
struct InputPart {
  Box box;
  Index number = 0;  ///< of the block
  Block* local = nullptr;
  std::shared_ptr<RemotePiece> remote;
};

/// An operand of a task; several parts are assembled into one box when the task runs.
struct Input {
  TensorInstance* tensor = nullptr;  ///< valid only while a part is local
  Index element_bytes = 0;
  bool sized = false;
  Box box;
  std::vector<InputPart> parts;
};

/// An admitted task. It becomes ready when no dependence is missing.
struct TaskRun {
  OperationRun* operation = nullptr;
  plan::Task task;
  std::vector<Interval> labels;
  Box out_box;
  Index out_number = 0;       ///< row-major number of the output tile
  std::vector<Input> inputs;  ///< parallel to Op::reads
  Input base;                 ///< for the first panel, if the operation has a base
  int missing = 0;            ///< blocks, pieces, the previous panel, the previous effect
  TaskRun* next_panel = nullptr;
  Index step = 0;                        ///< step number in admission order
  double running_since = -1;             ///< below 0: not running
  std::uint64_t order = 0;               ///< admission order: the oldest ready task runs first
  Index panel = 0;                       ///< number of the panel
  std::shared_ptr<Meetings> inspects{};  ///< an inspection (messages/lists.h): its blocks are the only input
  std::uint32_t last_request = 0;        ///< the last request that it waited for
  double predicted = 0;                  ///< seconds
  std::int64_t work = 0;                 ///< nanoseconds that it counts in the ready queue
  std::list<TaskRun>::iterator self;
};

/// A submitted operation that is not finished on this rank.
struct OperationRun {
  OperationRun(std::shared_ptr<const plan::PlannedOp> op, Kernel k, const plan::TensorLookup& lookup, Index rank)
      : planned(std::move(op)),
        kernel(std::move(k)),
        visited(planned->op, lookup),
        space(planned->op, planned->plan, lookup),
        cursor(space, lookup, rank) {}

  std::shared_ptr<const plan::PlannedOp> planned;
  Kernel kernel;
  std::function<BufferRef(const Box&)> lend;  ///< memory for output blocks (Engine::Lend)
  Index number = 0;                           ///< count of operations submitted before
  plan::VisitedRows visited;                  ///< computed immediately: operands may be freed before a task ends
  plan::TaskSpace space;
  plan::StepCursor cursor;
  std::vector<TensorInstance*> operands;  ///< distinct tensors read, including the base
  std::vector<TensorInstance*> outputs;
  bool sized_output = false;         ///< any output is sized
  bool base_read_in_place = true;    ///< only the task of the same tile reads a block of the base, element by element
  std::vector<bool> pointwise_base;  ///< per read: the base is read only at the element being written
  std::vector<bool> replaceable;     ///< per read: the result may take over its block (plan::may_write_into)

  plan::Step step;  ///< the next one to admit
  bool step_listed = false;
  bool admitted = false;                     ///< all steps are admitted
  Index tasks_begun = 0;                     ///< tasks admitted so far
  const SiteStatistics* measured = nullptr;  ///< of the site, on this rank
  double seconds_per_point = 0;              ///< predicted; infinite: unknown
  using Pieces = std::unordered_map<plan::Piece, std::shared_ptr<RemotePiece>, plan::PieceHash>;
  Pieces pieces;  ///< of the super-block being admitted
  Pieces kept;    ///< of operands kept over super-blocks
  /// What an access that may be fetched by lists meets.
  struct Met {
    std::shared_ptr<Meetings> meetings;  ///< null: it is fetched whole
    std::size_t walked = 0;              ///< the compressed operand
  };
  std::vector<std::optional<Met>> meetings;        ///< by access, once known
  std::unordered_map<Index, TaskRun*> last_panel;  ///< by output tile: its youngest unfinished task
  std::list<TaskRun> tasks;
  std::vector<TaskRun*> waiting_effects;  ///< tasks of the next ordered operation
  std::list<std::shared_ptr<OperationRun>>::iterator self;

  [[nodiscard]] const plan::Op& op() const { return planned->op; }
  [[nodiscard]] Pieces& pieces_of(plan::TensorId tensor) { return planned->plan.keeps(op(), tensor) ? kept : pieces; }
  [[nodiscard]] bool over() const { return admitted && tasks.empty(); }
};

}  // namespace tdsl::rt
