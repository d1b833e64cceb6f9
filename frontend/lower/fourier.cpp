#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "frontend/lower/builtins.h"
#include "frontend/lower/lowering.h"
#include "frontend/sema/types.h"
#include "ir/graph/expr_build.h"

// Fourier transforms, frequencies and shifts. A transform of several axes is one routine per axis.

namespace tdsl::frontend {

using ir::Routine;

namespace {

/// The factor of a transform with this `norm=`.
Routine::Scale scale_of(Lowerer& lowerer, const ast::Call& call, bool inverse) {
  const std::string norm = option_word(lowerer, call, "norm", {"backward", "ortho", "forward"});
  if (norm == "ortho") return Routine::Scale::kRoot;
  return (norm == "backward") == inverse ? Routine::Scale::kWhole : Routine::Scale::kNone;
}

/// The value of `n=`, at least 0, or nothing.
std::optional<Dim> wanted_length(Lowerer& lowerer, const ast::Call& call) {
  const ast::Expr* given = named_argument(call, "n");
  if (given == nullptr) return std::nullopt;
  const Expr value = integer_scalar(lowerer, *given, "n=");
  if (!labels_of(value).empty())
    lowerer.reports.fail(DiagnosticId::kBadDimension, given->range, "n= cannot depend on an index variable");
  const std::string text = lowerer.reports.source_text(given->range);
  const Extent extent = lowerer.graph.extent_of(value, text);
  lowerer.shapes.require_size(extent, extent.constant() ? "n=" : "n= " + text, given->range);
  return Dim{extent, "n=", given->range};
}

/// `t` cut at `length` along the axis, or continued by zeros.
Tensor with_length(Lowerer& lowerer, const Tensor& t, std::size_t axis, const Dim& length) {
  const Extent old = lowerer.shapes.length_of(t.shape[axis].extent);
  if (old == length.extent) return t;
  Tensor result = lowerer.algebra.fresh(t);
  std::vector<Expr> subscripts;
  for (const std::int32_t id : result.labels) subscripts.push_back(ir::index_ref(id));
  result.shape[axis] = length;
  result.body = element(t, subscripts);
  const auto surplus = (old - length.extent).constant();
  if (surplus && *surplus >= 0) return result;
  const Expr inside = ir::binary(BinaryOp::kLt, subscripts[axis], expr_of(lowerer.graph.program(), old), length.range);
  result.body = ir::select(inside, result.body, ir::zero_of(t.scalar()), length.range);
  return result;
}

/// A transform of 0 elements stops the run.
void require_elements(Lowerer& lowerer, const ast::Call& call, const Extent& n, const SourceRange& range) {
  if (const auto known = n.constant(); known && *known >= 1) return;
  lowerer.shapes.check({ir::Check::Relation::kAtMost,
                        1,
                        n,
                        call.callee.name + " transforms lines of at least 1 element, but these have {right}",
                        {}},
                       range);
}

Tensor whole_operand(Lowerer& lowerer, const ast::Call& call, const SourceRange& range,
                     const std::set<std::string>& named) {
  Tensor t = positional(lowerer, call, 1, 1, range, named)[0];
  lowerer.values.require_not_padded(t);
  if (t.rank() == 0)
    lowerer.reports.fail(DiagnosticId::kRankMismatch, range,
                         call.callee.name + " takes a tensor, but this is a scalar");
  const std::optional<ValueId> whole = whole_value(t);
  if (whole && lowerer.graph.program().type(*whole).has_sparse())
    lowerer.reports.warn(DiagnosticId::kDenseStorage, t.range,
                         "a dense copy of this is transformed: " + call.callee.name + " needs all elements");
  return t;
}

std::size_t one_axis(Lowerer& lowerer, const ast::Call& call, std::size_t rank) {
  const ast::Expr* axis = named_argument(call, "axis");
  return axis == nullptr ? rank - 1 : static_cast<std::size_t>(axis_number(lowerer, *axis, rank));
}

/// The axes of a transform, in the order in which they are transformed. Without `axis=` a forward transform ends with
/// the axis with which an inverse one begins: in between, a distributed tensor stays in the layout of that axis, so
/// that both together have two exchanges.
std::vector<std::size_t> axes_of(Lowerer& lowerer, const ast::Call& call, const Tensor& t, const SourceRange& range) {
  const std::string& name = call.callee.name;
  std::vector<std::size_t> axes;
  if (name.ends_with("n") || name.ends_with("2")) {
    const std::size_t count = name.ends_with("n") ? t.rank() : 2;
    if (t.rank() < count)
      lowerer.reports.fail(DiagnosticId::kRankMismatch, range,
                           name + " takes a tensor of at least 2 dimensions, but this is " + lowerer.graph.text(t));
    for (std::size_t k = 1; k <= count; ++k) axes.push_back(t.rank() - k);
    if (name.starts_with("i")) std::ranges::reverse(axes);
    return axes;
  }
  const ast::Expr* axis = named_argument(call, "axis");
  const auto* tuple = axis == nullptr ? nullptr : std::get_if<ast::Tuple>(&axis->node);
  if (tuple == nullptr) return {one_axis(lowerer, call, t.rank())};
  for (const ast::ExprPtr& e : tuple->elements) {
    axes.push_back(static_cast<std::size_t>(axis_number(lowerer, *e, t.rank())));
    if (std::count(axes.begin(), axes.end(), axes.back()) > 1)
      lowerer.reports.fail(DiagnosticId::kBadArgument, e->range, "this axis is named twice");
  }
  return axes;
}

Scalar complex_of(Scalar type) { return ir::is_float(type) && ir::is_narrow(type) ? Scalar::kC64 : Scalar::kC128; }

Tensor transformed(Lowerer& lowerer, const ast::Call& call, Routine routine, std::size_t axis, const Tensor& t,
                   Scalar operand, RoutineResult result, const SourceRange& range) {
  routine.axis = static_cast<std::int64_t>(axis);
  routine.operands = {lowerer.algebra.routine_operand(t, operand, call)};
  return lowerer.algebra.emit_routine(std::move(routine), {std::move(result)}, range)[0];
}

/// `d=`, the distance of samples.
Expr distance_of(Lowerer& lowerer, const ast::Call& call) {
  const ast::Expr* given = named_argument(call, "d");
  if (given == nullptr) return ir::constant(Scalar::kF64, 1.0);
  return lowerer.values.scalar_of_type(lower(lowerer, *given), Scalar::kF64, "d=");
}

}  // namespace

/// fft, ifft along axes; fft2, ifft2, fftn, ifftn.
Tensor call_fft(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  const bool inverse = call.callee.name.starts_with("i");
  const bool by_axis = call.callee.name.ends_with("fft");
  Tensor t = whole_operand(lowerer, call, range,
                           by_axis ? std::set<std::string>{"axis", "n", "norm"} : std::set<std::string>{"norm"});
  Routine routine;
  routine.kind = inverse ? Routine::Kind::kIfft : Routine::Kind::kFft;
  routine.scale = scale_of(lowerer, call, inverse);
  const std::vector<std::size_t> axes = axes_of(lowerer, call, t, range);
  const std::optional<Dim> length = wanted_length(lowerer, call);
  if (length && axes.size() != 1)
    lowerer.reports.fail(DiagnosticId::kBadArgument, length->range, "n= is the length of one axis");
  if (length) t = with_length(lowerer, t, axes[0], *length);
  const Scalar type = complex_of(t.scalar());
  for (const std::size_t axis : axes) {
    require_elements(lowerer, call, t.shape[axis].extent, range);
    const std::vector<Dim> shape = t.shape;
    const Scalar operand = ir::is_complex(t.scalar()) ? type : ir::part_type(type);
    t = transformed(lowerer, call, routine, axis, t, operand, {type, shape}, range);
  }
  return t;
}

Tensor call_rfft(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  Tensor t = whole_operand(lowerer, call, range, {"axis", "n", "norm"});
  if (ir::is_complex(t.scalar()))
    lowerer.reports.fail(DiagnosticId::kTypeMismatch, t.range,
                         "rfft transforms reals, but this is " + lowerer.graph.text(t) + "; take fft, or real(z)");
  Routine routine;
  routine.kind = Routine::Kind::kRfft;
  routine.scale = scale_of(lowerer, call, false);
  const std::size_t axis = one_axis(lowerer, call, t.rank());
  if (const std::optional<Dim> length = wanted_length(lowerer, call)) t = with_length(lowerer, t, axis, *length);
  require_elements(lowerer, call, t.shape[axis].extent, range);
  const Scalar type = complex_of(t.scalar());
  std::vector<Dim> shape = t.shape;
  shape[axis] = {Extent::quotient(lowerer.shapes.length_of(shape[axis].extent), 2) + Extent(1),
                 "the number of frequencies of " + lowerer.reports.source_text(range), range};
  return transformed(lowerer, call, std::move(routine), axis, t, ir::part_type(type), {type, std::move(shape)}, range);
}

Tensor call_irfft(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  const Tensor t = whole_operand(lowerer, call, range, {"axis", "n", "norm"});
  Routine routine;
  routine.kind = Routine::Kind::kIrfft;
  routine.scale = scale_of(lowerer, call, true);
  const std::size_t axis = one_axis(lowerer, call, t.rank());
  const std::optional<Dim> length = wanted_length(lowerer, call);
  std::vector<Dim> shape = t.shape;
  const Extent given = lowerer.shapes.length_of(shape[axis].extent);
  shape[axis] = {Extent(2) * (given - Extent(1)), "the length of " + lowerer.reports.source_text(range), range};
  if (length) shape[axis] = *length;
  require_elements(lowerer, call, shape[axis].extent, range);
  if (length) {
    const Dim frequencies{Extent::quotient(length->extent, 2) + Extent(1), "n / 2 + 1 of n=", length->range};
    lowerer.shapes.agree(frequencies, t.shape[axis], range, "between n= and the frequencies of irfft");
  }
  const Scalar type = complex_of(t.scalar());
  return transformed(lowerer, call, std::move(routine), axis, t, type, {ir::part_type(type), std::move(shape)}, range);
}

/// fftfreq, rfftfreq: whole numbers of turns per n samples times 1 / (n d).
Tensor call_fftfreq(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  std::vector<Dim> shape = extent_arguments(lowerer, call, 0, range, SIZE_MAX, {"d"});
  if (shape.size() != 1)
    lowerer.reports.fail(DiagnosticId::kBadArgument, range,
                         call.callee.name + " takes a size, and the distance of samples as d=");
  const Extent n = shape[0].extent;
  const Expr size = expr_of(lowerer.graph.program(), n);
  const bool halved = call.callee.name == "rfftfreq";
  if (halved) shape[0] = {Extent::quotient(n, 2) + Extent(1), "the number of frequencies", range};
  const Expr all = ir::binary(BinaryOp::kMul, ir::cast(Scalar::kF64, size, range), distance_of(lowerer, call), range);
  const Expr unit = ir::binary(BinaryOp::kDiv, ir::constant(Scalar::kF64, 1.0), all, range);
  Tensor t = lowerer.algebra.filled(unit, Weak::kNo, std::move(shape));
  Expr turns = ir::index_ref(t.labels[0], range);
  if (!halved) {
    const Expr half = expr_of(lowerer.graph.program(), Extent::quotient(n + Extent(1), 2));
    turns = ir::select(ir::binary(BinaryOp::kLt, turns, half, range), turns, sub(turns, size), range);
  }
  t.body = ir::binary(BinaryOp::kMul, ir::cast(Scalar::kF64, turns, range), unit, range);
  return t;
}

/// fftshift moves the first element to place n / 2, ifftshift back.
Tensor call_fftshift(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  const Tensor t = positional(lowerer, call, 1, 1, range, {"axis"})[0];
  const bool back = call.callee.name == "ifftshift";
  const std::vector<bool> shifted = reduced_axes(lowerer, call, t.rank());
  Tensor result = lowerer.algebra.fresh(t);
  std::vector<Expr> subscripts;
  for (std::size_t d = 0; d < t.rank(); ++d) {
    const Expr own = ir::index_ref(result.labels[d]);
    const Extent n = lowerer.shapes.length_of(t.shape[d].extent);
    const Expr half = expr_of(lowerer.graph.program(), Extent::quotient(n, 2));
    const Expr from = back ? add(own, half) : sub(own, half);
    subscripts.push_back(shifted[d] ? ir::binary(BinaryOp::kMod, from, expr_of(lowerer.graph.program(), n), range)
                                    : own);
  }
  result.body = element(t, subscripts);
  return result;
}

}  // namespace tdsl::frontend
