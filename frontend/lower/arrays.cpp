#include <algorithm>

#include "frontend/lower/builtins.h"
#include "frontend/lower/lowering.h"
#include "frontend/sema/types.h"
#include "ir/graph/within.h"

// Array literals, and functions that put elements of their arguments into other places.

namespace tdsl::frontend {

namespace {

/// Choice of a part by its number: a tree of comparisons, whose depth is the logarithm of the number of parts.
Expr chosen(const Expr& number, const std::vector<Expr>& parts, std::size_t first, std::size_t count) {
  if (count == 1) return parts[first];
  const std::size_t half = count / 2;
  const Expr before =
      ir::binary(BinaryOp::kLt, number, ir::constant_i64(static_cast<std::int64_t>(first + half)), number->range);
  return ir::select(before, chosen(number, parts, first, half), chosen(number, parts, first + half, count - half),
                    number->range);
}

Common common_type_of(Lowerer& lowerer, const std::vector<Tensor>& parts) {
  Common common{parts[0].scalar(), parts[0].weak};
  for (std::size_t k = 1; k < parts.size(); ++k) common = lowerer.values.common_type(common, parts[k], parts[k].range);
  return common;
}

void require_tensor(Lowerer& lowerer, const Tensor& t, const std::string& function) {
  if (t.rank() == 0)
    lowerer.reports.fail(DiagnosticId::kRankMismatch, t.range, function + " takes tensors, but this is a scalar");
}

/// A factor of an extent, at least 0.
Extent factor(Lowerer& lowerer, const ast::Expr& e, const std::string& what) {
  const Expr value = integer_scalar(lowerer, e, what);
  if (!labels_of(value).empty())
    lowerer.reports.fail(DiagnosticId::kBadDimension, e.range, what + " cannot depend on an index variable");
  const std::string text = lowerer.reports.source_text(e.range);
  const Extent extent = lowerer.graph.extent_of(value, text);
  lowerer.shapes.require_size(extent, extent.constant() ? what : what + " " + text, e.range);
  return extent;
}

}  // namespace

Tensor stacked(Lowerer& lowerer, const std::vector<Tensor>& parts, std::size_t axis, const SourceRange& range) {
  const Common common = common_type_of(lowerer, parts);
  Tensor result = lowerer.algebra.fresh(parts[0]);
  std::vector<Expr> own;
  for (const std::int32_t id : result.labels) own.push_back(ir::index_ref(id));
  std::vector<Expr> elements;
  for (const Tensor& part : parts) {
    lowerer.values.require_not_padded(part);
    if (part.rank() != result.rank())
      lowerer.reports.fail(
          DiagnosticId::kShapeMismatch, part.range,
          "these have different shapes: " + lowerer.graph.text(parts[0]) + " and " + lowerer.graph.text(part));
    for (std::size_t d = 0; d < result.rank(); ++d)
      lowerer.shapes.agree(result.shape[d], part.shape[d], part.range, "in dimension " + std::to_string(d));
    if (common.weak == Weak::kNo) lowerer.values.require_fits(part, common.type, part.range);
    elements.push_back(converted(element(part, own), common.type));
  }
  const auto count = static_cast<std::int64_t>(parts.size());
  const auto at = static_cast<std::ptrdiff_t>(axis);
  const std::int32_t number = lowerer.graph.new_label(count);
  result.labels.insert(result.labels.begin() + at, number);
  result.shape.insert(result.shape.begin() + at,
                      Dim{count, "the number of parts of " + lowerer.reports.source_text(range), range});
  if (result.rank() > 8) lowerer.reports.fail(DiagnosticId::kRankMismatch, range, "a tensor has at most 8 dimensions");
  result.body = chosen(ir::index_ref(number, range), elements, 0, elements.size());
  result.weak = common.weak;
  result.range = range;
  return result;
}

Tensor lower_array(Lowerer& lowerer, const ast::ArrayLiteral& array, const SourceRange& range) {
  // Longer ones are computed in parts, so that expressions stay short.
  constexpr std::size_t kPart = 1024;
  std::vector<Tensor> elements;
  for (const ast::ExprPtr& e : array.elements) elements.push_back(lower(lowerer, *e));
  if (elements.size() <= kPart) return stacked(lowerer, elements, 0, range);
  const Common common = common_type_of(lowerer, elements);
  Tensor whole;
  for (std::size_t first = 0; first < elements.size(); first += kPart) {
    const std::size_t last = std::min(first + kPart, elements.size());
    const std::vector<Tensor> some(elements.begin() + static_cast<std::ptrdiff_t>(first),
                                   elements.begin() + static_cast<std::ptrdiff_t>(last));
    Tensor part = stacked(lowerer, some, 0, range);
    part.body = converted(part.body, common.type);
    part.weak = Weak::kNo;
    part = lowerer.values.temporary(lowerer.values.materialise(part, "", range), range);
    whole = first == 0 ? part : lowerer.algebra.joined(whole, part, 0, range);
  }
  whole.weak = common.weak;
  return whole;
}

void require_separate_tensors(Lowerer& lowerer, const ast::Call& call) {
  if (call.arguments.empty() || (call.arguments.size() > 1 && !call.arguments[1].name)) return;
  const ast::Expr& only = *call.arguments[0].value;
  if (!call.arguments[0].name && std::holds_alternative<ast::ArrayLiteral>(only.node))
    lowerer.reports.fail(DiagnosticId::kBadArgument, only.range,
                         "tensors are separate arguments: " + call.callee.name + "(A, B, axis=0)");
}

Tensor call_stack(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  require_separate_tensors(lowerer, call);
  const std::vector<Tensor> args = positional(lowerer, call, 1, 1000, range, {"axis"});
  const ast::Expr* axis = named_argument(call, "axis");
  const std::int64_t at = axis == nullptr ? 0 : axis_number(lowerer, *axis, args[0].rank() + 1);
  return stacked(lowerer, args, static_cast<std::size_t>(at), range);
}

/// `tile(A, r0, r1, …)`: A side by side.
Tensor call_tile(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  const Tensor t = positional(lowerer, call, 1, 9, range)[0];
  require_tensor(lowerer, t, "tile");
  if (call.arguments.size() != t.rank() + 1)
    lowerer.reports.fail(DiagnosticId::kBadArgument, range,
                         "tile takes a factor for each of the tensor's " + counted(t.rank(), "dimension"));
  Tensor result = lowerer.algebra.fresh(t);
  std::vector<Expr> subscripts;
  for (std::size_t d = 0; d < t.rank(); ++d) {
    const Extent times = factor(lowerer, *call.arguments[d + 1].value, "a factor of tile");
    const Expr own = ir::index_ref(result.labels[d]);
    const Extent length = lowerer.shapes.length_of(t.shape[d].extent);
    result.shape[d] = {length * times, "a dimension of " + lowerer.reports.source_text(range), range};
    subscripts.push_back(
        times.constant() == 1 ? own : ir::binary(BinaryOp::kRem, own, expr_of(lowerer.graph.program(), length), range));
  }
  result.body = element(t, subscripts);
  return result;
}

Tensor call_repeat(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  const Tensor t = positional(lowerer, call, 2, 2, range, {"axis"})[0];
  require_tensor(lowerer, t, "repeat");
  const ast::Expr* axis = named_argument(call, "axis");
  if (axis == nullptr && t.rank() > 1)
    lowerer.reports.fail(
        DiagnosticId::kBadArgument, range,
        "repeat of a tensor of rank " + std::to_string(t.rank()) + " needs an axis: repeat(A, k, axis=0)");
  const auto along = axis == nullptr ? 0 : static_cast<std::size_t>(axis_number(lowerer, *axis, t.rank()));
  const Extent times = factor(lowerer, *call.arguments[1].value, "the factor of repeat");
  Tensor result = lowerer.algebra.fresh(t);
  std::vector<Expr> subscripts;
  for (const std::int32_t id : result.labels) subscripts.push_back(ir::index_ref(id));
  subscripts[along] = ir::binary(BinaryOp::kDiv, subscripts[along], expr_of(lowerer.graph.program(), times), range);
  result.shape[along] = {lowerer.shapes.length_of(t.shape[along].extent) * times,
                         "the length of " + lowerer.reports.source_text(range), range};
  result.body = element(t, subscripts);
  return result;
}

Tensor call_flatten(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  return lowerer.algebra.flattened(positional(lowerer, call, 1, 1, range)[0], range);
}

/// `take(A, p, axis=0)`: the dimensions of p in place of the axis.
Tensor call_take(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  const std::vector<Tensor> args = positional(lowerer, call, 2, 2, range, {"axis"});
  require_tensor(lowerer, args[0], "take");
  const ast::Expr* axis = named_argument(call, "axis");
  const auto along = axis == nullptr ? 0 : static_cast<std::size_t>(axis_number(lowerer, *axis, args[0].rank()));
  if (!ir::is_integer(args[1].scalar()))
    lowerer.reports.fail(DiagnosticId::kTypeMismatch, args[1].range,
                         "the places of take are integers, but this is " + lowerer.graph.text(args[1]));
  return taken_along(lowerer, lowerer.values.operand(args[0]), args[1], along, range);
}

Tensor taken_along(Lowerer& lowerer, const Tensor& from, const Tensor& given, std::size_t along,
                   const SourceRange& range) {
  const Tensor places = lowerer.algebra.fresh(given);
  Tensor result = lowerer.algebra.fresh(from);
  std::vector<Expr> subscripts;
  for (const std::int32_t id : result.labels) subscripts.push_back(ir::index_ref(id));
  subscripts[along] = ir::cast(Scalar::kI64, places.body, range);
  if (!whole_value(from)) {
    const Dim& dim = from.shape[along];
    subscripts[along] = ir::within(
        subscripts[along], expr_of(lowerer.graph.program(), dim.extent),
        "a place of take lies outside its dimension: " + dim.what + " has extent " + lowerer.graph.text(dim.extent),
        range);
  }
  const auto at = static_cast<std::ptrdiff_t>(along);
  result.labels.erase(result.labels.begin() + at);
  result.shape.erase(result.shape.begin() + at);
  result.labels.insert(result.labels.begin() + at, places.labels.begin(), places.labels.end());
  result.shape.insert(result.shape.begin() + at, places.shape.begin(), places.shape.end());
  if (result.rank() > 8) lowerer.reports.fail(DiagnosticId::kRankMismatch, range, "a tensor has at most 8 dimensions");
  result.body = element(from, subscripts);
  return result;
}

Tensor call_kron(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  const std::vector<Tensor> args = positional(lowerer, call, 2, 2, range);
  const Tensor& a = args[0];
  const Tensor& b = args[1];
  if (a.rank() != b.rank() || a.rank() == 0)
    lowerer.reports.fail(
        DiagnosticId::kRankMismatch, range,
        "kron takes tensors of equal ranks, but these are " + lowerer.graph.text(a) + " and " + lowerer.graph.text(b));
  Tensor blocks = lowerer.algebra.fresh(a);
  Tensor inside = blocks;
  std::vector<Expr> outer;
  std::vector<Expr> inner;
  for (std::size_t d = 0; d < a.rank(); ++d) {
    const Extent size = lowerer.shapes.length_of(b.shape[d].extent);
    const Expr own = ir::index_ref(blocks.labels[d]);
    const Expr extent = expr_of(lowerer.graph.program(), size);
    outer.push_back(ir::binary(BinaryOp::kDiv, own, extent, range));
    inner.push_back(ir::binary(BinaryOp::kRem, own, extent, range));
    blocks.shape[d] = {lowerer.shapes.length_of(a.shape[d].extent) * size,
                       "a dimension of " + lowerer.reports.source_text(range), range};
  }
  inside.shape = blocks.shape;
  blocks.body = element(a, outer);
  inside.body = element(b, inner);
  inside.weak = b.weak;
  return lowerer.algebra.arithmetic(BinaryOp::kMul, blocks, inside, range);
}

/// `A[1:] - A[:-1]` along an axis.
Tensor call_diff(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  const Tensor t = positional(lowerer, call, 1, 1, range, {"axis"})[0];
  require_tensor(lowerer, t, "diff");
  const ast::Expr* axis = named_argument(call, "axis");
  const auto along = axis == nullptr ? t.rank() - 1 : static_cast<std::size_t>(axis_number(lowerer, *axis, t.rank()));
  const auto shifted = [&](std::int64_t by) {
    Tensor part = lowerer.algebra.fresh(t);
    std::vector<Expr> subscripts;
    for (const std::int32_t id : part.labels) subscripts.push_back(ir::index_ref(id));
    subscripts[along] = add(subscripts[along], ir::constant_i64(by));
    part.body = element(t, subscripts);
    part.shape[along].extent = part.shape[along].extent - Extent(1);
    return part;
  };
  lowerer.shapes.require_size(t.shape[along].extent - Extent(1), "the number of differences", range);
  return lowerer.algebra.arithmetic(BinaryOp::kSub, shifted(1), shifted(0), range);
}

}  // namespace tdsl::frontend
