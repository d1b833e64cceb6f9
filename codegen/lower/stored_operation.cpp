#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "codegen/lower/compute_lowering.h"
#include "codegen/relations/describe.h"

namespace tdsl::codegen {

// Note [Walks over stored elements]
// An operation whose points come from the stored elements of compressed operands (ir/analysis/stored_walk.h). The label
// of the driver's rows is cut like any other, as a dimension of the result or as a reduced label. Blocks have whole
// rows, so labels of inner levels, and labels reduced inside a row, are never cut: operands located at such labels are
// read whole. To the planner, labels that are neither cut nor dimensions of the result always have their whole range.

LabelTemplate::Kind ComputeLowering::stored_kind(int label) const {
  using Kind = LabelTemplate::Kind;
  const bool out = label < static_cast<int>(compute_.out.size());
  if (label == walk_->row()) return out ? Kind::kOut : Kind::kReduce;
  if (!out) return Kind::kPlain;
  return walk_->has_loop(label) ? Kind::kWhole : Kind::kOut;
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

bool same_access(const AccessTemplate& a, const AccessTemplate& b) {
  return a.tensor == b.tensor && std::ranges::equal(a.dims, b.dims, [](const DimTemplate& x, const DimTemplate& y) {
           return x.terms == y.terms && x.lo == y.lo && x.hi == y.hi && x.whole == y.whole && x.divisor == y.divisor;
         });
}

/// One operand for accesses that have become the same.
void merge_accesses(OpTemplate& op, KernelTemplate& kernel) {
  std::vector<AccessTemplate> merged;
  std::vector<int> number;
  for (AccessTemplate& read : op.reads) {
    const auto known =
        std::ranges::find_if(merged, [&](const AccessTemplate& other) { return same_access(read, other); });
    number.push_back(static_cast<int>(known - merged.begin()));
    if (known == merged.end()) merged.push_back(std::move(read));
  }
  op.reads = std::move(merged);
  for (auto& [node, operand] : kernel.operand) operand = number[static_cast<std::size_t>(operand)];
}

}  // namespace

void ComputeLowering::stored(OpTemplate& op, KernelTemplate& kernel) const {
  using Stored = OpTemplate::StoredResult;
  const FamilyProgram& program = builder_.program();
  for (AccessTemplate& read : op.reads) {
    read.compressed = program.info(read.tensor).compressed;
    for (std::size_t d = 1; read.compressed && d < read.dims.size(); ++d)
      read.dims[d] = DimTemplate{{}, Extent(0), Extent(0), true};
  }
  merge_accesses(op, kernel);
  const bool reduces = walk_->row() >= static_cast<int>(compute_.out.size());
  op.op_class = reduces ? plan::OpClass::kReduce : plan::OpClass::kMap;
  if (!reduces) op.combine = plan::Combine::kNone;
  op.divisible = false;  // first values are given once
  // Operands that only come with the driver are not visited.
  if (walk_->is_union()) {
    for (const int operand : walk_->loops.front().over)
      op.visits_either.push_back(walk_->operands[static_cast<std::size_t>(operand)].tensor);
  } else {
    std::set<int> walked;
    for (const ir::StoredLoop& loop : walk_->loops) {
      if (loop.meet == ir::StoredLoop::Meet::kAll)
        walked.insert(loop.over.begin(), loop.over.end());
      else
        walked.insert(loop.over.front());
    }
    for (const int operand : walked) op.visits.push_back(walk_->operands[static_cast<std::size_t>(operand)].tensor);
  }
  if (program.info(target_).compressed)
    op.stored = walk_->result == ir::StoredWalk::Result::kInOrder ? Stored::kLikeVisited : Stored::kOfPoints;
  for (const int mask : walk_->masks) {
    const ir::StoredOperand& operand = walk_->operands[static_cast<std::size_t>(mask)];
    if (op.stored == Stored::kOfPoints && operand.labels == std::vector<std::int32_t>{0, 1})
      op.stored_within.push_back(operand.tensor);
  }
  kernel.walk = walk_;
}

}  // namespace tdsl::codegen
