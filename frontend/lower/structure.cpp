#include "frontend/lower/builtins.h"
#include "frontend/lower/lowering.h"
#include "frontend/sema/types.h"
#include "ir/graph/expr_build.h"

namespace tdsl::frontend {

namespace {

/// Dimensions of an operand, from `old_first` on, that hold the same elements as dimensions of a result of another
/// shape.
struct SameElements {
  std::size_t old_first = 0, old_count = 0;
  std::size_t first = 0, count = 0;
};

Extent product_of(const std::vector<Dim>& shape, std::size_t first, std::size_t count) {
  Extent product = 1;
  for (std::size_t d = first; d < first + count; ++d) product = product * shape[d].extent;
  return product;
}

/// True for factors like those of `(x / c) * c`, which is at most x.
bool are_parts_of(const std::vector<Dim>& shape, std::size_t first, std::size_t count, const Extent& whole) {
  for (std::size_t d = first; d < first + count; ++d) {
    const Extent others = product_of(shape, first, d - first) * product_of(shape, d + 1, first + count - d - 1);
    if (shape[d].extent == Extent::quotient(whole, others)) return true;
  }
  return false;
}

/// Matches the dimensions of two shapes with equal numbers of elements in the smallest provable groups. With
/// `with_parts`, also matches `(x / c) * c` with x, which is exact if no other group gains elements, and returns
/// nullopt if dimensions remain unmatched. Dimensions of size 1 form separate groups or none.
std::optional<std::vector<SameElements>> same_elements(const std::vector<Dim>& old_shape, const std::vector<Dim>& shape,
                                                       bool with_parts) {
  std::vector<SameElements> groups;
  std::size_t old_at = 0, at = 0;
  const auto next_group = [&]() -> std::optional<SameElements> {
    const std::size_t old_left = old_shape.size() - old_at, left = shape.size() - at;
    for (std::size_t both = 2; both <= old_left + left; ++both) {
      for (std::size_t count = 1; count < both && count <= left; ++count) {
        const std::size_t old_count = both - count;
        if (old_count > old_left) continue;
        const Extent whole = product_of(old_shape, old_at, old_count);
        if (whole == product_of(shape, at, count) ||
            (with_parts && old_count == 1 && are_parts_of(shape, at, count, whole)))
          return SameElements{old_at, old_count, at, count};
      }
    }
    return with_parts ? std::nullopt : std::optional(SameElements{old_at, old_left, at, left});
  };
  while (old_at < old_shape.size() || at < shape.size()) {
    if (at < shape.size() && shape[at].extent == Extent(1)) {
      ++at;
      continue;
    }
    const bool unit = old_at < old_shape.size() && old_shape[old_at].extent == Extent(1);
    const auto group = unit ? std::optional(SameElements{old_at, 1, at, 0}) : next_group();
    if (!group) return std::nullopt;
    groups.push_back(*group);
    old_at += group->old_count;
    at += group->count;
  }
  return groups;
}

}  // namespace

Tensor call_transpose(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  const std::vector<Tensor> args = positional(lowerer, call, 1, 9, range);
  const Tensor& t = args[0];
  if (args.size() == 1) return lowerer.algebra.transpose(t, range);
  if (args.size() - 1 != t.rank()) {
    lowerer.reports.fail(DiagnosticId::kBadArgument, range,
                         "transpose needs each of the tensor's " + counted(t.rank(), "dimension") + " once");
  }
  Tensor result = t;
  std::vector<bool> taken(t.rank(), false);
  for (std::size_t d = 0; d < t.rank(); ++d) {
    const auto from = static_cast<std::size_t>(axis_number(lowerer, *call.arguments[d + 1].value, t.rank()));
    if (taken[from])
      lowerer.reports.fail(DiagnosticId::kBadArgument, call.arguments[d + 1].range, "this dimension is named twice");
    taken[from] = true;
    result.labels[d] = t.labels[from];
    result.shape[d] = t.shape[from];
  }
  return result;
}

Tensor call_size(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  const Tensor t = positional(lowerer, call, 1, 2, range)[0];
  if (call.arguments.size() == 1) {
    Extent size = 1;
    for (const Dim& d : t.shape) size = size * lowerer.shapes.length_of(d.extent);
    return scalar_tensor(expr_of(lowerer.graph.program(), size));
  }
  const auto axis = static_cast<std::size_t>(axis_number(lowerer, *call.arguments[1].value, t.rank()));
  return scalar_tensor(expr_of(lowerer.graph.program(), lowerer.shapes.length_of(t.shape[axis].extent)));
}

Tensor call_outer(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  const std::vector<Tensor> args = positional(lowerer, call, 2, 2, range);
  for (const Tensor& t : args) {
    if (t.rank() != 1)
      lowerer.reports.fail(DiagnosticId::kRankMismatch, t.range,
                           "outer takes two vectors, but this is " + lowerer.graph.text(t));
  }
  Tensor column = lowerer.algebra.fresh(args[0]);
  column.labels.push_back(lowerer.graph.new_label());
  column.shape.push_back({1, "a column", range});
  return lowerer.algebra.arithmetic(BinaryOp::kMul, column, lowerer.algebra.fresh(args[1]), range);
}

namespace {

/// The diagonals of matrices; leading dimensions are a batch of them.
Tensor diagonals(Lowerer& lowerer, const Tensor& t, const SourceRange& range) {
  const Extent rows = t.shape[t.rank() - 2].extent, columns = t.shape.back().extent;
  std::vector<Dim> shape(t.shape.begin(), t.shape.end() - 1);
  if (!(rows == columns)) {
    const Expr shorter = ir::binary(BinaryOp::kMin, expr_of(lowerer.graph.program(), rows),
                                    expr_of(lowerer.graph.program(), columns), range);
    shape.back().extent = lowerer.graph.extent_of(shorter, "diagonal");
  }
  Tensor result = lowerer.algebra.filled(ir::constant_i64(0), t.weak, std::move(shape));
  std::vector<Expr> subscripts;
  for (const std::int32_t label : result.labels) subscripts.push_back(ir::index_ref(label));
  subscripts.push_back(subscripts.back());
  result.body = element(t, subscripts);
  return result;
}

}  // namespace

Tensor call_diag(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  const Tensor t = positional(lowerer, call, 1, 1, range)[0];
  if (t.rank() == 0)
    lowerer.reports.fail(DiagnosticId::kRankMismatch, range,
                         "diag takes a vector or a matrix, but this is " + lowerer.graph.text(t));
  if (t.rank() > 1) return diagonals(lowerer, t, range);
  Tensor result = t;
  result.labels.push_back(lowerer.graph.new_label());
  result.shape.push_back(t.shape[0]);
  const Expr on = ir::binary(BinaryOp::kEq, ir::index_ref(result.labels[0]), ir::index_ref(result.labels[1]), range);
  result.body = ir::select(on, t.body, ir::zero_of(t.scalar()), range);
  return result;
}

Tensor call_trace(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  const Tensor t = positional(lowerer, call, 1, 1, range)[0];
  if (t.rank() < 2) lowerer.reports.fail(DiagnosticId::kRankMismatch, range, "trace takes a matrix");
  const Tensor diagonal = diagonals(lowerer, t, range);
  lowerer.values.require_not_padded(diagonal);
  std::vector<bool> reduced(diagonal.rank(), false);
  reduced.back() = true;
  return reduce_axes(lowerer, {Reducer::kSum, {}, Scalar::kF64}, diagonal, reduced, false, range);
}

Tensor call_triangle(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  const std::vector<Tensor> args = positional(lowerer, call, 1, 2, range);
  const Tensor& t = args[0];
  if (t.rank() < 2)
    lowerer.reports.fail(DiagnosticId::kRankMismatch, range,
                         call.callee.name + " takes a matrix, but this is " + lowerer.graph.text(t));
  const Expr k = args.size() == 1 ? ir::constant_i64(0)
                                  : lowerer.values.scalar_of_type(args[1], Scalar::kI64, "the diagonal's number");
  Tensor result = t;
  const Expr i = ir::index_ref(t.labels[t.rank() - 2]);
  const Expr j = ir::index_ref(t.labels[t.rank() - 1]);
  const BinaryOp keeps = call.callee.name == "tril" ? BinaryOp::kLe : BinaryOp::kGe;
  result.body = ir::select(ir::binary(keeps, j, add(i, k), range), t.body, ir::zero_of(t.scalar()), range);
  return result;
}

Tensor call_flip(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  const Tensor t = positional(lowerer, call, 1, 1, range, {"axis"})[0];
  const std::vector<bool> flipped = reduced_axes(lowerer, call, t.rank());
  Tensor result = lowerer.algebra.fresh(t);
  std::vector<Expr> subscripts;
  for (std::size_t d = 0; d < t.rank(); ++d) {
    const Expr own = ir::index_ref(result.labels[d]);
    const Expr last = expr_of(lowerer.graph.program(), t.shape[d].extent - Extent(1));
    subscripts.push_back(flipped[d] ? sub(last, own) : own);
  }
  result.body = element(t, subscripts);
  return result;
}

Tensor call_roll(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  const std::vector<Tensor> args = positional(lowerer, call, 2, 2, range, {"axis"});
  const Tensor& t = args[0];
  const ast::Expr* axis = named_argument(call, "axis");
  const Expr shift = lowerer.values.scalar_of_type(args[1], Scalar::kI64, "roll's shift");
  const auto rolled = [&](const Expr& own, const Expr& extent) {
    return ir::binary(BinaryOp::kMod, sub(own, shift), extent, range);
  };
  Tensor result = lowerer.algebra.fresh(t);
  if (axis == nullptr && t.rank() != 1) {
    // All elements in row-major order.
    Extent size = 1;
    for (const Dim& d : t.shape) size = size * d.extent;
    result.body = element(
        t, lowerer.algebra.split(rolled(lowerer.algebra.row_major(result), expr_of(lowerer.graph.program(), size)),
                                 t.shape, range));
    return result;
  }
  const auto chosen = axis == nullptr ? 0 : static_cast<std::size_t>(axis_number(lowerer, *axis, t.rank()));
  std::vector<Expr> subscripts;
  for (std::size_t d = 0; d < t.rank(); ++d) {
    const Expr own = ir::index_ref(result.labels[d]);
    subscripts.push_back(d == chosen ? rolled(own, expr_of(lowerer.graph.program(), t.shape[d].extent)) : own);
  }
  result.body = element(t, subscripts);
  return result;
}

Tensor call_concat(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  require_separate_tensors(lowerer, call);
  const std::vector<Tensor> args = positional(lowerer, call, 1, 1000, range, {"axis"});
  const ast::Expr* axis_expr = named_argument(call, "axis");
  const std::size_t rank = args[0].rank();
  if (rank == 0)
    lowerer.reports.fail(DiagnosticId::kRankMismatch, args[0].range, "concat takes tensors, but this is a scalar");
  const auto axis = axis_expr == nullptr ? 0 : static_cast<std::size_t>(axis_number(lowerer, *axis_expr, rank));
  Tensor result = args[0];
  for (std::size_t k = 1; k < args.size(); ++k) {
    const Tensor& next = args[k];
    if (next.rank() != rank) {
      lowerer.reports.fail(DiagnosticId::kRankMismatch, next.range,
                           "concat joins tensors of one rank: " + lowerer.graph.text(args[0]) + " and " +
                               lowerer.graph.text(next) +
                               (next.rank() == 0 && k + 1 == args.size() ? "; an axis is named: axis=1" : ""));
    }
    result = lowerer.algebra.joined(result, next, axis, range);
  }
  return lowerer.algebra.fresh(result);
}

Tensor call_reshape(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  if (call.arguments.empty())
    lowerer.reports.fail(DiagnosticId::kBadArgument, range, "reshape takes a tensor and sizes");
  const Tensor t = lower(lowerer, *call.arguments[0].value);
  Tensor result = lowerer.algebra.filled(ir::constant_i64(0), t.weak, extent_arguments(lowerer, call, 1, range));
  Dim old_size{1, "the number of elements of " + lowerer.reports.source_text(call.arguments[0].range),
               call.arguments[0].range};
  Dim new_size{1, "the number of elements asked for", range};
  for (const Dim& d : t.shape) old_size.extent = old_size.extent * d.extent;
  for (const Dim& d : result.shape) new_size.extent = new_size.extent * d.extent;
  lowerer.shapes.agree(old_size, new_size, range, "in this reshape");
  std::vector<Expr> subscripts;
  auto groups = same_elements(t.shape, result.shape, true);
  if (!groups) groups = same_elements(t.shape, result.shape, false);
  for (const SameElements& group : *groups) {
    const auto first = t.shape.begin() + static_cast<std::ptrdiff_t>(group.old_first);
    const std::vector<Dim> of_group(first, first + static_cast<std::ptrdiff_t>(group.old_count));
    for (Expr& subscript :
         lowerer.algebra.split(lowerer.algebra.row_major(result, group.first, group.count), of_group, range))
      subscripts.push_back(std::move(subscript));
  }
  result.body = element(t, subscripts);
  return result;
}

}  // namespace tdsl::frontend
