#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "runtime/engine/engine_state.h"

namespace tdsl::rt {

/// What a task's kernel makes of a sized output.
class Engine::State::Sink final : public BlockSink {
 public:
  /// `old`: the block so far; `alone`: nothing else needs it.
  Sink(const State& state, const TaskRun& task, BufferRef old, bool alone)
      : state_(state), task_(task), old_(std::move(old)), alone_(alone) {}

  [[nodiscard]] BlockPart before() const override;
  [[nodiscard]] std::byte* begin(Index bytes) override;
  void holds(Index elements) override { elements_ = elements; }
  void keep() override;
  [[nodiscard]] std::byte* change() override;
  /// What the kernel has made; null: absent.
  [[nodiscard]] BlockPart made() const {
    return made_ == nullptr ? BlockPart{} : BlockPart{task_.out_box, made_->data(), made_->bytes()};
  }
  [[nodiscard]] BufferRef take() { return std::move(made_); }
  [[nodiscard]] Index elements() const { return elements_; }

 private:
  [[nodiscard]] BufferRef allocate(Index bytes) const;
  const State& state_;
  const TaskRun& task_;
  BufferRef old_, made_;
  Index elements_ = 0;
  bool alone_ = false;
  bool begun_ = false;
};

/// A task about to run: what its kernel is called with, and what must be copied before.
struct Engine::State::Call {
  /// A box put together from parts of several blocks.
  struct Assembly {
    Operand whole;
    Index element_bytes = 0;
    std::vector<Operand> parts;
    BufferRef buffer;  ///< of the whole, if it is ours alone
  };
  /// One call of the kernel.
  struct Run {
    std::vector<Interval> labels;
    std::vector<Operand> inputs;
  };
  std::vector<Run> runs;  ///< empty: the operation writes nothing here
  std::vector<Operand> outputs;
  std::vector<Assembly> assemblies;
  std::deque<std::vector<BlockPart>> blocks;  ///< of sized operands
  std::vector<std::unique_ptr<Sink>> sinks;   ///< parallel to the outputs, if any is sized: null of those that are not
  std::vector<BlockSink*> sink_list;
  const Block* taken =
      nullptr;  ///< the base's block whose buffer becomes the output's: other reads of it are copied first
  bool fresh = false;
};

}  // namespace tdsl::rt
