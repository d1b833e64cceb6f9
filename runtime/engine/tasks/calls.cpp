#include "runtime/engine/tasks/call.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "runtime/engine/messages/lists.h"
#include "runtime/kernels/copy.h"

// Note [Interiors]
// A stencil's operand extends slightly into neighbouring blocks. Assembling it whole would move every element twice
// more than the kernel does. So the box of labels is divided into an interior, whose operands each lie in one block and
// are read in place, and boundary strips, whose small operands are assembled.

namespace tdsl::rt {

namespace {

/// Smaller operands, in bytes, are assembled whole.
constexpr Index kLeastCut = 64 << 10;

using Labels = std::vector<Interval>;

Operand operand_of(const Input& input, const InputPart& part) {
  return part.local != nullptr ? row_major(part.local->buffer->data(), input.tensor->box_of(part.number))
                               : row_major(part.remote->buffer->data(), part.remote->box);
}

double volume_of(const Labels& labels) {
  double volume = 1;
  for (const Interval& l : labels) volume *= static_cast<double>(l.size());
  return volume;
}

/// Label values whose elements of one dimension lie inside `part`, where `touched`, the elements of all labels, extends
/// beyond it. Empty unless the subscript is one label plus or minus constants.
Interval inside_part(const plan::DimAccess& dim, Interval part, Interval touched, Interval label) {
  const Index c = dim.terms[0].coefficient;
  if (std::abs(c) != 1) return {};
  if (part.lo > touched.lo) {
    if (c == 1) label.lo = std::max(label.lo, part.lo - dim.offset.lo);
    if (c == -1) label.hi = std::min(label.hi, dim.offset.lo - part.lo + 1);
  }
  if (part.hi < touched.hi) {
    if (c == 1) label.hi = std::min(label.hi, part.hi - dim.offset.hi + 1);
    if (c == -1) label.lo = std::max(label.lo, dim.offset.hi - part.hi);
  }
  return label;
}

/// True for an operand in several parts that is large enough to be read in place where possible.
bool has_parts(const Input& input) {
  return !input.sized && input.parts.size() >= 2 && input.box.volume() * input.element_bytes >= kLeastCut;
}

/// The interior, or all labels if none is worthwhile.
Labels interior(const TaskRun& task) {
  const Labels& all = task.labels;
  Labels inner = all;
  for (std::size_t k = 0; k < task.inputs.size(); ++k) {
    const Input& input = task.inputs[k];
    if (!has_parts(input)) continue;
    const auto main =
        std::max_element(input.parts.begin(), input.parts.end(),
                         [](const InputPart& a, const InputPart& b) { return a.box.volume() < b.box.volume(); });
    const plan::Access& access = task.operation->op().reads[k];
    for (int d = 0; d < input.box.rank; ++d) {
      if (main->box[d] == input.box[d]) continue;
      const plan::DimAccess& dim = access.dims[static_cast<std::size_t>(d)];
      if (dim.whole || dim.divisor != 1 || dim.terms.size() != 1) return all;
      Interval& label = inner[static_cast<std::size_t>(dim.terms[0].label)];
      label = inside_part(dim, main->box[d], input.box[d], label);
    }
  }
  return 2 * volume_of(inner) < volume_of(all) ? all : inner;
}

/// The interior, then the strips around it; together all labels, each point once.
std::vector<Labels> interior_and_strips(const Labels& all, const Labels& inner) {
  std::vector<Labels> boxes{inner};
  Labels rest = all;
  for (std::size_t l = 0; l < all.size(); ++l) {
    for (const Interval side : {Interval{all[l].lo, inner[l].lo}, Interval{inner[l].hi, all[l].hi}}) {
      if (side.empty()) continue;
      rest[l] = side;
      boxes.push_back(rest);
    }
    rest[l] = inner[l];
  }
  return boxes;
}

/// Calls f on boxes that partition `box` without `hole`.
template <class F>
void for_each_outside(Box box, const Box& hole, const F& f) {
  const Box inner = hole.rank == box.rank ? intersect(box, hole) : Box{};
  if (hole.rank != box.rank || inner.empty()) return f(box);
  for (int d = 0; d < box.rank; ++d) {
    for (const Interval side : {Interval{box[d].lo, inner[d].lo}, Interval{inner[d].hi, box[d].hi}}) {
      if (side.empty()) continue;
      Box slab = box;
      slab[d] = side;
      f(slab);
    }
    box[d] = inner[d];
  }
}

/// The part of the output tile that the task's kernel writes regardless of the data; if unknown, a box of rank -1,
/// which matches none.
Box written_box(const TaskRun& task) {
  const plan::Op& op = task.operation->op();
  Box unknown;
  unknown.rank = -1;
  if (!op.overwrites || !task.task.hit) return unknown;
  Box box = task.out_box;
  for (int d = 0; d < box.rank; ++d) {
    const plan::OutSubscript& s = op.out[static_cast<std::size_t>(d)];
    if (s.label < 0 || s.coefficient != 1) return unknown;
    const Interval label = task.labels[static_cast<std::size_t>(s.label)];
    box[d] = intersect(box[d], {label.lo + s.constant, label.hi + s.constant});
  }
  return box;
}

/// Strides and alignment may affect the order of a kernel's sums. A part of a local block has the block's strides, a
/// received part its own.
bool must_pack(const TaskRun& task, const Input& input) {
  if (!task.operation->planned->plan.packs() || input.parts.size() != 1) return false;
  const InputPart& part = input.parts[0];
  return part.local != nullptr && input.tensor->box_of(part.number) != input.box;
}

/// The base's local block with exactly the output's box; null: none.
const Block* replaced_block(const TaskRun& task) {
  const Input& base = task.base;
  if (!task.task.first || task.operation->op().base < 0 || base.parts.size() != 1 || base.parts[0].local == nullptr)
    return nullptr;
  return base.tensor->box_of(base.parts[0].number) == task.out_box ? base.parts[0].local : nullptr;
}

/// True if only this task still needs the base's block, and copying the elements it reads but does not write is cheaper
/// than copying the block.
bool may_take_over(const TaskRun& task, const Block& block) {
  const OperationRun& operation = *task.operation;
  const TensorInstance& tensor = *task.base.tensor;
  Index own_uses = 1;
  Index copied = 0;
  for (std::size_t k = 0; k < task.inputs.size(); ++k) {
    for (const InputPart& part : task.inputs[k].parts) {
      if (part.local != &block) continue;
      ++own_uses;
      if (!operation.pointwise_base[k]) copied += part.box.volume();
    }
  }
  if (copied >= task.out_box.volume() && copied > 0) return false;
  if (!operation.admitted && !operation.base_read_in_place) return false;
  return is_last_holder(operation, tensor, block, own_uses);
}

/// Gives the result's block the buffer of an operand's block with the same box, if only this task still needs that and
/// reads each element before it writes it.
void take_over_operand(const TaskRun& task, const TensorInstance& output, Block& block) {
  const OperationRun& operation = *task.operation;
  for (std::size_t k = 0; k < task.inputs.size() && task.task.hit; ++k) {
    const Input& input = task.inputs[k];
    Block* const old = operation.replaceable[k] && input.parts.size() == 1 ? input.parts[0].local : nullptr;
    if (old == nullptr || old->buffer == nullptr || input.sized || input.element_bytes != output.element_bytes() ||
        input.tensor->box_of(input.parts[0].number) != task.out_box)
      continue;
    Index own_uses = 0;
    for (const Input& other : task.inputs)
      own_uses += std::ranges::count(other.parts, old, [](const InputPart& part) -> Block* { return part.local; });
    if (!is_last_holder(operation, *input.tensor, *old, own_uses)) continue;
    block.buffer = std::move(old->buffer);
    return;
  }
}

/// The rows of an operand that a task meets, if any part of it came by a list; null: all are there.
RowListRef rows_met(const TaskRun& task, std::size_t k) {
  const auto by_list = [](const InputPart& part) { return part.remote != nullptr && part.remote->rows != nullptr; };
  if (std::ranges::none_of(task.inputs[k].parts, by_list)) return nullptr;
  const OperationRun& operation = *task.operation;
  const std::vector<plan::Access>& reads = operation.op().reads;
  const auto first = static_cast<std::size_t>(std::ranges::find(reads, reads[k]) - reads.begin());
  const OperationRun::Met& met = *operation.meetings[first];
  const std::vector<InputPart>& blocks = task.inputs[met.walked].parts;
  return blocks.size() == 1 ? met.meetings->of_block.at(blocks.front().number) : met.meetings->all;
}

/// The blocks of a dense operand in place, for a kernel that reads them one by one.
Operand find_dense_blocks(const Input& input, Call& call) {
  std::vector<BlockPart>& blocks = call.blocks.emplace_back();
  for (const InputPart& part : input.parts) {
    const Operand block = operand_of(input, part);
    blocks.push_back({block.box, block.data, block.box.volume() * input.element_bytes});
  }
  Operand operand;
  operand.parts = blocks;
  operand.box = input.box;
  return operand;
}

/// The operand's blocks in place, without assembly.
Operand find_blocks(const Input& input, Call& call) {
  std::vector<BlockPart>& blocks = call.blocks.emplace_back();
  for (const InputPart& part : input.parts) {
    const BufferRef& buffer = part.local != nullptr ? part.local->buffer : part.remote->buffer;
    blocks.push_back({part.box, buffer != nullptr ? buffer->data() : nullptr, buffer != nullptr ? buffer->bytes() : 0});
  }
  Operand operand;
  operand.parts = blocks;
  return operand;
}

}  // namespace

void KernelCalls::prepare(TaskRun& task, Call& call) {
  const Block* const replaced = task.operation->sized_output ? nullptr : replaced_block(task);
  if (replaced != nullptr && task.task.hit && may_take_over(task, *replaced)) call.taken = replaced;
  if (task.task.hit || task.operation->op().base < 0 || !task.task.first) {
    const bool cut = task.operation->op().divisible && !task.operation->sized_output && task.task.hit &&
                     call.taken == nullptr && !task.operation->planned->plan.packs();
    const Labels inner = cut && std::ranges::any_of(task.inputs, has_parts) ? interior(task) : Labels{};
    if (inner.empty() || inner == task.labels) {
      call.add_run().labels.assign(task.labels.begin(), task.labels.end());
    } else {
      for (Labels& labels : interior_and_strips(task.labels, inner)) call.add_run().labels = std::move(labels);
    }
  }
  for (Call::Run& run : call.runs) {
    for (std::size_t k = 0; k < task.inputs.size(); ++k) {
      const Box& whole = task.inputs[k].box;
      // The tensor may be freed: only its blocks and boxes are held.
      const Box box =
          call.runs.size() == 1 ? whole : plan::touched_box(task.operation->op().reads[k], run.labels, whole);
      run.inputs.push_back(find_operand(task, k, box, call));
    }
  }
  if (task.task.first) begin_outputs(task, call);
  if (task.operation->sized_output) begin_sized(task, call);
  for (std::size_t k = 0; k < task.operation->outputs.size(); ++k) {
    const Box box = output_box(task, k);
    const bool sized = task.operation->op().outputs[k].sized();
    call.outputs.push_back(row_major(
        box.empty() || sized ? nullptr
                             : context_.tensors.block(*task.operation->outputs[k], task.out_number).buffer->data(),
        box));
  }
}

TaskArgs arguments_of(const TaskRun& task, const Call::Run& run, std::span<const Operand> outputs, bool fresh) {
  TaskArgs args;
  args.labels = run.labels;
  args.inputs = run.inputs;
  args.outputs = outputs;
  args.out_box = task.out_box;
  args.first = task.task.first;
  args.last = task.task.last;
  args.hit = task.task.hit;
  args.fresh = fresh;
  return args;
}

// A loop's empty result has no blocks, and its tensor may be freed before the loop runs: the shape comes from the
// operation.
Box output_box(const TaskRun& task, std::size_t k) {
  const plan::Op& op = task.operation->op();
  if (op.op_class != plan::OpClass::kLoop) return task.out_box;
  const std::vector<Index>& shape = op.outputs[k].shape;
  Box box;
  box.rank = static_cast<int>(shape.size());
  for (int d = 0; d < box.rank; ++d) box[d] = {0, shape[static_cast<std::size_t>(d)]};
  return box;
}

/// The box of an operand: in place, or in the buffer of its assembly.
Operand KernelCalls::find_operand(const TaskRun& task, std::size_t k, const Box& box, Call& call) {
  const Input& input = task.inputs[k];
  if (input.parts.empty() || box.empty() || task.operation->op().is_continued(k)) return row_major(nullptr, box);
  if (input.sized) {
    Operand blocks = find_blocks(input, call);
    blocks.box = box;
    return blocks;
  }
  const bool packed = must_pack(task, input);
  if (packed) profile_.packed_bytes += box.volume() * input.element_bytes;
  const bool overwritten = call.taken != nullptr && !task.operation->pointwise_base[k];
  const RowListRef met = rows_met(task, k);
  for (const InputPart& part : input.parts) {
    if (met == nullptr && plan::contains(part.box, box) && !packed && !(overwritten && part.local == call.taken)) {
      return part_of(operand_of(input, part), box, input.element_bytes);
    }
  }
  if (task.operation->op().by_blocks && met == nullptr) return find_dense_blocks(input, call);
  BufferRef buffer = context_.store.allocate(box.volume() * input.element_bytes);
  Call::Assembly assembly{.whole = row_major(buffer->data(), box), .element_bytes = input.element_bytes};
  assembly.buffer = std::move(buffer);
  assembly.wanted = met;
  for (const InputPart& part : input.parts) {
    const Box piece = intersect(part.box, box);
    if (part.remote != nullptr && part.remote->rows != nullptr) {
      const BufferRef& rows = part.remote->buffer;
      assembly.by_lists.push_back({part.remote->rows, part.box, rows != nullptr ? rows->data() : nullptr});
      continue;
    }
    if (!piece.empty()) assembly.parts.push_back(part_of(operand_of(input, part), piece, input.element_bytes));
  }
  call.assemblies.push_back(std::move(assembly));
  return call.assemblies.back().whole;
}

/// For the task of the first panel: gives its output blocks a buffer, which is new, taken over from an operand or the
/// base if nothing else needs it, or shared with the base if the operation writes nothing.
void KernelCalls::begin_outputs(TaskRun& task, Call& call) {
  const OperationRun& operation = *task.operation;
  call.fresh = operation.op().base < 0;
  if (!operation.sized_output) footprint_.promised -= footprint_.counted(operation.space.output_bytes(task.task.tile));
  if (!operation.op().continues.empty()) return begin_continued(task, call);
  for (TensorInstance* output : operation.outputs) {
    if (output->sized()) continue;
    if (!call.fresh) return begin_updated(task, call);
    Block& block = context_.tensors.block(*output, task.out_number);
    if (operation.lend) block.buffer = operation.lend(task.out_box);
    if (block.buffer == nullptr) take_over_operand(task, *output, block);
    if (block.buffer == nullptr)
      block.buffer = context_.store.allocate_block(task.out_box.volume() * output->element_bytes());
  }
}

void KernelCalls::begin_updated(TaskRun& task, Call& call) {
  const OperationRun& operation = *task.operation;
  TDSL_CHECK(operation.outputs.size() == 1, "an operation with a base has one output");
  TensorInstance& output = *operation.outputs[0];
  Block& block = context_.tensors.block(output, task.out_number);
  const Input& base = task.base;
  if (replaced_block(task) != nullptr && (!task.task.hit || call.taken != nullptr)) {
    Block& old = *base.parts[0].local;
    block.buffer = task.task.hit ? std::move(old.buffer) : old.buffer;
    return;
  }
  block.buffer = context_.store.allocate_block(task.out_box.volume() * output.element_bytes());
  Call::Assembly copy{row_major(block.buffer->data(), task.out_box), output.element_bytes()};
  const Box written = written_box(task);
  for (const InputPart& part : base.parts) {
    for_each_outside(part.box, written, [&](const Box& kept) {
      copy.parts.push_back(part_of(operand_of(base, part), kept, base.element_bytes));
    });
  }
  call.assemblies.push_back(std::move(copy));
}

/// A loop's results start from elements of operands: in place if nothing else needs them, else in a copy.
void KernelCalls::begin_continued(TaskRun& task, Call& call) {
  const OperationRun& operation = *task.operation;
  for (std::size_t k = 0; k < operation.outputs.size(); ++k) {
    const Box box = output_box(task, k);
    if (box.empty()) continue;
    TensorInstance& output = *operation.outputs[k];
    Block& block = context_.tensors.block(output, task.out_number);
    const int read = operation.op().continues[k];
    if (read >= 0) {
      const Input& input = task.inputs[static_cast<std::size_t>(read)];
      Block* const old = input.parts.size() == 1 ? input.parts[0].local : nullptr;
      const bool whole = old != nullptr && input.tensor->box_of(input.parts[0].number) == box;
      if (whole && is_last_holder(operation, *input.tensor, *old, 1)) {
        block.buffer = std::move(old->buffer);
        continue;
      }
    }
    block.buffer = context_.store.allocate_block(box.volume() * output.element_bytes());
    if (read < 0) continue;
    Call::Assembly copy{row_major(block.buffer->data(), box), output.element_bytes()};
    const Input& input = task.inputs[static_cast<std::size_t>(read)];
    for (const InputPart& part : input.parts)
      copy.parts.push_back(part_of(operand_of(input, part), part.box, input.element_bytes));
    call.assemblies.push_back(std::move(copy));
  }
}

bool is_last_holder(const OperationRun& operation, const TensorInstance& tensor, const Block& block, Index own_uses) {
  if (tensor.named || tensor.readers != (operation.admitted ? 0 : 1)) return false;
  return block.uses == own_uses && block.requests == 0 && block.sends == 0 && block.buffer.use_count() == 1;
}

Call::Run& Call::add_run() {
  runs.push_back(std::move(spare));
  spare = {};
  return runs.back();
}

void Call::clear() {
  if (!runs.empty()) spare = std::move(runs.front());
  spare.labels.clear();
  spare.inputs.clear();
  runs.clear();
  outputs.clear();
  assemblies.clear();
  blocks.clear();
  sinks.clear();
  sink_list.clear();
  taken = nullptr;
  fresh = false;
}

void Call::assemble() const {
  for (const Assembly& assembly : assemblies) {
    for (const Operand& part : assembly.parts) {
      if (assembly.wanted == nullptr)
        copy_box(part, assembly.whole, part.box, assembly.element_bytes);
      else
        copy_rows(*assembly.wanted, part, assembly.whole, assembly.element_bytes);
    }
    for (const PackedRows& part : assembly.by_lists)
      copy_rows(*assembly.wanted, part, assembly.whole, assembly.element_bytes);
  }
}

}  // namespace tdsl::rt
