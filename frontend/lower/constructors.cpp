#include <algorithm>

#include "frontend/lower/builtins.h"
#include "frontend/lower/lowering.h"
#include "frontend/sema/types.h"

namespace tdsl::frontend {

std::vector<Dim> extent_arguments(Lowerer& lowerer, const ast::Call& call, std::size_t first, const SourceRange& range,
                                  std::size_t last, const std::set<std::string>& named) {
  last = std::min(last, call.arguments.size());
  std::vector<Dim> shape;
  std::size_t total = 0;
  for (std::size_t k = first; k < last; ++k) total += call.arguments[k].name ? 0 : 1;
  for (std::size_t k = first; k < last; ++k) {
    const ast::Argument& a = call.arguments[k];
    if (a.name && named.contains(a.name->name)) continue;
    if (a.name) {
      const std::vector<std::string> legal(named.begin(), named.end());
      const std::string hint = a.name->name == "size" ? "; sizes stand alone: " + call.callee.name + "(…, n, m)"
                                                      : did_you_mean(a.name->name, legal);
      lowerer.reports.fail(DiagnosticId::kBadArgument, a.name->range,
                           call.callee.name + (legal.empty() ? " takes sizes, no named arguments"
                                                             : " has no argument `" + a.name->name + "=`" + hint));
    }
    if (std::holds_alternative<ast::ArrayLiteral>(a.value->node))
      lowerer.reports.fail(DiagnosticId::kBadArgument, a.range,
                           "sizes are separate arguments: " + call.callee.name + "(n, m)");
    const Expr size = integer_scalar(lowerer, *a.value, "a size");
    if (!labels_of(size).empty()) {
      lowerer.reports.fail(DiagnosticId::kBadDimension, a.range, "a size cannot depend on an index variable");
    }
    const std::string text = lowerer.reports.source_text(a.range);
    const std::string whole = lowerer.reports.source_text(range);
    shape.push_back({lowerer.graph.extent_of(size, text),
                     dimension_text(shape.size(), total, whole.empty() ? call.callee.name : whole), a.range});
    lowerer.shapes.require_size(shape.back().extent,
                                text.empty() || shape.back().extent.constant() ? "this size" : "the size " + text,
                                a.range);
  }
  if (shape.size() > 8) lowerer.reports.fail(DiagnosticId::kRankMismatch, range, "a tensor has at most 8 dimensions");
  return shape;
}

Tensor call_zeros(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  const double value = call.callee.name == "ones" ? 1.0 : 0.0;
  return lowerer.algebra.filled(ir::constant(Scalar::kF64, value, range), Weak::kAny,
                                extent_arguments(lowerer, call, 0, range));
}

Tensor call_full(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  if (call.arguments.empty())
    lowerer.reports.fail(DiagnosticId::kBadArgument, range, "full takes a value and sizes: full(v, n, m)");
  const Tensor value = lower(lowerer, *call.arguments[0].value);
  if (value.rank() != 0)
    lowerer.reports.fail(DiagnosticId::kNotScalar, value.range,
                         "full's value is a scalar, but this is " + lowerer.graph.text(value));
  return lowerer.algebra.filled(value.body, value.weak, extent_arguments(lowerer, call, 1, range));
}

Tensor call_eye(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  std::vector<Dim> shape = extent_arguments(lowerer, call, 0, range);
  if (shape.size() == 1) shape.push_back(shape[0]);
  if (shape.size() != 2) lowerer.reports.fail(DiagnosticId::kBadArgument, range, "eye takes one or two sizes");
  Tensor t = lowerer.algebra.filled(ir::constant(Scalar::kF64, 0.0, range), Weak::kAny, std::move(shape));
  const Expr diagonal = ir::binary(BinaryOp::kEq, ir::index_ref(t.labels[0]), ir::index_ref(t.labels[1]), range);
  t.body = ir::select(diagonal, ir::constant(Scalar::kF64, 1.0, range), t.body, range);
  return t;
}

namespace {

/// The step of `iota(a, b, s)`; a step that may be 0 stops the run.
Expr counting_step(Lowerer& lowerer, const ast::Expr& e) {
  const Expr step = integer_scalar(lowerer, e, "the step of iota");
  const auto known = known_integer(lowerer.graph, step);
  if (known == 0) lowerer.reports.fail(DiagnosticId::kBadArgument, e.range, "the step of iota cannot be 0");
  if (!known) {
    const Expr good = ir::binary(BinaryOp::kNe, step, ir::constant_i64(0), e.range);
    lowerer.graph.emit_effect(
        ir::Assert{lowerer.values.materialise(scalar_tensor(good), "", e.range), "the step of iota is not 0", true},
        e.range);
  }
  return known ? ir::constant_i64(*known, e.range) : step;
}

/// The number of integers from a by s before b.
Extent counted_between(Lowerer& lowerer, const Expr& a, const Expr& b, const Expr& s, const SourceRange& range) {
  const Expr one = ir::constant_i64(1);
  const auto steps = [&](const Expr& distance, const Expr& step) {
    return ir::binary(BinaryOp::kDiv, sub(add(distance, step), one), step, range);
  };
  const auto known = integer_constant(s);
  Expr count;
  if (known) {
    count = *known > 0 ? steps(sub(b, a), s) : steps(sub(a, b), ir::constant_i64(-*known));
  } else {
    // With a step of 0 the run has stopped.
    const Expr zero = ir::constant_i64(0);
    const Expr down = steps(sub(a, b), ir::binary(BinaryOp::kMax, sub(zero, s), one, range));
    const Expr up = steps(sub(b, a), ir::binary(BinaryOp::kMax, s, one, range));
    count = ir::select(ir::binary(BinaryOp::kGt, s, zero, range), up, down, range);
  }
  return lowerer.shapes.length_of(lowerer.graph.extent_of(count, lowerer.reports.source_text(range)));
}

}  // namespace

/// `iota(n)`, `iota(a, b)`, `iota(a, b, s)`.
Tensor call_iota(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  const std::size_t given = call.arguments.size();
  const bool named = std::ranges::any_of(call.arguments, [](const ast::Argument& a) { return a.name.has_value(); });
  if (given == 0 || given > 3 || named)
    lowerer.reports.fail(DiagnosticId::kBadArgument, range,
                         "iota takes one to three integers: iota(n) is 0, 1, …, n - 1, iota(a, b, s) is a, a + s, …");
  if (given == 1) {
    Tensor t = lowerer.algebra.filled(ir::constant_i64(0), Weak::kNo, extent_arguments(lowerer, call, 0, range));
    t.body = ir::index_ref(t.labels[0], range);
    return t;
  }
  const Expr first = integer_scalar(lowerer, *call.arguments[0].value, "the first number of iota");
  const Expr end = integer_scalar(lowerer, *call.arguments[1].value, "the end of iota");
  const Expr step = given == 3 ? counting_step(lowerer, *call.arguments[2].value) : ir::constant_i64(1);
  for (const Expr& e : {first, end, step}) {
    if (!labels_of(e).empty())
      lowerer.reports.fail(DiagnosticId::kBadDimension, range, "a size cannot depend on an index variable");
  }
  const Dim dim{counted_between(lowerer, first, end, step, range),
                "the length of " + lowerer.reports.source_text(range), range};
  Tensor t = lowerer.algebra.filled(ir::constant_i64(0), Weak::kNo, {dim});
  t.body = add(mul(step, ir::index_ref(t.labels[0], range)), first);
  return t;
}

/// `linspace(a, b, n)`: a + i * ((b - a) / (n - 1)), the last is b.
Tensor call_linspace(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  const std::vector<Tensor> args = positional(lowerer, call, 3, 3, range);
  for (std::size_t k = 0; k < 2; ++k) {
    if (args[k].rank() != 0)
      lowerer.reports.fail(DiagnosticId::kNotScalar, args[k].range,
                           "linspace takes two scalars and a size, but this is " + lowerer.graph.text(args[k]));
  }
  const Common common = common_type(args[0].scalar(), args[0].weak, args[1].scalar(), args[1].weak);
  const Scalar type = ir::is_float(common.type) ? common.type : Scalar::kF64;
  const Expr a = converted(args[0].body, type);
  const Expr b = converted(args[1].body, type);
  Tensor t = lowerer.algebra.filled(a, Weak::kNo, extent_arguments(lowerer, call, 2, range));
  const Expr i = ir::index_ref(t.labels[0], range);
  const Expr last = expr_of(lowerer.graph.program(), t.shape[0].extent - Extent(1));
  const Expr step =
      ir::binary(BinaryOp::kDiv, ir::binary(BinaryOp::kSub, b, a, range), ir::cast(type, last, range), range);
  const Expr inside =
      ir::binary(BinaryOp::kAdd, a, ir::binary(BinaryOp::kMul, ir::cast(type, i, range), step, range), range);
  const Expr end = ir::select(ir::binary(BinaryOp::kEq, i, last, range), b, inside, range);
  t.body = ir::select(ir::binary(BinaryOp::kEq, i, ir::constant_i64(0), range), a, end, range);
  return t;
}

/// zeros_like, ones_like, full_like.
Tensor call_like(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  const bool full = call.callee.name == "full_like";
  const std::size_t count = full ? 2 : 1;
  const std::vector<Tensor> args = positional(lowerer, call, count, count, range);
  const Tensor& like = args[0];
  Expr value;
  if (full) {
    if (args[1].rank() != 0)
      lowerer.reports.fail(DiagnosticId::kNotScalar, args[1].range,
                           "full_like's value is a scalar, but this is " + lowerer.graph.text(args[1]));
    value = like.weak == Weak::kNo ? lowerer.values.scalar_of_type(args[1], like.scalar(), "the value of full_like")
                                   : converted(args[1].body, like.scalar());
  } else {
    value = converted(ir::constant_i64(call.callee.name == "ones_like" ? 1 : 0, range), like.scalar());
  }
  std::vector<Dim> shape = like.shape;
  for (Dim& d : shape) d.extent = lowerer.shapes.length_of(d.extent);
  return lowerer.algebra.filled(value, like.weak, std::move(shape));
}

}  // namespace tdsl::frontend
