#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "runtime/app/number_format.h"
#include "runtime/app/session_impl.h"
#include "runtime/kernels/combine.h"
#include "runtime/kernels/contraction.h"
#include "runtime/plan/cost/last_uses.h"

namespace tdsl::rt {

void Session::Impl::flush() {
  if (otherwise) otherwise->plan(pending);
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<std::shared_ptr<const plan::PlannedOp>> planned = planner.plan(std::exchange(pending, {}), dropped);
  planning_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  check_window();
  check_memory();
  const plan::TensorLookup lookup = planner.lookup();
  const std::vector<std::vector<plan::TensorId>> names = last_names(planned);
  for (std::size_t k = 0; k < planned.size(); ++k) predictions.add(*planned[k], lookup, setup.plan_inputs, names[k]);
  if (otherwise) {
    for (const std::vector<plan::TensorId>& list : names) {
      for (const plan::TensorId id : list) otherwise->forget(id);
    }
  }
  if (setup.options.dry_run) return;
  for (std::size_t k = 0; k < planned.size(); ++k) submit(planned[k], names[k]);
  for (const std::vector<plan::TensorId>& list : names) {
    for (const plan::TensorId id : list) forget(id);
  }
}

/// Per planned operation, the tensors whose names end with it: dropped by the program, or never named because they are
/// partial results, and mentioned by no later operation of the segment. Names that end unused are passed on at once.
std::vector<std::vector<plan::TensorId>> Session::Impl::last_names(const std::vector<std::shared_ptr<const plan::PlannedOp>>& planned) {
  for (const auto& op : planned) {
    for (const plan::TensorDesc& output : op->op.outputs) {
      if (op->part == 0 && !record_of.contains(output.id)) dropped.push_back(output.id);
    }
  }
  plan::LastUses uses = plan::last_uses(planned, std::exchange(dropped, {}));
  for (const plan::TensorId id : uses.unused) {
    predictions.free(id);
    if (otherwise) otherwise->forget(id);
    if (setup.options.dry_run) continue;
    if (planner.forget(id)) {
      kernels.erase(record_of.at(id));
      record_of.erase(id);
    } else {
      engine.release(id);
      forget(id);
    }
  }
  return std::move(uses.after);
}

/// The tensor was released: nothing of ours may mention it any more.
void Session::Impl::forget(plan::TensorId id) {
  planner.erase(id);
  record_of.erase(id);
  parts.erase(id);
}

namespace {

/// An emitted kernel knows the recorded output's dimensions only: for partial results, whose tiles have one element in
/// each part dimension, those dimensions are left out of what it sees.
Kernel without_parts(const plan::Op& op, Kernel kernel) {
  int parts = 0;
  for (const plan::OutSubscript& subscript : op.out) parts += subscript.label == plan::kPartLabel ? 1 : 0;
  if (parts == 0) return kernel;
  return [parts, kernel = std::move(kernel)](const TaskArgs& args) {
    const auto drop = [parts](Box& box) {
      box.rank -= parts;
      std::copy(box.dim.begin() + parts, box.dim.end(), box.dim.begin());
    };
    std::vector<Operand> outputs(args.outputs.begin(), args.outputs.end());
    for (Operand& output : outputs) {
      drop(output.box);
      std::copy(output.stride.begin() + parts, output.stride.end(), output.stride.begin());
    }
    TaskArgs inner = args;
    inner.outputs = outputs;
    drop(inner.out_box);
    kernel(inner);
  };
}

}  // namespace

void Session::Impl::submit(const std::shared_ptr<const plan::PlannedOp>& planned, const std::vector<plan::TensorId>& last_names) {
  const plan::Op& op = planned->op;
  // The kernel keeps the planned operation alive.
  const std::shared_ptr<const plan::Op> description(planned, &op);
  const auto type = [&op] { return *element_type_named(op.outputs.front().element.name); };
  if (planned->part == 1) {
    engine.submit(planned, combine_kernel(description, parts.at(op.reads.front().tensor), type()), last_names);
    return;
  }
  const auto recorded = kernels.find(op.record);
  TDSL_CHECK(recorded != kernels.end(), "a planned operation was recorded: " + op.name);
  Kernel kernel = std::move(recorded->second);
  kernels.erase(recorded);
  if (!op.outputs.empty() && !record_of.contains(op.outputs.front().id)) parts.emplace(op.outputs.front().id, op.combine);
  if (op.op_class == plan::OpClass::kContraction) {
    kernel = contraction_kernel(description, type());
  } else {
    kernel = without_parts(op, std::move(kernel));
  }
  engine.submit(planned, std::move(kernel), last_names);
}

void Session::Impl::check_window() const {
  const Index window = setup.plan_inputs.window;
  if (window == 0 || planner.largest_step() <= window) return;
  throw RunError("--window " + std::to_string(window) + " is too small: the largest step of this program needs " +
                     std::to_string(planner.largest_step()) + " bytes (" + format_bytes(planner.largest_step()) +
                     "); the smallest legal value is --window " + std::to_string(planner.largest_step()),
                 ExitCode::kUsage);
}

void Session::Impl::check_memory() const {
  const Index memory = setup.options.memory_bytes.value_or(0);
  const plan::MemoryNeed& need = planner.needed_memory();
  if (memory == 0 || need.bytes <= memory) return;
  throw RunError(at(need.line),
                 "--memory " + std::to_string(memory) + " is too small: '" + need.name + "' needs " + std::to_string(need.bytes) + " bytes (" +
                     format_bytes(need.bytes) + ") on a rank: " + format_bytes(need.bytes - need.step) + " of operands, results and what lives beside them, " +
                     format_bytes(need.step) + " received or copied at once; give at least --memory " + std::to_string(need.bytes),
                 ExitCode::kUsage);
}

void Session::Impl::complete() {
  flush();
  if (!setup.options.dry_run) engine.finish();
}

void Session::Impl::finish() {
  complete();
  if (setup.options.dry_run) return;
  TDSL_CHECK(engine.live_blocks() == 0, std::to_string(engine.live_blocks()) + " blocks are left at the end");
  TDSL_CHECK(setup.store.live_buffers() == 0, std::to_string(setup.store.live_buffers()) + " buffers are left at the end");
}

}  // namespace tdsl::rt
