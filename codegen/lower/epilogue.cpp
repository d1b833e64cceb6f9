#include "codegen/lower/epilogue.h"

#include <algorithm>

#include "codegen/lower/compute_lowering.h"
#include "ir/graph/check.h"

namespace tdsl::codegen {

namespace {

OperationStep operation_of(ProgramBuilder& builder, const ir::Node& node, ValueId target) {
  return ComputeLowering(builder, builder.resolve(target), resolved(builder, node, std::get<ir::Compute>(node.op)),
                         node.range)
      .operation();
}

/// The map with its operand number `k` in front of the others.
OperationStep with_first(const OperationStep& map, std::size_t k) {
  auto op = std::make_shared<RecordedOp>(*map.op);
  auto kernel = std::make_shared<ComputeKernel>(*map.kernel);
  std::rotate(op->reads.begin(), op->reads.begin() + static_cast<std::ptrdiff_t>(k),
              op->reads.begin() + static_cast<std::ptrdiff_t>(k) + 1);
  for (auto& [read, operand] : kernel->operand) {
    const auto old = static_cast<std::size_t>(operand);
    operand = static_cast<int>(old == k ? 0 : old < k ? old + 1 : old);
  }
  return {map.target, std::move(op), std::move(kernel)};
}

}  // namespace

void lower_epilogue(ProgramBuilder& builder, const ir::Node& node, const ir::Fused& fused) {
  const ir::Node& first = fused.body.nodes[0];
  const OperationStep product = operation_of(builder, first, first.results[0]);
  const OperationStep map = operation_of(builder, fused.body.nodes[1], node.results[0]);
  const auto& reads = map.op->reads;
  const auto own = std::ranges::find_if(reads, [&](const SymbolicAccess& a) { return a.tensor == product.target; });
  TDSL_CHECK(product.op->op_class == plan::OpClass::kContraction && own != reads.end(),
             "an epilogue follows a product of matrices that it reads");
  auto epilogue = std::make_shared<const OperationStep>(with_first(map, static_cast<std::size_t>(own - reads.begin())));
  auto op = std::make_shared<RecordedOp>(*product.op);
  op->name = epilogue->op->name;
  op->tile = epilogue->op->tile;
  op->reads.insert(op->reads.end(), epilogue->op->reads.begin() + 1, epilogue->op->reads.end());
  op->epilogue = true;
  builder.add(node.range, OperationStep{map.target, std::move(op), product.kernel, nullptr, std::move(epilogue)});
}

bool is_read_by_both(const OperationStep& step, ValueId tensor) {
  if (step.op->op_class != plan::OpClass::kContraction || !step.epilogue) return false;
  constexpr std::ptrdiff_t kFactors = 2;
  const auto& reads = step.op->reads;
  const auto middle = reads.begin() + kFactors;
  return std::ranges::find(reads.begin(), middle, tensor, &SymbolicAccess::tensor) != middle &&
         std::ranges::find(middle, reads.end(), tensor, &SymbolicAccess::tensor) != reads.end();
}

}  // namespace tdsl::codegen
