#include <algorithm>
#include <limits>

#include "frontend/lower/builtins.h"
#include "frontend/lower/lowering.h"
#include "frontend/sema/types.h"
#include "ir/graph/expr_build.h"

// variance, std, median, quantile.

namespace tdsl::frontend {

using ir::Routine;

namespace {

/// The tensor as floats, computed once if it is more than a name.
Tensor float_operand(Lowerer& lowerer, const Tensor& t) {
  lowerer.values.require_not_padded(t);
  Tensor values = t;
  values.weak = Weak::kNo;
  values.body = ir::is_float(t.scalar()) ? t.body : converted(t.body, Scalar::kF64);
  for (const std::int32_t id : labels_of(values.body)) {
    if (std::ranges::find(values.labels, id) == values.labels.end()) return values;
  }
  return values.rank() == 0 || whole_value(values) ? values : lowerer.values.operand(values);
}

/// The product of the marked extents.
Extent size_of_axes(Lowerer& lowerer, const Tensor& t, const std::vector<bool>& marked) {
  Extent size = 1;
  for (std::size_t d = 0; d < t.rank(); ++d) {
    if (marked[d]) size = size * lowerer.shapes.length_of(t.shape[d].extent);
  }
  return size;
}

Expr nan_of(Scalar type, const SourceRange& range) {
  return ir::constant(type, std::numeric_limits<double>::quiet_NaN(), range);
}

}  // namespace

/// The sum of the squared distances from the mean, divided by n - ddof; `std` is its square root.
Tensor call_variance(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  Algebra& algebra = lowerer.algebra;
  const Tensor t = float_operand(lowerer, positional(lowerer, call, 1, 1, range, {"axis", "keepdims", "ddof"})[0]);
  const std::vector<bool> reduced = reduced_axes(lowerer, call, t.rank());
  const Tensor mean = reduce_axes(lowerer, {Reducer::kMean, {}, Scalar::kF64}, t, reduced, true, range);
  const Tensor deviation = algebra.arithmetic(BinaryOp::kSub, t, mean, range);
  Tensor squares = deviation;
  squares.body = ir::is_complex(t.scalar()) ? squared_abs(deviation.body, range)
                                            : ir::binary(BinaryOp::kPow, deviation.body, ir::constant_i64(2), range);
  const Tensor total =
      reduce_axes(lowerer, {Reducer::kSum, {}, Scalar::kF64}, squares, reduced, keeps_dimensions(lowerer, call), range);
  const ast::Expr* ddof = named_argument(call, "ddof");
  const Expr free = expr_of(lowerer.graph.program(), size_of_axes(lowerer, t, reduced));
  const Expr divisor = ddof == nullptr ? free : sub(free, integer_scalar(lowerer, *ddof, "ddof="));
  const Expr positive = ir::binary(BinaryOp::kGt, divisor, ir::constant_i64(0), range);
  const Tensor result = algebra.elementwise({total}, Weak::kNo, range, [&](const std::vector<Expr>& e) {
    const Scalar type = e[0]->type;
    return ir::select(positive, ir::binary(BinaryOp::kDiv, e[0], converted(divisor, type), range), nan_of(type, range),
                      range);
  });
  return call.callee.name == "std" ? algebra.apply_unary(UnaryOp::kSqrt, result, range) : result;
}

namespace {

/// The reduced dimensions as lines of a tensor, and which of its dimensions they run along.
struct Lines {
  Tensor tensor;
  std::size_t axis = 0;
};

/// One marked dimension is left in place; several become the last one, in row-major order.
Lines lines_along(Lowerer& lowerer, const Tensor& t, const std::vector<bool>& reduced, const SourceRange& range) {
  if (std::ranges::count(reduced, true) == 1)
    return {t, static_cast<std::size_t>(std::ranges::find(reduced, true) - reduced.begin())};
  Lines lines;
  std::vector<Dim> inside;
  for (std::size_t d = 0; d < t.rank(); ++d) {
    if (reduced[d]) {
      inside.push_back(t.shape[d]);
      continue;
    }
    lines.tensor.labels.push_back(lowerer.graph.new_label());
    lines.tensor.shape.push_back(t.shape[d]);
  }
  lines.axis = lines.tensor.rank();
  lines.tensor.labels.push_back(lowerer.graph.new_label());
  lines.tensor.shape.push_back({size_of_axes(lowerer, t, reduced), "the number of elements", range});
  const std::vector<Expr> places = lowerer.algebra.split(ir::index_ref(lines.tensor.labels.back()), inside, range);
  std::vector<Expr> subscripts;
  std::size_t kept = 0;
  std::size_t split = 0;
  for (std::size_t d = 0; d < t.rank(); ++d)
    subscripts.push_back(reduced[d] ? places[split++] : ir::index_ref(lines.tensor.labels[kept++]));
  lines.tensor.body = element(t, subscripts);
  lines.tensor.range = t.range;
  return lines;
}

/// The share below which the wanted element lies: q, or 0.5 for the median.
Expr share_below(Lowerer& lowerer, const ast::Call& call, const std::vector<Tensor>& args, const SourceRange& range) {
  if (call.callee.name == "median") return ir::constant(Scalar::kF64, 0.5, range);
  const Expr q = lowerer.values.scalar_of_type(args[1], Scalar::kF64, "the share of quantile");
  if (!labels_of(q).empty())
    lowerer.reports.fail(DiagnosticId::kNotScalar, args[1].range,
                         "the share of quantile cannot depend on an index variable");
  const auto compared = [&](BinaryOp op, double limit) {
    return ir::binary(op, q, ir::constant(Scalar::kF64, limit), range);
  };
  const Expr good = both(compared(BinaryOp::kGe, 0.0), compared(BinaryOp::kLe, 1.0));
  const ir::Literal* known = literal_of(good);
  if (known != nullptr && !std::get<bool>(*known))
    lowerer.reports.fail(DiagnosticId::kBadArgument, args[1].range, "the share of quantile is between 0 and 1");
  if (known == nullptr)
    lowerer.graph.emit_effect(ir::Assert{lowerer.values.materialise(scalar_tensor(good), "", range),
                                         "the share of quantile is between 0 and 1", true},
                              range);
  return q;
}

}  // namespace

/// quantile(A, q): the element at place q (n - 1) in ascending order, linear between neighbours; nan if there is none
/// or one is nan. median(A) is quantile(A, 0.5).
Tensor call_quantile(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  const std::size_t count = call.callee.name == "median" ? 1 : 2;
  const std::vector<Tensor> args = positional(lowerer, call, count, count, range, {"axis", "keepdims"});
  if (args[0].rank() == 0)
    lowerer.reports.fail(DiagnosticId::kRankMismatch, range,
                         call.callee.name + " takes a tensor, but this is a scalar");
  const Expr share = share_below(lowerer, call, args, range);
  const std::vector<bool> reduced = reduced_axes(lowerer, call, args[0].rank());
  const Scalar type = ir::is_float(args[0].scalar()) ? args[0].scalar() : Scalar::kF64;
  const Lines lines = lines_along(lowerer, args[0], reduced, range);
  Routine routine;
  routine.kind = Routine::Kind::kSort;
  routine.axis = static_cast<std::int64_t>(lines.axis);
  routine.operands = {lowerer.algebra.routine_operand(lines.tensor, type, call)};
  const Tensor sorted = lowerer.algebra.emit_routine(std::move(routine), {{type, lines.tensor.shape}}, range)[0];

  const Expr length = expr_of(lowerer.graph.program(), lowerer.shapes.length_of(lines.tensor.shape[lines.axis].extent));
  const Expr last = sub(length, ir::constant_i64(1));
  const auto computed = [&](const Expr& e) {
    return lowerer.values.tensor_of(lowerer.values.materialise(scalar_tensor(e), "", range), range).body;
  };
  const Expr place = computed(ir::binary(BinaryOp::kMul, share, ir::cast(Scalar::kF64, last), range));
  const Expr below = computed(ir::cast(Scalar::kI64, ir::unary(UnaryOp::kFloor, place, range), range));
  const Expr above = ir::binary(BinaryOp::kMin, add(below, ir::constant_i64(1)), last, range);
  const Expr weight = converted(ir::binary(BinaryOp::kSub, place, ir::cast(Scalar::kF64, below), range), type);

  Tensor result = lowerer.algebra.fresh(sorted);
  std::vector<Expr> subscripts;
  for (const std::int32_t id : result.labels) subscripts.push_back(ir::index_ref(id));
  const auto at = [&](const Expr& position) {
    subscripts[lines.axis] = position;
    return element(sorted, subscripts);
  };
  const Expr low = at(below);
  const Expr high = at(above);
  const Expr none = ir::constant(type, 0.0);
  const Expr between = ir::binary(
      BinaryOp::kAdd,
      ir::binary(BinaryOp::kMul, ir::binary(BinaryOp::kSub, ir::constant(type, 1.0), weight, range), low, range),
      ir::binary(BinaryOp::kMul, weight, high, range), range);
  const Expr exact = ir::binary(BinaryOp::kOr, ir::binary(BinaryOp::kEq, weight, none, range),
                                ir::binary(BinaryOp::kEq, low, high, range), range);
  const Expr of_numbers = ir::select(exact, low, between, range);
  const Expr with_nan = ir::select(ir::unary(UnaryOp::kIsNan, at(last), range), nan_of(type, range), of_numbers, range);
  result.body =
      ir::select(ir::binary(BinaryOp::kEq, length, ir::constant_i64(0), range), nan_of(type, range), with_nan, range);
  const auto along = static_cast<std::ptrdiff_t>(lines.axis);
  result.labels.erase(result.labels.begin() + along);
  result.shape.erase(result.shape.begin() + along);
  result.weak = Weak::kNo;
  return keeps_dimensions(lowerer, call) ? with_reduced_dimensions(lowerer, result, reduced, range) : result;
}

}  // namespace tdsl::frontend
