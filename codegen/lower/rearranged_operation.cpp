#include "codegen/lower/accesses.h"
#include "codegen/lower/compute_lowering.h"
#include "codegen/operations/describe.h"
#include "ir/graph/check.h"

namespace tdsl::codegen {

// Note [Rearranged matrices]
// A compressed result with elements of compressed operands at other positions (ir/analysis/rearrangement.h) is computed
// by a kernel of the runtime (runtime/kernels/rearranged.h). Rows of the result are cut, columns are whole. If rows of
// the result are rows of the operand, a task reads only these. If they are columns of the operand, as in a transpose,
// it reads the operand's rows for all columns of the result, possibly the whole operand. So it does if rows are
// selected by an index vector; index vectors are operands behind the matrices. A transpose is also an assembly: the
// planner may split the operand's rows, so that each rank sends the elements of its rows to the owners of their
// columns, as lists of entries (Note [Assemblies] in runtime/plan).

OperationStep ComputeLowering::rearranged() {
  auto op = std::make_shared<RecordedOp>();
  auto kernel = std::make_shared<ComputeKernel>();
  op->site = builder_.new_site();
  op->name = name();
  labels(*op);
  op->set_uncut(1);
  const ir::Hoist on_host = [this](const Expr& e) {
    const std::optional<ValueId> scalar = ir::read_scalar(e);
    return scalar ? builder_.on_host(*scalar, range_) : builder_.hoist(e);
  };
  auto parts = ir::rearrangement(
      compute_, [this](ValueId v) -> const ir::Type& { return builder_.type(v); }, on_host);
  TDSL_CHECK(parts, "the pass `storage` compressed what rearranges elements");
  std::vector<SymbolicAccess> indexes;
  bool rows = false, columns = false;  // are selected
  for (ir::Rearranged& part : *parts) {
    std::vector<SymbolicDim> dims;
    if (!part.place.known()) part.place = range_;
    for (std::size_t d = 0; d < 2; ++d) {
      ir::Rearranged::Subscript& s = part.at[d];
      if (s.index) {
        s.extent = builder_.rewritten(s.extent, range_);
        indexes.push_back({*s.index, {SymbolicDim{{Term{s.label, Extent(1)}}, {Extent(0), Extent(1)}}}});
        dims.push_back(whole_dim());
        (d == 0 ? rows : columns) = true;
        continue;
      }
      const AffineForm form{{{s.label, Extent(s.factor)}}, s.offset};
      const Extent extent = builder_.rewritten(builder_.type(part.tensor).shape[d], range_);
      if (!part.guarded && !s.around)
        check_affine(builder_, form, indices_of(*op), extent, name_of(builder_.program(), part.tensor), part.place);
      dims.push_back(s.around || d == 1 ? whole_dim() : SymbolicDim{form.terms, {s.offset, s.offset + Extent(1)}});
    }
    op->reads.push_back({part.tensor, std::move(dims)});
    op->sparsity.elements_of.push_back(part.tensor);
  }
  // A row may have elements of a row for each of several parts.
  const bool bounded = rows != columns && parts->size() == 1;
  op->sparsity.result = bounded && rows   ? plan::SparseResult::kRowsSelectedFrom
                        : bounded         ? plan::SparseResult::kColumnsSelectedFrom
                        : rows || columns ? plan::SparseResult::kSelectedFrom
                                          : plan::SparseResult::kElementsOf;
  const ir::Rearranged& first = parts->front();
  const bool turned = parts->size() == 1 && !rows && !columns && first.at[0].label == 1 && first.at[0].factor == 1 &&
                      !first.at[0].around && !first.guarded;
  if (turned) {
    op->op_class = plan::OpClass::kReduce;
    op->out[1] = {plan::kAnyLabel};
    op->reduce.push_back({1, -1});
    op->combine = type_.scalar == ir::Scalar::kBool ? plan::Combine::kAny : plan::Combine::kSum;
    op->moves = true;
  }
  op->reads.insert(op->reads.end(), indexes.begin(), indexes.end());
  kernel->type = type_.scalar;
  kernel->compute = compute_;
  kernel->rearranged = std::move(*parts);
  return {target_, op, kernel};
}

}  // namespace tdsl::codegen
