#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
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
#include "runtime/plan/cost/machine.h"
#include "runtime/plan/op_plan.h"
#include "runtime/plan/steps/steps.h"

// The engine executes planned operations on one rank. See README.md ("The protocol"):
// whole-step admission in order, requests as the only credit, answers from block memory, blocks freed when no longer
// held.

namespace tdsl::rt {

class Disk;
struct RepeatedOperation;
class Tape;

/// Observes blocks that this rank has computed. Called by tasks, outside the engine's lock.
class BlockWatch {
 public:
  BlockWatch() = default;
  BlockWatch(const BlockWatch&) = delete;
  BlockWatch& operator=(const BlockWatch&) = delete;
  virtual ~BlockWatch() = default;
  /// Output `output` of an operation (numbered as submitted) has a complete block: `dense`, or `sized`, which may be
  /// absent.
  virtual void complete(plan::Index operation, const plan::Op& op, int output, const Operand& dense,
                        const BlockPart& sized) = 0;
};

struct EngineOptions {
  int threads = 1;
  plan::Index window_bytes = 0;   ///< limit on the footprint of admitted, unfinished steps; 0: unlimited
  plan::Index memory_bytes = 0;   ///< limit on all blocks of this rank; 0: none. The plan must fit it
  plan::Index most_bytes = 0;     ///< limit above which the run is stopped, before the system kills it, 0: never; sized
                                  ///< blocks then count as expected
  std::string memory_source;      ///< origin of the limit, for messages; empty: --memory
  Disk* disk = nullptr;           ///< not owned, must outlive the engine; null: memory is the only home of blocks
  plan::Index serve_reserve = 0;  ///< part of memory_bytes kept free for peers' requests of blocks on disk
  double grain = 0;               ///< least seconds of ready work for which another thread is woken; 0: any ready task
  plan::Machine machine;          ///< predicts tasks of sites that have not run yet
  bool oversubscribed = false;    ///< cores are oversubscribed: nap while idle
  plan::Index small_box =
      plan::Index{8} << 10;              ///< boxes smaller than this, in bytes, share messages; the same on all ranks
  std::uint64_t delay_seed = 0;          ///< tests: if not 0, random delays in tasks, requests and answers
  BlockWatch* watch = nullptr;           ///< not owned; null: none
  Trace* trace = nullptr;                ///< receives the engine's events; null: no trace
  Tape* tape = nullptr;                  ///< not owned; receives the calls of kernels; null: none
  double heartbeat = 0;                  ///< seconds of silence after which a rank is lost; 0: never. Needs beat()
  std::string host;                      ///< of this rank, for messages
  std::function<SourceLine(int)> place;  ///< source line of an operation, for errors; empty: errors name none
  /// Rank 0 calls it once if the run fails on any rank, before the other ranks are notified: prints the message,
  /// removes temporary files.
  std::function<void(const RunError&)> report;
  /// Rank 0 calls it once after `report`, when actions of expect_notes are no longer called.
  std::function<void()> ended;
  /// Asked by the program's thread between tasks, ten times a second: true ends the run on all ranks. Empty: never.
  std::function<bool()> stop;
};

/// Statistics of one site (recording place) on this rank.
struct SiteStatistics {
  int site = 0;
  int line = 0;
  std::string name;  ///< of the operation
  std::string kind;
  std::int64_t bytes_received = 0, bytes_sent = 0, messages = 0, tasks = 0, kernels = 0;
  std::int64_t bytes_by_lists = 0;               ///< of the bytes received, those requested by lists
  std::int64_t list_bytes = 0;                   ///< lists sent, in control messages
  std::int64_t bytes_in_place = 0, leases = 0;   ///< of the bytes and messages received, those read in place
  std::int64_t bytes_lent = 0;                   ///< of the bytes sent, those that other ranks have read in place
  std::int64_t disk_read = 0, disk_written = 0;  ///< bytes; without reads for peers
  std::int64_t stored = 0, stored_bytes = 0;     ///< elements in blocks of sized results, and bytes of the blocks
  double flops = 0;
  double first_start = 0, last_end = 0;  ///< seconds since the start of the engine; seconds = difference
  double kernel_seconds = 0;             ///< of tasks, summed
  Front::Seconds front;                  ///< while its step was the least unfinished one
};

/// Polling statistics of a rank that computes.
struct Silence {
  double longest = 0;      ///< most seconds between two polls with a task running
  std::int64_t polls = 0;  ///< polls inside kernels
};

class Engine {
 public:
  /// `lookup` finds every tensor named by submitted operations until release().
  Engine(World& world, Store& store, plan::TensorLookup lookup, EngineOptions options);
  ~Engine();

  /// Sets the disk that stores blocks outside memory, and the part of --memory reserved for peers' requests of such
  /// blocks. Called at most once, before an operation with such results is submitted; EngineOptions may set it instead.
  /// The disk must outlive the engine.
  void use_disk(Disk& disk, plan::Index serve_reserve);

  /// Runs `program` on this thread with the other threads as workers; returns when it returns. An error thrown by the
  /// program or by a kernel on any rank ends the run on all ranks: run() throws RunError on each, and one rank reports.
  void run(const std::function<void()>& program);

  /// After run() has thrown: true if all ranks have left it with this error.
  [[nodiscard]] bool failed_alike() const;

  // Called by the program's thread inside run():

  /// Existing memory for the block of the box; null: the engine allocates. The lender keeps a reference, so that no
  /// operation writes there.
  using Lend = std::function<BufferRef(const Box&)>;
  /// Queues an operation. Operations are submitted in the same order on all ranks. May execute work before returning
  /// (the queue of operations not yet admitted is bounded). `last_names` are released together with the submission,
  /// before any of its tasks can start: an update may then take over the block of the value it replaces.
  void submit(std::shared_ptr<const plan::PlannedOp> op, Kernel kernel,
              const std::vector<plan::TensorId>& last_names = {}, Lend lend = nullptr);
  /// An operation that runs again: of the form of one that was listed, on complete tensors.
  struct Repeat {
    RepeatedOperation* operation = nullptr;
    const plan::Op* names = nullptr;  ///< has its tensors
    Kernel kernel;
    std::vector<plan::TensorId> last_names{};  ///< as of submit()
  };
  /// Lists the tasks of a planned operation for repeat(), which changes its tensors. The planner knows them; they are
  /// dense and in memory. Null: this engine cannot repeat it. The result must not outlive the engine.
  [[nodiscard]] std::shared_ptr<RepeatedOperation> list(std::shared_ptr<plan::PlannedOp> op);
  /// True if the program's thread alone should run the operations at once: no thread could share their work with gain.
  [[nodiscard]] bool is_small(std::span<const Repeat> segment) const;
  /// Waits for submitted operations, then runs these one after the other, instead of submitting them.
  void repeat(std::span<Repeat> segment);
  /// Drops the program's last name of the tensor; its blocks are freed when the submitted operations no longer need
  /// them.
  void release(plan::TensorId tensor);
  /// Works until all operations submitted so far are complete on this rank.
  void wait_all();
  /// Number of operations submitted, and of those before the oldest one incomplete on this rank.
  struct Count {
    plan::Index submitted = 0, complete = 0;
  };
  [[nodiscard]] Count operations() const;
  /// Works until the first `operations` operations are complete on this rank.
  void wait_for(plan::Index operations);
  /// Works until this rank's blocks of the tensor are complete.
  void wait(plan::TensorId tensor);
  /// The bytes of a complete owned block (kControl scalars: block 0), null of an absent one. Valid until release.
  [[nodiscard]] const std::byte* block_data(plan::TensorId tensor, plan::Index block) const;
  /// Rank 0's text on every rank. Collective, at the same point of the program; the other ranks work until the text
  /// arrives.
  [[nodiscard]] std::string share(std::string text);
  /// All-to-all exchange of messages, outside of operations. Collective, at the same point of the program; ranks work
  /// until all messages have arrived. `next` gives this rank's next message (never to itself, at most 1 GiB), or false
  /// after the last one; only a few are in flight at a time. Returns the received messages by source, in the order in
  /// which they were sent.
  using Outgoing = std::function<bool(int& target, std::vector<std::byte>& bytes)>;
  using Received = std::vector<std::vector<std::vector<std::byte>>>;
  [[nodiscard]] Received exchange(const Outgoing& next);
  /// On rank 0: `action` is called once all ranks together have noted `amount` under the number, by the thread that
  /// notes or receives the last of it; finish() waits for this.
  void expect_notes(plan::Index number, plan::Index amount, std::function<void()> action);
  /// Called by a kernel: an amount of work that it has done.
  void note(plan::Index number, plan::Index amount);
  /// The program has reached a boundary (on every rank), with this rank's wish. Returns the action of all ranks.
  [[nodiscard]] Wish at_boundary(Wish mine);
  /// wait_all on every rank; afterwards no request can arrive.
  void finish();

  // For the watching thread, once a second (runtime/app/watch/watch.h):

  [[nodiscard]] RankStatus status() const;
  /// Polls if no worker did, sends and receives signs of life, and ends the run if a rank is lost. After minutes
  /// without progress on any rank, or on deadlock, rank 0 requests statuses.
  void beat();
  /// Any rank: makes rank 0 request the status of all ranks. Ignored while a request is pending.
  void ask_statuses(const std::string& reason);
  struct RollCall {
    std::string reason;
    std::vector<std::string> answers;  ///< by rank; empty: no answer
    bool deadlock = false;             ///< no rank can proceed
  };
  /// On rank 0: the result of the request, once all ranks have answered or the time limit has expired.
  [[nodiscard]] std::optional<RollCall> statuses();
  /// Ends the run on all ranks.
  void stop(const RunError& error);

  [[nodiscard]] std::vector<SiteStatistics> statistics() const;
  /// Times during which no step was open.
  [[nodiscard]] Front::Seconds between_steps() const;
  [[nodiscard]] plan::Index live_blocks() const;
  [[nodiscard]] Silence silence() const;
  /// Bytes copied because plans require packed operands.
  [[nodiscard]] plan::Index packed_bytes() const;
  /// Bytes of blocks written to and read from the disk; all zero without one.
  struct DiskFigures {
    plan::Index written = 0, read = 0;  ///< read: including files that are homes themselves
    plan::Index held = 0, most_held = 0;
  };
  [[nodiscard]] DiskFigures disk() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tdsl::rt
