#include <algorithm>
#include <set>

#include "codegen/lower/compute_lowering.h"
#include "codegen/operations/describe.h"

namespace tdsl::codegen {

// Note [Operations over stored elements]
// An operation whose points come from the stored elements of compressed operands (ir/graph/sparse_iteration.h). The
// label of the driver's rows is cut like any other, as a dimension of the result or as a reduced label. Blocks have
// whole rows, so labels of inner levels, and labels reduced inside a row, are never cut: operands located at such
// labels are read whole. To the planner, labels that are neither cut nor dimensions of the result always have their
// whole range.

plan::LabelRole ComputeLowering::stored_role(int label) const {
  using Role = plan::LabelRole;
  const bool out = label < static_cast<int>(compute_.out.size());
  if (label == iteration_->row()) return out ? Role::kOut : Role::kReduce;
  if (!out) return Role::kPlain;
  return iteration_->has_loop(label) ? Role::kWhole : Role::kOut;
}

bool ComputeLowering::uses_compressed() const {
  bool found = type_.is_compressed();
  for (const Expr& e : {compute_.bodies.front(), compute_.guard}) {
    if (e) ir::for_each_read(e, [&](const ir::Read& r) { found = found || builder_.type(r.tensor).is_compressed(); });
  }
  return found;
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

/// Marks dimensions whose stored subscripts are the values of a label, so that dense operands at that label can be
/// fetched by lists of them (runtime/plan/lists.h). A merged access has one label per dimension: the first.
void mark_walks(RecordedOp& op, const ir::SparseIteration& iteration) {
  if (iteration.is_union()) return;
  for (const ir::StoredLoop& loop : iteration.loops) {
    const ir::StoredOperand& walked = iteration.operands[static_cast<std::size_t>(loop.over.front())];
    for (SymbolicAccess& read : op.reads) {
      const bool same_rows =
          read.tensor == walked.tensor && read.dims[0] == SymbolicDim{{{walked.labels[0], Extent(1)}}};
      for (std::size_t d = 1; same_rows && d < read.dims.size(); ++d) {
        if (walked.labels[d] == loop.label && read.dims[d].walked < 0) read.dims[d].walked = loop.label;
      }
    }
  }
}

}  // namespace

void ComputeLowering::stored(RecordedOp& op, ComputeKernel& kernel) const {
  const OperationProgram& program = builder_.program();
  for (SymbolicAccess& read : op.reads) {
    if (!program.type(read.tensor).is_compressed()) continue;
    for (std::size_t d = 1; d < read.dims.size(); ++d) read.dims[d] = whole_dim();
  }
  merge_accesses(op, kernel);
  mark_walks(op, *iteration_);
  const bool reduces = iteration_->row() >= static_cast<int>(compute_.out.size());
  op.op_class = reduces ? plan::OpClass::kReduce : plan::OpClass::kMap;
  if (!reduces) op.combine = plan::Combine::kNone;
  op.divisible = false;  // results are initialised once
  // Operands that only come with the driver are not visited.
  const auto operand = [this](int k) { return iteration_->operands[static_cast<std::size_t>(k)].tensor; };
  std::vector<std::vector<ValueId>>& visits = op.sparsity.visits;
  if (iteration_->is_union()) {
    visits.emplace_back();
    for (const int k : iteration_->loops.front().over) visits.front().push_back(operand(k));
  } else {
    std::set<int> walked;
    for (const ir::StoredLoop& loop : iteration_->loops) {
      if (loop.merge == ir::Merge::kIntersection)
        walked.insert(loop.over.begin(), loop.over.end());
      else
        walked.insert(loop.over.front());
    }
    for (const int k : walked) visits.push_back({operand(k)});
  }
  if (program.type(target_).is_compressed())
    op.sparsity.result = iteration_->result == ir::SparseIteration::Result::kOrdered ? plan::SparseResult::kLikeVisited
                                                                                     : plan::SparseResult::kOfPoints;
  for (const int mask : iteration_->masks) {
    const ir::StoredOperand& limit = iteration_->operands[static_cast<std::size_t>(mask)];
    if (op.sparsity.result == plan::SparseResult::kOfPoints && limit.labels == std::vector<std::int32_t>{0, 1})
      op.sparsity.within.push_back(limit.tensor);
  }
}

}  // namespace tdsl::codegen
