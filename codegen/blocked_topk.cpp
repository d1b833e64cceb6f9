#include "codegen/blocked_topk.h"

#include <cstdint>
#include <limits>

#include "codegen/step_writer.h"

namespace tdsl::codegen {

namespace {

using ir::BinaryOp;

constexpr std::int64_t kMostBlocks = 64;

/// How many blocks have their k largest in a quarter of the vector.
Expr blocks_of(const Expr& n, const Expr& k) {
  const Expr some = ir::binary(BinaryOp::kMax, k, ir::constant_i64(1));
  return ir::binary(BinaryOp::kDiv, n, ir::binary(BinaryOp::kMul, ir::constant_i64(4), some));
}

/// What stands behind the last element: it loses against every element before it.
Expr padding(ir::Scalar s) {
  if (s == ir::Scalar::kBool) return ir::constant(s, false);
  if (ir::is_float(s)) return ir::constant(s, std::numeric_limits<double>::quiet_NaN());
  const auto least = s == ir::Scalar::kI32 ? std::int64_t{std::numeric_limits<std::int32_t>::min()} : std::numeric_limits<std::int64_t>::min();
  return ir::constant(s, least);
}

}  // namespace

Expr distributes_topk(const Expr& n, const Expr& k) { return ir::binary(BinaryOp::kGe, blocks_of(n, k), ir::constant_i64(2)); }

void add_blocked_topk(FamilyBuilder& builder, const BlockedRoutine& routine) {
  // Note [Largest of the largest]. Within a block equal elements stand in order, and so do blocks: among the candidates,
  // too, the first of equals comes first.
  StepWriter write(builder, routine.range);
  const ValueId x = routine.operands[0];
  const ir::Scalar scalar = builder.type(x).scalar;
  const Extent n = builder.rewritten(builder.type(x).shape[0], routine.range);
  const Extent k = builder.rewritten(builder.type(routine.results[0]).shape[0], routine.range);
  const Expr wanted = ir::binary(BinaryOp::kMin, ir::constant_i64(kMostBlocks), blocks_of(write.expr(n), write.expr(k)));
  const Extent groups = write.number("groups", ir::binary(BinaryOp::kMax, wanted, ir::constant_i64(1)));
  const Extent height = write.quotient("height", n + groups - Extent(1), groups);
  const Extent each = write.smaller("each", k, height);
  const auto i = [](int label) { return StepWriter::i(label); };
  const auto sum = [](const Expr& a, const Expr& b) { return ir::binary(BinaryOp::kAdd, a, b); };
  const auto times = [](const Expr& a, const Expr& b) { return ir::binary(BinaryOp::kMul, a, b); };

  const Expr place = sum(times(i(0), write.expr(height)), i(1));
  const Expr inside = ir::binary(BinaryOp::kLt, place, write.expr(n));
  const ValueId blocks =
      write.map("blocks", {{"g", groups}, {"j", height}}, ir::select(inside, write.at(x, {place}), padding(scalar)));
  const auto largest = [&](const char* function, const std::vector<Axis>& axes, const KernelOperand& operand) {
    const int axis = static_cast<int>(axes.size()) - 1;
    StepWriter::Prebuilt kernel{function, axes, std::vector<bool>(axes.size(), false), {operand}, {Extent(axis)}, false};
    kernel.uncut[static_cast<std::size_t>(axis)] = true;
    kernel.flops = 40;
    return kernel;
  };
  const KernelOperand rows{blocks, {0, KernelOperand::kWhole}};
  const std::vector<Axis> of_blocks = {{"g", groups}, {"j", each}};
  const ValueId values = write.prebuilt("largest", scalar, largest("topk_values", of_blocks, rows));
  const ValueId positions = write.prebuilt("places", ir::Scalar::kI64, largest("topk_positions", of_blocks, rows));

  // The candidates in one row.
  const std::vector<Axis> row = {{"c", groups * each}};
  const Expr block = ir::binary(BinaryOp::kDiv, i(0), write.expr(each));
  const Expr within = ir::binary(BinaryOp::kRem, i(0), write.expr(each));
  const ValueId candidates = write.map("candidates", row, write.at(values, {block, within}));
  const ValueId origins = write.map("origins", row, sum(write.at(positions, {block, within}), times(block, write.expr(height))));
  const KernelOperand all{candidates, {KernelOperand::kWhole}};
  write.prebuilt_into(routine.results[0], largest("topk_values", {{"j", k}}, all));
  const ValueId picked = write.prebuilt("picked", ir::Scalar::kI64, largest("topk_positions", {{"j", k}}, all));
  write.map_into(routine.results[1], {{"j", k}}, write.at(origins, {write.at(picked, {i(0)})}));
}

}  // namespace tdsl::codegen
