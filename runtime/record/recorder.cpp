#include "runtime/record/recorder.h"

#include <utility>

#include "runtime/check.h"
#include "runtime/plan/compressed.h"
#include "runtime/plan/op_builder.h"
#include "runtime/record/summary.h"

namespace tdsl::record {

plan::TensorDesc Recorder::new_tensor(ElementType type, std::vector<Index> shape, std::string name) {
  return {next_tensor_++,
          {static_cast<Index>(element_size(type)), element_name(type).data()},
          std::move(shape),
          std::move(name)};
}

TensorHandle Recorder::handle(plan::TensorDesc desc, ElementType type, bool source) {
  const plan::TensorId id = desc.id;
  TensorState* const state =
      std::make_unique<TensorState>(TensorState{this, std::move(desc), type, 0, source}).release();
  if (follows_names_) named_.emplace(id, state);
  return TensorHandle(state);
}

void Recorder::drop(plan::TensorId tensor) noexcept {
  segment_.dropped.push_back(tensor);
  if (follows_names_) named_.erase(tensor);
}

void Recorder::set_numbers(Numbers numbers) {
  next_tensor_ = numbers.tensor;
  next_record_ = numbers.record;
}

TensorHandle Recorder::name(const plan::TensorDesc& desc, ElementType type) {
  const auto found = named_.find(desc.id);
  return found != named_.end() ? TensorHandle(found->second) : handle(desc, type);
}

void Recorder::hand_on(plan::Segment segment) {
  flush();
  sink_.segment(std::move(segment));
}

void Recorder::add(plan::Op op) {
  op.record = next_record_++;
  segment_.ops.push_back(std::move(op));
}

TensorHandle Recorder::whole_tensor(plan::OpClass op_class, std::string_view name, ElementType type,
                                    const std::vector<Index>& shape, std::vector<Index> tile, Place place) {
  plan::OpBuilder op(op_class, name, place.site, place.line);
  for (std::size_t d = 0; d < shape.size(); ++d) op.out("i" + std::to_string(d), shape[d]);
  op.flops(0).tile(std::move(tile));
  return record(std::move(op.op()), type);
}

TensorHandle Recorder::load(std::string_view name, ElementType type, std::vector<Index> shape, std::vector<Index> tile,
                            Place place) {
  return whole_tensor(plan::OpClass::kLoad, name, type, shape, std::move(tile), place);
}

TensorHandle Recorder::load_stored(std::string_view name, ElementType type, std::vector<Index> shape,
                                   const plan::Estimate& stored, std::shared_ptr<const plan::RowCounts> rows,
                                   std::vector<Index> tile, Place place) {
  TDSL_CHECK(!shape.empty(), "scalars are not compressed");
  plan::OpBuilder op(plan::OpClass::kLoad, name, place.site, place.line);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    op.out("i" + std::to_string(d), shape[d]);
    if (d > 0) op.uncut();
  }
  op.flops(0).tile(std::move(tile)).stored(plan::compressed(shape, stored), stored);
  if (rows != nullptr && rows->rows == shape[0]) op.op().outputs.front().rows = std::move(rows);
  return record(std::move(op.op()), type);
}

TensorHandle Recorder::stored_source(std::string_view name, ElementType type, std::vector<Index> shape,
                                     const plan::Estimate& stored, std::vector<Index> tile, Place place) {
  TDSL_CHECK(shape.size() == 2, "matrices are compressed");
  plan::OpBuilder op(plan::OpClass::kSource, name, place.site, place.line);
  op.out("i0", shape[0])
      .out("i1", shape[1])
      .uncut()
      .flops(0)
      .tile(std::move(tile))
      .stored(plan::compressed_rows(), stored);
  return record(std::move(op.op()), type);
}

TensorHandle Recorder::source(std::string_view name, ElementType type, std::vector<Index> shape,
                              std::vector<Index> tile, Place place) {
  return whole_tensor(plan::OpClass::kSource, name, type, shape, std::move(tile), place);
}

TensorHandle Recorder::record(plan::Op op, ElementType type) {
  plan::TensorDesc desc = new_tensor(type, op.shape, op.name);
  desc.tile = op.tile;
  if (!op.outputs.empty()) {  // the builder determines the storage
    desc.storage = std::move(op.outputs.front().storage);
    desc.uncut = op.uncut;
    desc.storage.values = type != ElementType::kBool;  // independent of the matrix it resembles
    desc.stored = op.outputs.front().stored;
    desc.rows = std::move(op.outputs.front().rows);
  }
  op.outputs = {desc};
  const bool source = op.op_class == plan::OpClass::kSource || op.op_class == plan::OpClass::kLoad;
  add(std::move(op));
  TensorHandle result = handle(std::move(desc), type, source);
  if (segment_.ops.size() >= kSegmentLimit) flush();
  return result;
}

std::vector<TensorHandle> Recorder::loop(plan::Op op, std::vector<LoopOutput> outputs) {
  std::vector<TensorHandle> results;
  for (LoopOutput& output : outputs) {
    plan::TensorDesc desc = new_tensor(output.type, std::move(output.shape), std::move(output.name));
    op.outputs.push_back(desc);
    op.continues.push_back(output.continues);
    results.push_back(handle(std::move(desc), output.type));
  }
  add(std::move(op));
  if (segment_.ops.size() >= kSegmentLimit) flush();
  return results;
}

TensorHandle Recorder::control(const TensorHandle& scalar, Place place) {
  const plan::TensorDesc& desc = scalar.state().desc;
  TDSL_CHECK(desc.shape.empty(), "control is steered by scalars");
  plan::OpBuilder op(plan::OpClass::kControl, desc.name, place.site, place.line);
  op.read(desc.id, {}).replicated().flops(0);
  TensorHandle copy = record(std::move(op.op()), scalar.state().type);
  flush();
  return copy;
}

void Recorder::collect(std::string_view name, std::span<const TensorState* const> tensors, Place place) {
  plan::OpBuilder op(plan::OpClass::kCollect, name, place.site, place.line);
  op.write({}, {}).on_rank(0).flops(0);
  for (const TensorState* tensor : tensors) {
    for (std::vector<plan::DimAccess>& dims : SummaryCorners(tensor->desc.shape).accesses())
      op.read(tensor->desc.id, std::move(dims));
  }
  add(std::move(op.op()));
  flush();
}

void Recorder::gather(std::string_view name, const TensorHandle& tensor, Place place) {
  const plan::TensorDesc& desc = tensor.state().desc;
  plan::OpBuilder op(plan::OpClass::kCollect, name, place.site, place.line);
  op.write({}, {}).on_rank(0).flops(0);
  op.read(desc.id, std::vector<plan::DimAccess>(desc.shape.size(), plan::whole()));
  add(std::move(op.op()));
  flush();
}

void Recorder::store(std::string_view name, const TensorHandle& tensor, Place place, bool in_rows) {
  const plan::TensorDesc& desc = tensor.state().desc;
  plan::OpBuilder op(plan::OpClass::kStore, name, place.site, place.line);
  std::vector<plan::DimAccess> dims;
  for (std::size_t d = 0; d < desc.shape.size(); ++d) {
    op.out("i" + std::to_string(d), desc.shape[d]);
    dims.push_back(plan::at(static_cast<int>(d)));
  }
  op.read(desc.id, std::move(dims)).flops(0);
  op.op().in_rows = in_rows;
  add(std::move(op.op()));
  flush();
}

void Recorder::flush() {
  if (segment_.ops.empty() && segment_.dropped.empty()) return;
  sink_.segment(std::exchange(segment_, {}));
}

}  // namespace tdsl::record
