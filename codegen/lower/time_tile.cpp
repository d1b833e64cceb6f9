#include "codegen/lower/time_tile.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "ir/graph/expr_build.h"

namespace tdsl::codegen {

namespace {

/// Larger distances make margins that cost more than an exchange.
constexpr std::int64_t kFarthest = 8;

/// The one operation of a loop's body.
class StencilStep {
 public:
  StencilStep(ProgramBuilder& builder, const ForStep& loop) : builder_(builder), loop_(loop) {}

  /// True if the loop can run in blocks; then the members below are set.
  bool find() { return find_operation() && is_plain_map() && writes_carried() && reads_near(); }

  std::size_t at = 0;  ///< its position in the body
  int earlier = 0;     ///< the read of the carried tensor
  std::vector<plan::Reach> reach;
  [[nodiscard]] const OperationStep& step() const { return std::get<OperationStep>(loop_.body[at].op); }
  [[nodiscard]] ValueId carried() const { return loop_.carried.front(); }

 private:
  /// Checks of subscripts, the operation, and the assignment of its result to the carried tensor.
  bool find_operation() {
    if (loop_.carried.size() != 1 || loop_.step != 1 || builder_.is_host(carried()) || loop_.body.size() < 2)
      return false;
    at = loop_.body.size() - 2;
    const auto* copy = std::get_if<CopyStep>(&loop_.body.back().op);
    const auto* operation = std::get_if<OperationStep>(&loop_.body[at].op);
    if (copy == nullptr || operation == nullptr || copy->target != carried() || copy->source != operation->target)
      return false;
    for (std::size_t k = 0; k < at; ++k) {
      if (!std::holds_alternative<SubscriptStep>(loop_.body[k].op)) return false;
    }
    bool counts = false;
    for (const Step& s : loop_.body)
      for_each_use(builder_.program(), s, [&](ValueId v) { counts = counts || v == loop_.index; });
    return !counts;
  }

  /// A map of every point of its labels' box, whose kernel cannot fail at a subscript.
  [[nodiscard]] bool is_plain_map() const {
    const RecordedOp& op = *step().op;
    const ComputeKernel& kernel = *step().kernel;
    const ir::Compute& c = kernel.compute;
    return !step().fused && !step().epilogue && op.op_class == plan::OpClass::kMap && op.divisible && op.overwrites &&
           !op.in_any_order && !op.flops_per_row && op.sparsity.visits.empty() &&
           op.sparsity.result == plan::SparseResult::kDense && c.bodies.size() == 1 && c.reduce.empty() && !c.guard &&
           !c.monoid && !c.combine && !c.fill && !c.iteration && !c.by_search && kernel.rearranged.empty() &&
           kernel.checked.empty() && kernel.gathers.empty() && !kernel.packed_from && kernel.scattered.empty();
  }

  /// The result has the shape of the carried tensor, and each dimension is written at its own label.
  [[nodiscard]] bool writes_carried() const {
    const RecordedOp& op = *step().op;
    const ir::Type& type = builder_.type(carried());
    if (op.labels.empty() || op.labels.size() != op.shape.size() || type.rank() != op.shape.size() ||
        type.is_compressed() || step().kernel->type != type.scalar || (op.has_base() && op.base != carried()))
      return false;
    for (std::size_t d = 0; d < op.shape.size(); ++d) {
      const SymbolicLabel& l = op.labels[d];
      const plan::BasicOutSubscript<Extent> own{static_cast<int>(d), 1, Extent(0)};
      const bool all = l.range.lo == Extent(0) && l.range.hi == op.shape[d];
      if (!(op.out[d] == own) || (!op.has_base() && !all)) return false;
    }
    return true;
  }

  /// One read of the carried tensor, near the point; others move with the labels.
  bool reads_near() {
    const RecordedOp& op = *step().op;
    int reads = 0;
    for (std::size_t k = 0; k < op.reads.size(); ++k) {
      const SymbolicAccess& a = op.reads[k];
      if (builder_.type(a.tensor).is_compressed()) return false;
      if (a.tensor != carried()) {
        if (!std::ranges::all_of(a.dims, moves)) return false;
        continue;
      }
      earlier = static_cast<int>(k);
      if (++reads > 1 || !is_near(a)) return false;
    }
    return reads == 1;
  }

  static bool moves(const SymbolicDim& dim) {
    if (dim.whole) return dim.walked < 0;
    return dim.divisor == Extent(1) && std::ranges::all_of(dim.terms, [](const Term& t) {
             const auto coefficient = t.coefficient.constant();
             return coefficient && *coefficient > 0;
           });
  }

  bool is_near(const SymbolicAccess& access) {
    bool reaches = false;
    for (std::size_t d = 0; d < access.dims.size(); ++d) {
      const SymbolicDim& dim = access.dims[d];
      const auto lo = dim.offset.lo.constant(), hi = dim.offset.hi.constant();
      const std::vector<Term> own{{static_cast<int>(d), Extent(1)}};
      if (dim.whole || !(dim.divisor == Extent(1)) || dim.terms != own || !lo || !hi) return false;
      const plan::Reach r{std::max<std::int64_t>(0, -*lo), std::max<std::int64_t>(0, *hi - 1)};
      if (r.below > kFarthest || r.above > kFarthest) return false;
      reaches = reaches || r.below > 0 || r.above > 0;
      reach.push_back(r);
    }
    return reaches;
  }

  ProgramBuilder& builder_;
  const ForStep& loop_;
};

/// The boxes that the steps of a block read: the carried tensor's at the reach of all steps, others at that of all but
/// one.
void widen(RecordedOp& op, const StencilStep& stencil, ValueId height) {
  for (std::size_t k = 0; k < op.reads.size(); ++k) {
    const bool earlier = static_cast<int>(k) == stencil.earlier;
    const Extent steps = earlier ? Extent::of(height) : Extent::of(height) - Extent(1);
    for (std::size_t d = 0; d < op.reads[k].dims.size(); ++d) {
      SymbolicDim& dim = op.reads[k].dims[d];
      if (earlier) dim.offset = {0, 1};
      for (const Term& t : dim.terms) {
        const plan::Reach& r = stencil.reach[static_cast<std::size_t>(t.label)];
        dim.offset.lo = dim.offset.lo - steps * t.coefficient * Extent(r.below);
        dim.offset.hi = dim.offset.hi + steps * t.coefficient * Extent(r.above);
      }
    }
  }
}

}  // namespace

std::optional<TimeTileStep> tile_in_time(ProgramBuilder& builder, ForStep& loop, SourceRange range) {
  StencilStep stencil(builder, loop);
  if (!stencil.find()) return std::nullopt;
  const ir::Type number{ir::Scalar::kI64, {}, {}};
  TimeTileStep tile;
  tile.target = builder.new_value(number, "height", range, true);
  tile.begin = loop.begin;
  tile.end = loop.end;
  tile.reach = stencil.reach;
  const OperationStep& one = stencil.step();
  tile.shape = one.op->shape;
  tile.element_bytes = ir::size_of(one.kernel->type);
  tile.flops = one.op->flops_per_point;

  const ValueId steps = builder.new_value(number, "count", range, true);
  const auto read = [](ValueId v) { return ir::read(ir::Scalar::kI64, v, {}); };
  const Expr left = ir::binary(ir::BinaryOp::kSub, read(loop.end), read(loop.index));
  const Expr count = ir::binary(ir::BinaryOp::kMin, read(tile.target), left);

  auto op = std::make_shared<RecordedOp>(*one.op);
  widen(*op, stencil, tile.target);
  auto kernel = std::make_shared<ComputeKernel>(*one.kernel);
  kernel->steps = steps;
  kernel->earlier = stencil.earlier;
  kernel->reach = stencil.reach;
  OperationStep block = one;
  block.op = std::move(op);
  block.kernel = std::move(kernel);
  loop.body[stencil.at].op = std::move(block);
  loop.body.insert(loop.body.begin(), {range, HostStep{steps, count}});
  loop.every = tile.target;
  return tile;
}

}  // namespace tdsl::codegen
