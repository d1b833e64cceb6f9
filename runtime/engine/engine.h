#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/check.h"
#include "runtime/engine/boundaries.h"
#include "runtime/engine/front.h"
#include "runtime/engine/mpi/mpi_world.h"
#include "runtime/engine/store/store.h"
#include "runtime/engine/trace.h"
#include "runtime/engine/watch/status.h"
#include "runtime/kernels/task.h"
#include "runtime/plan/op_plan.h"
#include "runtime/plan/steps/steps.h"

// The engine executes planned operations on one rank. See README.md ("The protocol"):
// whole-step admission in order, requests as the only credit, answers from block memory, blocks freed when dead.

namespace tdsl::rt {

class Disk;

/// Looks at blocks that this rank has computed. Called by tasks, outside of the engine's lock.
class BlockWatch {
 public:
  BlockWatch() = default;
  BlockWatch(const BlockWatch&) = delete;
  BlockWatch& operator=(const BlockWatch&) = delete;
  virtual ~BlockWatch() = default;
  /// Output `output` of an operation, numbered as submitted, has a complete block: dense, or sized and then perhaps
  /// absent.
  virtual void complete(plan::Index operation, const plan::Op& op, int output, const Operand& dense,
                        const BlockPart& sized) = 0;
};

struct EngineOptions {
  int threads = 1;
  plan::Index window_bytes = 0;  ///< limit on the footprint of admitted, unfinished steps; 0: unlimited
  plan::Index memory_bytes = 0;  ///< limit on all blocks of this rank; 0: none. The plan must fit it
  plan::Index most_bytes =
      0;  ///< beyond which the run is stopped before the system ends it, 0: never; then sized blocks count as expected
  std::string memory_source;      ///< who sets the limit, for messages; empty: --memory
  Disk* disk = nullptr;           ///< not owned, and outlives the engine; null: there are no homes but memory
  plan::Index serve_reserve = 0;  ///< of memory_bytes, kept free for what peers ask of blocks on disk
  bool oversubscribed = false;    ///< nap while idle
  plan::Index small_box = plan::Index{8} << 10;  ///< boxes of fewer bytes share messages; the same on all ranks
  std::uint64_t delay_seed = 0;                  ///< tests: not 0 = random delays in tasks, requests and answers
  BlockWatch* watch = nullptr;                   ///< not owned; null: none
  Trace* trace = nullptr;                        ///< what happens goes there, too
  double heartbeat = 0;  ///< seconds without a sign of a rank after which it is lost; 0: never. Needs beat()
  std::string host;      ///< of this rank, for messages
  std::function<SourceLine(int)> place;  ///< of an operation's line, for errors; empty: they name none
  /// Rank 0 calls it once when the run fails anywhere, before the other ranks are told: prints the message, removes
  /// temporary files.
  std::function<void(const RunError&)> report;
};

/// What one site (recording place) did on this rank.
struct SiteStatistics {
  int site = 0;
  int line = 0;
  std::string name;  ///< of the operation
  std::string kind;
  std::int64_t bytes_received = 0, bytes_sent = 0, messages = 0, tasks = 0, kernels = 0;
  std::int64_t disk_read = 0, disk_written = 0;  ///< bytes; what was read for peers is not in here
  std::int64_t stored = 0, stored_bytes = 0;     ///< elements in blocks of sized results, and the blocks
  double flops = 0;
  double first_start = 0, last_end = 0;  ///< seconds since the engine began; seconds = difference
  double kernel_seconds = 0;             ///< of tasks, summed
  Front::Seconds front;                  ///< while its step was the least unfinished one
};

/// How long this rank did not talk while it computed.
struct Silence {
  double longest = 0;      ///< seconds between two polls with a task running
  std::int64_t polls = 0;  ///< inside kernels
};

class Engine {
 public:
  /// `lookup` finds every tensor named by submitted operations until release().
  Engine(World& world, Store& store, plan::TensorLookup lookup, EngineOptions options);
  ~Engine();

  /// Where blocks may be at home, beside memory, and how much of --memory is kept free for what peers ask of there.
  /// Once, before an operation with such results is submitted; EngineOptions may say it, too. The disk outlives the
  /// engine.
  void use_disk(Disk& disk, plan::Index serve_reserve);

  /// Runs `program` on this thread with the other threads as workers; returns when it returns. Errors thrown by the
  /// program or by any kernel on any rank end the run on all ranks: throws RunError on each (one rank reports).
  void run(const std::function<void()>& program);

  /// After run() has thrown: whether all ranks have left it with this error.
  [[nodiscard]] bool failed_alike() const;

  // To be called by the program's thread inside run():

  /// The memory that a block of the box may use as it is; null: it gets some of its own. Whoever lends keeps a
  /// reference, so that no operation writes there.
  using Lend = std::function<BufferRef(const Box&)>;
  /// Queues an operation. Operations are submitted in the same order on all ranks. May execute work before returning
  /// (the queue of operations not yet admitted is bounded). `last_names` are released together with the submission,
  /// before any of its tasks can start: an update may then take over the block of the value it replaces.
  void submit(std::shared_ptr<const plan::PlannedOp> op, Kernel kernel,
              const std::vector<plan::TensorId>& last_names = {}, Lend lend = nullptr);
  /// The program's last name for the tensor is gone; its blocks are freed when the submitted operations are done with
  /// them.
  void release(plan::TensorId tensor);
  /// Works until every operation submitted so far is complete on this rank.
  void wait_all();
  /// Operations submitted so far, and those of them before which all are complete on this rank.
  struct Count {
    plan::Index submitted = 0, complete = 0;
  };
  [[nodiscard]] Count operations() const;
  /// Works until the first `operations` operations are complete on this rank.
  void wait_for(plan::Index operations);
  /// Works until the tensor's blocks owned by this rank are complete.
  void wait(plan::TensorId tensor);
  /// The bytes of a complete owned block (kControl scalars: block 0), null of an absent one. Valid until release.
  [[nodiscard]] const std::byte* block_data(plan::TensorId tensor, plan::Index block) const;
  /// Rank 0's text on every rank. All ranks call it at the same place of the program; the others work until it is
  /// there.
  [[nodiscard]] std::string share(std::string text);
  /// Messages from every rank to every other, outside of operations. All ranks call it at the same place of the program
  /// and work until everything is there. `next` gives a message of this rank's (never to itself, at most 1 GiB), or
  /// false after the last one; a few are under way at a time. Returns what has come, by source, in the order in which
  /// it was sent.
  using Outgoing = std::function<bool(int& target, std::vector<std::byte>& bytes)>;
  using Received = std::vector<std::vector<std::vector<std::byte>>>;
  [[nodiscard]] Received exchange(const Outgoing& next);
  /// The program has come to a boundary, as it does on every rank, and this rank wishes something. Returns what all
  /// ranks do here.
  [[nodiscard]] Wish at_boundary(Wish mine);
  /// wait_all on every rank; afterwards no request can arrive.
  void finish();

  // For a thread that watches the run, once a second (runtime/app/watch/watch.h):

  [[nodiscard]] RankStatus status() const;
  /// Polls if no worker did, gives and takes signs of life, and ends the run if a rank is lost. When nothing has moved
  /// anywhere for minutes, or nothing can, rank 0 asks for statuses.
  void beat();
  /// Any rank: rank 0 shall hear from all. Ignored while that goes on.
  void ask_statuses(const std::string& reason);
  struct RollCall {
    std::string reason;
    std::vector<std::string> answers;  ///< by rank; empty: none
    bool deadlock = false;             ///< no rank can go on
  };
  /// On rank 0 what was asked for, once all have answered or time is up.
  [[nodiscard]] std::optional<RollCall> statuses();
  /// Ends the run on all ranks.
  void stop(const RunError& error);

  [[nodiscard]] std::vector<SiteStatistics> statistics() const;
  /// While no step was open.
  [[nodiscard]] Front::Seconds between_steps() const;
  [[nodiscard]] plan::Index live_blocks() const;
  [[nodiscard]] Silence silence() const;
  /// Bytes copied because a plan wants operands packed.
  [[nodiscard]] plan::Index packed_bytes() const;
  /// Bytes of blocks to and from the disk; without one all zero.
  struct DiskFigures {
    plan::Index written = 0, read = 0;  ///< read also from files that are homes themselves
    plan::Index held = 0, most_held = 0;
  };
  [[nodiscard]] DiskFigures disk() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tdsl::rt
