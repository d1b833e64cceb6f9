#include <map>

#include "codegen/walk/plan_walk.h"
#include "runtime/plan/op_builder.h"
#include "runtime/plan/op_fields.h"

namespace tdsl::codegen {

namespace {

/// Computes sizes as OpBuilder does: ranges may be empty, and their ends may be any integers.
void normalize(const RecordedOp& symbolic, plan::Op& op) {
  for (plan::LabelDesc& label : op.labels) {
    if (label.from_data) label.range.hi = std::max<plan::Index>(label.range.hi, 1);
  }
  for (std::size_t d = 0; d < op.shape.size(); ++d) {
    const int label = op.out[d].label;
    const bool of_label =
        label >= 0 &&
        symbolic.shape[d] == plan::NumberTypes<Extent>::size(symbolic.labels[static_cast<std::size_t>(label)].range);
    op.shape[d] =
        of_label ? op.labels[static_cast<std::size_t>(label)].range.size() : std::max<plan::Index>(op.shape[d], 0);
  }
  for (plan::Access& access : op.reads) {
    for (plan::DimAccess& dim : access.dims) {
      if (dim.whole) dim.offset = {0, 0};
    }
    plan::drop_idle_labels(access);
  }
}

}  // namespace

plan::Op instantiate(const RecordedOp& op, int line, const std::function<std::int64_t(const Extent&)>& number,
                     const std::function<const plan::TensorDesc&(ValueId)>& tensor) {
  std::map<plan::TensorId, const plan::TensorDesc*> operands;
  const auto id = [&](ValueId v) {
    const plan::TensorDesc& desc = tensor(v);
    operands[desc.id] = &desc;
    return desc.id;
  };
  plan::OpBuilder builder(plan::with_numbers<plan::Index, Extent, plan::BasicOp>(op, number, id));
  builder.op().line = line;
  normalize(op, builder.op());
  if (op.flops_per_row) {
    builder.flops_per_row(number(*op.flops_per_row), number(op.product_flops_per_row), number(op.dense_flops_per_row));
  } else {
    builder.flops(op.flops_per_point);
  }
  builder.sparsity(plan::with_numbers<plan::Index>(op.sparsity, number, id),
                   [&](plan::TensorId operand) { return operands.at(operand); });
  return builder.op();
}

}  // namespace tdsl::codegen
