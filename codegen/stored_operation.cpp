#include <fmt/format.h>

#include <algorithm>

#include "codegen/compute_lowering.h"
#include "codegen/describe.h"

namespace tdsl::codegen {

// Note [Walks over stored elements]
// An operation whose points are the stored elements of one operand, or of several (ir/stored_walk.h). The label of the operand's rows is cut like any other, as a
// dimension of the result or as what is reduced; blocks have whole rows, so that the columns' label is never cut, and neither is what else is reduced
// inside of a row. To the planner labels that are neither cut nor dimensions of the result are plain ones, which always have their whole range.

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
  if (result && (!walk_ || walk_->result == ir::StoredWalk::Result::kDense)) {
    throw NotSupported(range_, fmt::format("'{}' is compressed, and computing it other than element by element is not supported yet", name_of(program, target_)));
  }
  if (walk_) return;
  for (const Expr& e : {compute_.bodies.front(), compute_.guard}) {
    if (!e) continue;
    ir::for_each_node(e, [&](const ir::ExprNode& n) {
      const auto* r = std::get_if<ir::Read>(&n.op);
      if (r == nullptr || !program.info(r->tensor).compressed) return;
      throw NotSupported(n.range.known() ? n.range : range_,
                         fmt::format("'{}' is compressed, and computing with it other than along its stored elements is not supported yet", name_of(program, r->tensor)));
    });
  }
}

void ComputeLowering::stored(OpTemplate& op, KernelTemplate& kernel) const {
  const FamilyProgram& program = builder_.program();
  for (AccessTemplate& read : op.reads) {
    read.compressed = program.info(read.tensor).compressed;
    if (read.compressed) read.dims.back() = DimTemplate{{}, Extent(0), Extent(0), true};
  }
  const bool reduces = walk_->row() >= static_cast<int>(compute_.out.size());
  op.op_class = reduces ? plan::OpClass::kReduce : plan::OpClass::kMap;
  if (!reduces) op.combine = plan::Combine::kNone;
  op.divisible = false;  // first values are given once
  if (walk_->is_union()) {
    for (const ir::StoredOperand& operand : walk_->operands) op.visits_either.push_back(operand.tensor);
  } else {
    op.visits = walk_->driver().tensor;
  }
  op.stored_like_visited = program.info(target_).compressed;
  kernel.walk = walk_;
}

}  // namespace tdsl::codegen
