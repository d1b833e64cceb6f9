#include <cstring>
#include <utility>

#include "runtime/engine/call.h"

// What a task's kernel sees of sized operands and outputs.

namespace tdsl::rt {

/// The operand's blocks where they are; nothing is assembled.
Operand Engine::State::find_blocks(const Input& input, Call& call) const {
  std::vector<BlockPart>& blocks = call.blocks.emplace_back();
  for (const InputPart& part : input.parts) {
    const BufferRef& buffer = part.local != nullptr ? part.local->buffer : part.remote->buffer;
    blocks.push_back({part.box, buffer != nullptr ? buffer->data() : nullptr, buffer != nullptr ? buffer->bytes() : 0});
  }
  Operand operand;
  operand.parts = blocks;
  return operand;
}

/// Gives the kernel a sink for every sized output.
void Engine::State::begin_sized(TaskRun& task, Call& call) {
  OperationRun& operation = *task.operation;
  for (std::size_t k = 0; k < operation.outputs.size(); ++k) {
    if (!operation.outputs[k]->sized()) {
      call.sinks.push_back(nullptr);
      call.sink_list.push_back(nullptr);
      continue;
    }
    BufferRef old;
    bool alone = true;
    if (!task.task.first) {
      old = std::move(tensors.block(*operation.outputs[k], task.out_number).buffer);
    } else if (operation.op().base >= 0) {
      TDSL_CHECK(operation.outputs.size() == 1 && operation.op().outputs[k].sized() && task.base.parts.size() == 1 &&
                     task.base.parts[0].box == task.out_box,
                 "a sized base is a tensor of the result's tiles");
      Block& base = *task.base.parts[0].local;
      alone = task.task.hit && replaces_alone(task, base);
      old = alone ? std::move(base.buffer) : base.buffer;
    }
    call.sinks.push_back(std::make_unique<Sink>(*this, task, std::move(old), alone));
    call.sink_list.push_back(call.sinks.back().get());
    // Where nothing is written the base stays, and no kernel is called.
    if (call.runs.empty()) call.sinks.back()->keep();
  }
}

/// Nothing but this task needs the base's block, and the task reads it only where it writes.
bool Engine::State::replaces_alone(const TaskRun& task, const Block& block) const {
  const OperationRun& operation = *task.operation;
  if (!operation.admitted) return false;
  Index own_uses = 1;
  for (std::size_t k = 0; k < task.inputs.size(); ++k) {
    for (const InputPart& part : task.inputs[k].parts) {
      if (part.local != &block) continue;
      if (!operation.pointwise_base[k]) return false;
      ++own_uses;
    }
  }
  return block.buffer != nullptr && is_last_holder(operation, *task.base.tensor, block, own_uses);
}

/// Under the lock: the blocks are what the kernel has made.
void Engine::State::end_sized(TaskRun& task, Call& call) {
  for (std::size_t k = 0; k < call.sinks.size(); ++k) {
    if (call.sinks[k] == nullptr) continue;
    BufferRef& buffer = tensors.block(*task.operation->outputs[k], task.out_number).buffer;
    buffer = call.sinks[k]->take();
    SiteStatistics& site = profile.sites.at(task.operation->op().site);
    site.stored += call.sinks[k]->elements();
    if (call.sinks[k]->elements() > 0) site.stored_bytes += buffer->bytes();
  }
}

BlockPart Engine::State::Sink::before() const {
  if (old_ == nullptr) return {task_.out_box, nullptr, 0};
  return {task_.out_box, old_->data(), old_->bytes()};
}

std::byte* Engine::State::Sink::begin(Index bytes) {
  TDSL_CHECK(!begun_, "a kernel makes a block once");
  begun_ = true;
  if (bytes == 0) return nullptr;
  made_ = allocate(bytes);
  return made_->data();
}

void Engine::State::Sink::keep() {
  TDSL_CHECK(!begun_, "a kernel makes a block once");
  begun_ = true;
  made_ = old_;
}

std::byte* Engine::State::Sink::change() {
  keep();
  if (made_ == nullptr || alone_) return made_ == nullptr ? nullptr : made_->data();
  made_ = allocate(old_->bytes());
  std::memcpy(made_->data(), old_->data(), static_cast<std::size_t>(old_->bytes()));
  return made_->data();
}

/// Without the engine's lock, in a kernel: the block may be larger than was reserved for it.
BufferRef Engine::State::Sink::allocate(Index bytes) const {
  const Index limit = state_.options.memory_bytes;
  if (limit > 0 && state_.store.live_bytes() + bytes > limit) state_.check_block(task_, bytes);
  return state_.store.allocate(bytes);
}

void Engine::State::check_block(const TaskRun& task, Index bytes) const {
  const Lock lock(mutex);
  const bool alone = open_steps.count() == 1 && open_steps.least() == task.step;
  if (alone && !sized.any_announced()) footprint.stop_for_block(task.operation->op(), bytes);
}

}  // namespace tdsl::rt
