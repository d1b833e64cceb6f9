#include <cstring>
#include <utility>

#include "runtime/engine/tasks/call.h"

// Sized outputs of a task's kernel.

namespace tdsl::rt {

namespace {

/// True if only this task needs the base's block and reads it only where it writes.
bool replaces_alone(const TaskRun& task, const Block& block) {
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

}  // namespace

/// Gives the kernel a sink for every sized output.
void KernelCalls::begin_sized(TaskRun& task, Call& call) {
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
      old = std::move(context_.tensors.block(*operation.outputs[k], task.out_number).buffer);
    } else if (operation.op().base >= 0) {
      TDSL_CHECK(operation.outputs.size() == 1 && operation.op().outputs[k].sized() && task.base.parts.size() == 1 &&
                     task.base.parts[0].box == task.out_box,
                 "a sized base is a tensor of the result's tiles");
      Block& base = *task.base.parts[0].local;
      alone = task.task.hit && replaces_alone(task, base);
      old = alone ? std::move(base.buffer) : base.buffer;
    }
    call.sinks.push_back(std::make_unique<SizedSink>(context_, check_, task, std::move(old), alone));
    call.sink_list.push_back(call.sinks.back().get());
    // If nothing is written, the base remains and no kernel is called.
    if (call.runs.empty()) call.sinks.back()->keep();
  }
}

void KernelCalls::end_sized(const TaskRun& task, const Call& call) {
  for (std::size_t k = 0; k < call.sinks.size(); ++k) {
    if (call.sinks[k] == nullptr) continue;
    BufferRef& buffer = context_.tensors.block(*task.operation->outputs[k], task.out_number).buffer;
    buffer = call.sinks[k]->take();
    SiteStatistics& site = profile_.sites.at(task.operation->op().site);
    site.stored += call.sinks[k]->elements();
    if (call.sinks[k]->elements() > 0) site.stored_bytes += buffer->bytes();
  }
}

BlockPart SizedSink::before() const {
  if (old_ == nullptr) return {task_.out_box, nullptr, 0};
  return {task_.out_box, old_->data(), old_->bytes()};
}

std::byte* SizedSink::begin(Index bytes) {
  TDSL_CHECK(!begun_, "a kernel makes a block once");
  begun_ = true;
  if (bytes == 0) return nullptr;
  made_ = allocate(bytes);
  return made_->data();
}

void SizedSink::keep() {
  TDSL_CHECK(!begun_, "a kernel makes a block once");
  begun_ = true;
  made_ = old_;
}

std::byte* SizedSink::change() {
  keep();
  if (made_ == nullptr || alone_) return made_ == nullptr ? nullptr : made_->data();
  made_ = allocate(old_->bytes());
  std::memcpy(made_->data(), old_->data(), static_cast<std::size_t>(old_->bytes()));
  return made_->data();
}

/// The block may be larger than the bytes reserved for it.
BufferRef SizedSink::allocate(Index bytes) const {
  const Index limit = context_.options.memory_bytes;
  if (limit > 0 && context_.store.live_bytes() + bytes > limit) check_(task_, bytes);
  return context_.store.allocate(bytes);
}

}  // namespace tdsl::rt
