#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "codegen/families/describe.h"
#include "codegen/lower/compute_lowering.h"

namespace tdsl::codegen {

// Note [Walks over stored elements]
// An operation whose points come from the stored elements of compressed operands (ir/analysis/stored_walk.h). The label
// of the driver's rows is cut like any other, as a dimension of the result or as a reduced label. Blocks have whole
// rows, so labels of inner levels, and labels reduced inside a row, are never cut: operands located at such labels are
// read whole. To the planner, labels that are neither cut nor dimensions of the result always have their whole range.

plan::LabelRole ComputeLowering::stored_role(int label) const {
  using Role = plan::LabelRole;
  const bool out = label < static_cast<int>(compute_.out.size());
  if (label == walk_->row()) return out ? Role::kOut : Role::kReduce;
  if (!out) return Role::kPlain;
  return walk_->has_loop(label) ? Role::kWhole : Role::kOut;
}

void ComputeLowering::check_compressed() const {
  const FamilyProgram& program = builder_.program();
  const bool result = program.info(target_).compressed;
  if (result && !compresses_ && (!walk_ || walk_->result == ir::StoredWalk::Result::kDense)) {
    throw NotSupported(
        range_, fmt::format("`{}` is compressed, and computing it other than element by element is not supported yet",
                            name_of(program, target_)));
  }
  if (walk_) return;
  for (const Expr& e : {compute_.bodies.front(), compute_.guard}) {
    if (!e) continue;
    ir::for_each_node(e, [&](const ir::ExprNode& n) {
      const auto* r = std::get_if<ir::Read>(&n.op);
      if (r == nullptr || !program.info(r->tensor).compressed) return;
      throw NotSupported(
          n.range.known() ? n.range : range_,
          fmt::format(
              "`{}` is compressed, and computing with it other than along its stored elements is not supported yet",
              name_of(program, r->tensor)));
    });
  }
}

namespace {

/// Merges accesses that have become equal into one operand.
void merge_accesses(RecordedOp& op, ComputeKernel& kernel) {
  std::vector<SymbolicAccess> merged;
  std::vector<int> number;
  for (SymbolicAccess& read : op.reads) {
    const auto known = std::ranges::find(merged, read);
    number.push_back(static_cast<int>(known - merged.begin()));
    if (known == merged.end()) merged.push_back(std::move(read));
  }
  op.reads = std::move(merged);
  for (auto& [node, operand] : kernel.operand) operand = number[static_cast<std::size_t>(operand)];
}

}  // namespace

void ComputeLowering::stored(RecordedOp& op, ComputeKernel& kernel) const {
  const FamilyProgram& program = builder_.program();
  for (SymbolicAccess& read : op.reads) {
    if (!program.info(read.tensor).compressed) continue;
    for (std::size_t d = 1; d < read.dims.size(); ++d) read.dims[d] = whole_dim();
  }
  merge_accesses(op, kernel);
  const bool reduces = walk_->row() >= static_cast<int>(compute_.out.size());
  op.op_class = reduces ? plan::OpClass::kReduce : plan::OpClass::kMap;
  if (!reduces) op.combine = plan::Combine::kNone;
  op.divisible = false;  // results are initialised once
  // Operands that only come with the driver are not visited.
  const auto operand = [this](int k) { return walk_->operands[static_cast<std::size_t>(k)].tensor; };
  std::vector<std::vector<ValueId>>& visits = op.sparsity.visits;
  if (walk_->is_union()) {
    visits.emplace_back();
    for (const int k : walk_->loops.front().over) visits.front().push_back(operand(k));
  } else {
    std::set<int> walked;
    for (const ir::StoredLoop& loop : walk_->loops) {
      if (loop.meet == ir::StoredLoop::Meet::kAll)
        walked.insert(loop.over.begin(), loop.over.end());
      else
        walked.insert(loop.over.front());
    }
    for (const int k : walked) visits.push_back({operand(k)});
  }
  if (program.info(target_).compressed)
    op.sparsity.result = walk_->result == ir::StoredWalk::Result::kInOrder ? plan::SparseResult::kLikeVisited
                                                                           : plan::SparseResult::kOfPoints;
  for (const int mask : walk_->masks) {
    const ir::StoredOperand& limit = walk_->operands[static_cast<std::size_t>(mask)];
    if (op.sparsity.result == plan::SparseResult::kOfPoints && limit.labels == std::vector<std::int32_t>{0, 1})
      op.sparsity.within.push_back(limit.tensor);
  }
  kernel.walk = walk_;
}

}  // namespace tdsl::codegen
