#include "frontend/lower/lowering.h"

namespace tdsl::frontend {

std::int32_t bind_index(GraphBuilder& graph, Names& names, const ast::Identifier& name) {
  const std::int32_t label = graph.new_label(name.name, name.range);
  names.bind_symbol(name, label, ir::index_ref(label, name.range), true);
  return label;
}

std::optional<std::int64_t> known_integer(const GraphBuilder& graph, const Expr& e) {
  if (const auto value = integer_constant(e)) return value;
  const auto* r = std::get_if<ir::Read>(&e->op);
  return r == nullptr || !r->subscripts.empty() ? std::nullopt : graph.extent_of_value(r->tensor).constant();
}

bool has_short_step(Lowerer& lowerer, const ast::Expr& step) {
  // Limit beyond which sums of bounds and steps might overflow i64.
  constexpr std::int64_t kLongest = std::int64_t{1} << 31;
  const auto value = known_integer(lowerer.graph, integer_scalar(lowerer, step, "a step"));
  return value && *value > -kLongest && *value < kLongest;
}

std::int64_t step_of(Lowerer& lowerer, const ast::ExprPtr& step) {
  if (!step) return 1;
  const auto value = known_integer(lowerer.graph, integer_scalar(lowerer, *step, "a step"));
  if (!value) lowerer.reports.fail(DiagnosticId::kNotConstant, step->range, "a step must be known when compiling");
  if (*value == 0) lowerer.reports.fail(DiagnosticId::kBadArgument, step->range, "a step cannot be 0");
  return *value;
}

namespace {

/// `e` as the window bound `moving`, clamped by `limit` (null: not clamped).
struct WindowBound {
  Affine moving;
  Expr expression;
  Expr limit;
};

std::optional<WindowBound> window_bound(const Expr& e, BinaryOp limits, const ValueExtent& value_extent) {
  const auto moving = [&](const Expr& part, const Expr& limit) -> std::optional<WindowBound> {
    const auto affine = ir::affine_in_labels(part, value_extent);
    if (!affine || affine->coefficients.empty()) return std::nullopt;
    return WindowBound{*affine, part, limit};
  };
  const auto* b = std::get_if<ir::Binary>(&e->op);
  if (b == nullptr || b->op != limits) return moving(e, {});
  if (labels_of(b->left).empty()) return moving(b->right, b->left);
  return labels_of(b->right).empty() ? moving(b->left, b->right) : std::nullopt;
}

/// `i - 2..i + 3`, also as `max(0, i - 2)..min(n, i + 3)`: binds the name as `first` plus a label of constant range, so
/// that only points of the window are visited. False if the range is not such a window.
bool bind_window(GraphBuilder& graph, Guards& guards, Names& names, const ast::Identifier& name, const Expr& begin,
                 const Expr& end, std::vector<std::int32_t>& labels) {
  const auto first = window_bound(begin, BinaryOp::kMax, graph.value_extent());
  const auto last = window_bound(end, BinaryOp::kMin, graph.value_extent());
  if (!first || !last || first->moving.coefficients != last->moving.coefficients) return false;
  const std::int32_t id = graph.new_label(name.name, name.range);
  labels.push_back(id);
  LabelInfo& info = graph.label(id);
  info.is_explicit = true;
  info.resolved = true;
  info.end = last->moving.offset - first->moving.offset;
  const Expr value = add(first->expression, ir::index_ref(id, name.range));
  Expr inside;
  if (first->limit) inside = ir::binary(BinaryOp::kLe, first->limit, value, name.range);
  if (last->limit) inside = both(inside, ir::binary(BinaryOp::kLt, value, last->limit, name.range));
  if (inside) guards.add(inside);
  names.bind_symbol(name, id, value, false);
  return true;
}

/// bind_range for a step known at run time only.
void bind_computed_range(Lowerer& lowerer, const ast::Identifier& name, const Expr& begin, const Expr& end,
                         const Expr& step, const SourceRange& place, std::vector<std::int32_t>& labels) {
  for (const Expr& e : {begin, end, step}) {
    if (!labels_of(e).empty())
      lowerer.reports.unsupported(place, "a range whose step is computed and that depends on index variables is");
  }
  const auto value = [&](const Expr& e) {
    return lowerer.values.materialise(scalar_tensor(e), lowerer.reports.source_text(e->range), e->range);
  };
  LoopRange loop;
  loop.begin = value(begin);
  loop.end = value(end);
  loop.computed_step = value(step);
  const auto read = [](ir::ValueId v) { return ir::read(Scalar::kI64, v, {}); };
  const Expr up = ir::binary(BinaryOp::kLt, ir::constant_i64(0), read(loop.computed_step));
  const Expr past = ir::select(up, read(loop.end), add(read(loop.begin), ir::constant_i64(1)));
  const Extent written = lowerer.graph.extent_of(past, name.name + "_end");
  const Extent count = Extent::of(iterations_of(lowerer.shapes, lowerer.values, loop, place));
  const std::int32_t id = lowerer.graph.new_label(name.name, name.range);
  labels.push_back(id);
  LabelInfo& info = lowerer.graph.label(id);
  info.is_explicit = true;
  info.resolved = true;
  info.written_end = written;
  info.computed_step = true;
  info.end = count;
  const Expr steps = mul(read(loop.computed_step), ir::index_ref(id, name.range));
  lowerer.names.bind_symbol(name, id, add(read(loop.begin), steps), false);
}

}  // namespace

void bind_range(Lowerer& lowerer, const ast::Identifier& name, const ast::ExprPtr& lower, const ast::ExprPtr& upper,
                const ast::ExprPtr& step, std::vector<std::int32_t>& labels, bool may_move) {
  Expr begin = integer_scalar(lowerer, *lower, "a range's begin");
  Expr end = integer_scalar(lowerer, *upper, "a range's end");
  const auto first_extent =
      labels_of(begin).empty() ? frontend::extent_of(begin, lowerer.graph.value_extent()) : std::nullopt;
  const auto last_extent =
      labels_of(end).empty() ? frontend::extent_of(end, lowerer.graph.value_extent()) : std::nullopt;
  if (first_extent && last_extent)
    lowerer.shapes.require_countable(*first_extent, *last_extent, name.name, lower->range.to(upper->range));
  if (step) {
    const Expr computed = integer_scalar(lowerer, *step, "a step");
    if (!has_short_step(lowerer, *step)) {
      bind_computed_range(lowerer, name, begin, end, computed, step->range, labels);
      return;
    }
  }
  const std::int64_t by = step_of(lowerer, step);
  if (may_move && by == 1 && bind_window(lowerer.graph, lowerer.guards, lowerer.names, name, begin, end, labels))
    return;
  const std::int32_t id = lowerer.graph.new_label(name.name, name.range);
  labels.push_back(id);
  const Expr own = ir::index_ref(id, name.range);
  Expr value = own;
  const Expr past = by > 0 ? end : add(begin, ir::constant_i64(1));
  if (labels_of(past).empty()) {
    const Extent written = lowerer.graph.extent_of(past, name.name + "_end");
    lowerer.graph.label(id).written_end = written;
    lowerer.graph.label(id).from_zero = by > 0 && integer_constant(begin) == 0;
  }
  if (by != 1) {
    // The label counts the steps: 0, 1, … below ceil((end - begin) / by).
    const Expr way = by > 0 ? sub(end, begin) : sub(begin, end);
    const std::int64_t length = by > 0 ? by : -by;
    value = add(begin, mul(ir::constant_i64(by), own));
    begin = ir::constant_i64(0);
    end = ir::binary(BinaryOp::kDiv, add(way, ir::constant_i64(length - 1)), ir::constant_i64(length));
  }
  LabelInfo& info = lowerer.graph.label(id);
  info.is_explicit = true;
  if (labels_of(begin).empty() && labels_of(end).empty()) {
    const Extent first = lowerer.graph.extent_of(begin, name.name + "_begin");
    const Extent last = lowerer.graph.extent_of(end, name.name + "_end");
    lowerer.graph.label(id).begin = first;
    lowerer.graph.label(id).end = last;
    lowerer.graph.label(id).resolved = true;
  } else {
    info.lower = begin;
    info.upper = end;
    // The label runs over the hull; the guard picks its own points.
    Expr inside;
    if (!labels_of(begin).empty()) inside = ir::binary(BinaryOp::kLe, begin, own, name.range);
    if (!labels_of(end).empty()) inside = both(inside, ir::binary(BinaryOp::kLt, own, end, name.range));
    lowerer.guards.add(inside);
  }
  lowerer.names.bind_symbol(name, id, value, by == 1);
}

namespace {

/// True for a subscript on the right side in a dimension that is longer than that of the left side by a number, such as
/// n + 1 beside n: it does not count for the extent.
bool is_staggered(const Extent& left, const BareUse& use) {
  if (use.is_left || left.constant()) return false;
  return (use.dim.extent - left).constant().value_or(0) > 0;
}

}  // namespace

void resolve_labels(GraphBuilder& graph, Reports& reports, Shapes& shapes, const std::vector<std::int32_t>& labels) {
  for (const std::int32_t id : labels) {
    const LabelInfo info = graph.label(id);
    if (info.resolved || info.lower) continue;
    if (info.bare_uses.empty()) {
      reports.fail(DiagnosticId::kUnknownRange, info.range,
                   "nothing tells the range of `" + info.name +
                       "`: it never stands alone as a subscript; write `… for " + info.name +
                       " in 0..n`, in a reduction `sum[" + info.name + " in 0..n](…)`");
    }
    const auto left = std::ranges::find_if(info.bare_uses, &BareUse::is_left);
    const BareUse& first = left == info.bare_uses.end() ? info.bare_uses.front() : *left;
    for (const BareUse& use : info.bare_uses) {
      if (first.is_left && is_staggered(first.dim.extent, use)) continue;
      shapes.agree(first.dim, use.dim, use.place, "for the index variable `" + info.name + "`");
    }
    graph.label(id).end = first.dim.extent;
    graph.label(id).resolved = true;
  }
}

}  // namespace tdsl::frontend
