#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "runtime/engine/tasks/footprint.h"
#include "runtime/engine/watch/profile.h"

namespace tdsl::rt {

/// A kernel of more points may be called in pieces (Note [Long kernels]).
inline constexpr Index kPointsAtOnce = Index{1} << 20;

/// Under --memory: throws RunError if memory has no room for a block of `bytes` of the task, which runs alone. Without
/// the lock.
using CheckBlock = std::function<void(const TaskRun& task, Index bytes)>;

/// A sized output of a task, produced by its kernel.
class SizedSink final : public BlockSink {
 public:
  /// `old`: the current block; `alone`: nothing else needs it.
  SizedSink(const Context& context, const CheckBlock& check, const TaskRun& task, BufferRef old, bool alone)
      : context_(context), check_(check), task_(task), old_(std::move(old)), alone_(alone) {}

  [[nodiscard]] BlockPart before() const override;
  [[nodiscard]] std::byte* begin(Index bytes) override;
  void holds(Index elements) override { elements_ = elements; }
  void keep() override;
  [[nodiscard]] std::byte* change() override;
  /// The block; null: absent.
  [[nodiscard]] BlockPart made() const {
    return made_ == nullptr ? BlockPart{} : BlockPart{task_.out_box, made_->data(), made_->bytes()};
  }
  [[nodiscard]] BufferRef take() { return std::move(made_); }
  [[nodiscard]] Index elements() const { return elements_; }

 private:
  [[nodiscard]] BufferRef allocate(Index bytes) const;
  const Context& context_;
  const CheckBlock& check_;
  const TaskRun& task_;
  BufferRef old_, made_;
  Index elements_ = 0;
  bool alone_ = false;
  bool begun_ = false;
};

/// A task about to run: the arguments of its kernel, and the copies to perform first.
struct Call {
  /// A box assembled from parts of several blocks.
  struct Assembly {
    Operand whole;
    Index element_bytes = 0;
    std::vector<Operand> parts{};
    BufferRef buffer{};                  ///< of the whole, if the task owns it
    RowListRef wanted{};                 ///< the only rows to copy; null: all
    std::vector<PackedRows> by_lists{};  ///< further parts, with `wanted`
  };
  /// One call of the kernel.
  struct Run {
    std::vector<Interval> labels;
    std::vector<Operand> inputs;
  };
  /// Copies all assemblies. Without the lock.
  void assemble() const;
  /// A new run with the memory of an earlier one; its lists are empty.
  Run& add_run();
  /// Empties the call for another task. Its lists keep their memory.
  void clear();

  std::vector<Run> runs;  ///< empty: the operation writes nothing here
  std::vector<Operand> outputs;
  std::vector<Assembly> assemblies;
  std::deque<std::vector<BlockPart>> blocks;      ///< of sized operands
  std::vector<std::unique_ptr<SizedSink>> sinks;  ///< parallel to the outputs if any is sized; null: dense
  std::vector<BlockSink*> sink_list;
  Run spare;                     ///< memory for the next run
  const Block* taken = nullptr;  ///< the base's block whose buffer the output takes over; other reads of it are copied
  bool fresh = false;
};

/// Prepares the calls of tasks' kernels and completes their sized outputs. Under the lock.
class KernelCalls {
 public:
  KernelCalls(Context& context, Footprint& footprint, SiteCounts& profile, CheckBlock check)
      : context_(context), footprint_(footprint), profile_(profile), check_(std::move(check)) {}

  /// Locates the operands and allocates the output blocks.
  void prepare(TaskRun& task, Call& call);
  /// After the kernel: its sized outputs become the blocks.
  void end_sized(const TaskRun& task, const Call& call);

 private:
  [[nodiscard]] Operand find_operand(const TaskRun& task, std::size_t k, const Box& box, Call& call);
  void begin_outputs(TaskRun& task, Call& call);
  void begin_updated(TaskRun& task, Call& call);
  void begin_continued(TaskRun& task, Call& call);
  void begin_sized(TaskRun& task, Call& call);

  Context& context_;
  Footprint& footprint_;
  SiteCounts& profile_;
  CheckBlock check_;
};

/// The arguments of a call of the task's kernel, without sinks; refer to `run` and `outputs`.
[[nodiscard]] TaskArgs arguments_of(const TaskRun& task, const Call::Run& run, std::span<const Operand> outputs,
                                    bool fresh);

/// The box of output `k` computed by the task: its tile, or a loop's whole result.
[[nodiscard]] Box output_box(const TaskRun& task, std::size_t k);

/// True if only `own_uses` of one task of the operation hold the block.
[[nodiscard]] bool is_last_holder(const OperationRun& operation, const TensorInstance& tensor, const Block& block,
                                  Index own_uses);

}  // namespace tdsl::rt
