#include <algorithm>

#include "codegen/loops/loop_nest_builder.h"
#include "codegen/operations/vector_forms.h"
#include "ir/analysis/update_order.h"
#include "ir/graph/affine.h"
#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"

// Operations along lines of tensors in single-task loops: hoisted checks, partial sums.

namespace tdsl::codegen {

using ir::Monoid;

namespace {

/// Calls `f` on all parts that are evaluated unconditionally, excluding branches of a choice.
void for_each_evaluated(const Expr& e, const std::function<void(const ir::ExprNode&)>& f) {
  f(*e);
  if (const auto* s = std::get_if<ir::Select>(&e->op)) return for_each_evaluated(s->condition, f);
  if (const auto* b = std::get_if<ir::Binary>(&e->op); b != nullptr && ir::is_logical(b->op))
    return for_each_evaluated(b->left, f);
  for (const Expr& child : ir::children(*e)) for_each_evaluated(child, f);
}

/// The label that a subscript runs along, and the remainder; labels are pseudo values (ir/graph/affine.h).
struct Along {
  std::int32_t label = -1;
  ir::LinearForm form;
};
std::optional<Along> along(const Expr& subscript, std::size_t labels) {
  const auto p = ir::polynomial_of(subscript);
  if (!p) return std::nullopt;
  Along result{-1, {0, *p}};
  for (std::size_t l = 0; l < labels; ++l) {
    const auto label = static_cast<std::int32_t>(l);
    if (!ir::mentions(*p, ir::label_value(label))) continue;
    const auto form = ir::linear_in(*p, ir::label_value(label));
    if (!form || result.label >= 0) return std::nullopt;
    result = {label, *form};
  }
  return result;
}

/// Memory stride of an expression's reads as the label increases: none, next element, or far.
enum class LineStep : std::uint8_t { kNone, kNext, kFar };
LineStep line_step(const ir::Read& r, std::int32_t label) {
  LineStep step = LineStep::kNone;
  for (std::size_t d = 0; d < r.subscripts.size(); ++d) {
    if (!ir::mentions_label(r.subscripts[d], label)) continue;
    const auto p = ir::polynomial_of(r.subscripts[d]);
    const auto form = p ? ir::linear_in(*p, ir::label_value(label)) : std::nullopt;
    const bool next = step == LineStep::kNone && d + 1 == r.subscripts.size() && form && form->coefficient == 1;
    step = next ? LineStep::kNext : LineStep::kFar;
  }
  return step;
}

}  // namespace

bool LoopNestBuilder::is_checked_ahead(ValueId tensor, std::size_t dimension, const Expr& subscript) const {
  if (checked_.empty()) return false;
  const Expr here = spelled(subscript);
  return std::ranges::any_of(checked_, [&](const Checked& c) {
    return c.tensor == tensor && c.dimension == dimension && ir::equal(c.subscript, here);
  });
}

void LoopNestBuilder::check_ahead(const ir::Node& n, const ir::Compute& c, std::size_t k) {
  const std::vector<ir::Label> labels = ir::all_labels(c);
  if (labels.empty() || c.guard) return;
  Body checks;
  const auto check = [&](ValueId tensor, const std::vector<Expr>& subscripts, const ir::SourceRange& range) {
    for (std::size_t d = 0; d < subscripts.size(); ++d) {
      const Expr s = spelled(subscripts[d]);
      if (bounds_.inside(s, program_.type(tensor).shape[d]) || is_checked_ahead(tensor, d, s)) continue;
      const auto place = along(s, labels.size());
      if (!place) continue;
      const ir::Label label =
          place->label >= 0 ? labels[static_cast<std::size_t>(place->label)] : ir::Label{"", Extent(0), Extent(1)};
      const Extent first = place->form.rest + Extent(place->form.coefficient) * label.begin;
      const ValueId whole = variable(tensor);
      checks.push_back(
          {nest::CheckLine{
               whole, of_nest(first), place->form.coefficient, of_nest(label.end - label.begin),
               bound(d, nest_.variable(whole).type.shape[d], s, tensor, range.known() ? range : request_.place)},
           place_});
      checked_.push_back({tensor, d, s});
    }
  };
  bounds_.enter(labels, 0);
  for (const ir::Label& l : labels) label_names_.push_back(l.name);
  for_each_evaluated(c.bodies[k], [&](const ir::ExprNode& e) {
    if (const auto* r = std::get_if<ir::Read>(&e.op); r != nullptr && !r->subscripts.empty())
      check(r->tensor, r->subscripts, e.range);
  });
  // A tensor with different extents in this iteration is resized later.
  if (!c.left.empty() && !changes_size(n.results[k]))
    check(n.results[k], c.left, c.left[0]->range.known() ? c.left[0]->range : n.range);
  label_names_.clear();
  bounds_.leave(labels.size());
  if (checks.empty()) return;
  nest::Nonempty points;
  for (const ir::Label& l : labels) points.ranges.push_back(of_nest(l));
  add(nest::If{std::move(points), std::move(checks)});
}

bool LoopNestBuilder::reduces_lines(const ir::Compute& c, std::size_t k) {
  const Monoid::Kind kind = c.monoid->kind;
  if (kind != Monoid::Kind::kSum && kind != Monoid::Kind::kProd && kind != Monoid::Kind::kMin &&
      kind != Monoid::Kind::kMax)
    return false;
  if (ir::is_complex(c.bodies[k]->type) || !ir::has_vectors(c.bodies[k]->type)) return false;
  bool free = true;
  bounds_.enter(c.reduce, labels_.size());
  ir::for_each_node(c.bodies[k], [&](const ir::ExprNode& e) {
    free = free && !may_fail(e);
    const auto* r = std::get_if<ir::Read>(&e.op);
    for (std::size_t d = 0; free && r != nullptr && d < r->subscripts.size(); ++d) {
      free = bounds_.inside(r->subscripts[d], program_.type(r->tensor).shape[d]) ||
             is_checked_ahead(r->tensor, d, r->subscripts[d]);
    }
  });
  bounds_.leave(c.reduce.size());
  return free;
}

bool LoopNestBuilder::line(ValueId total, std::span<const int> labels) {
  if (!lines_ || !reduces_lines(*compute_, result_)) return false;
  loops(labels.first(labels.size() - 1), false, [&] { line_reduction(total); });
  return true;
}

void LoopNestBuilder::line_reduction(ValueId total) {
  const ir::Compute& c = *compute_;
  const ir::Label& last = c.reduce.back();
  const auto number = static_cast<std::int32_t>(labels_.size());
  open(last);
  const Expr body = spelled(c.bodies[result_]);
  const auto* times = std::get_if<ir::Binary>(&body->op);
  const bool dot = c.monoid->kind == Monoid::Kind::kSum && times != nullptr && times->op == ir::BinaryOp::kMul &&
                   is_line(times->left, number) && is_line(times->right, number);
  add(nest::RowReduction{total, c.monoid->kind, labels_.back(), of_nest(last), of_nest(body), dot});
  close(1);
}

bool LoopNestBuilder::is_line(const Expr& e, std::int32_t label) {
  const auto* r = std::get_if<ir::Read>(&e->op);
  return r != nullptr && ir::is_real(e->type) && line_step(*r, label) == LineStep::kNext;
}

bool LoopNestBuilder::accumulates_lines(const ir::Compute& c, std::size_t k) {
  if (c.out.empty() || c.reduce.empty() || c.guard || (c.base && ir::update_order(c) == ir::UpdateOrder::kCopied))
    return false;
  const auto line = static_cast<std::int32_t>(c.out.size() - 1);
  const auto sum = static_cast<std::int32_t>(c.out.size() + c.reduce.size() - 1);
  bool far = false;
  bool lines = true;
  ir::for_each_read(c.bodies[k], [&](const ir::Read& r) {
    far = far || (line_step(r, sum) == LineStep::kFar && line_step(r, line) == LineStep::kNext);
    lines = lines && line_step(r, line) != LineStep::kFar;
  });
  if (!far || !lines) return false;
  bounds_.enter(c.out, 0);
  labels_.resize(c.out.size());
  const bool free = reduces_lines(c, k);
  labels_.clear();
  bounds_.leave(c.out.size());
  return free;
}

void LoopNestBuilder::accumulated(const ir::Node& n, const ir::Compute& c, std::size_t k) {
  const ValueId v = n.results[k];
  // A tensor created here accumulates the sums itself, unless it has bounds of its own or is combined with old values.
  const bool direct =
      !c.base && c.left.empty() && !c.combine && !c.fill && c.bodies[k]->type == program_.type(v).scalar;
  const ValueId next = direct ? variable(v) : staging(n, c, k);
  add(nest::Fill{next, ir::identity_of(*c.monoid, c.bodies[k]->type)});
  const std::vector<ir::Label> labels = ir::all_labels(c);
  for (const ir::Label& l : labels) open(l);
  const std::size_t line = c.out.size() - 1;
  const std::size_t sum = labels.size() - 1;
  const Place element{next, position(c)};
  std::vector<std::size_t> around;
  for (std::size_t l = 0; l < labels.size(); ++l) {
    if (l != line && l != sum) around.push_back(l);
  }
  const Expr body = spelled(c.bodies[k]);
  Body inner;
  if (std::optional<nest::AddProducts> products = added_products(c, body, element)) {
    inner.push_back({*std::move(products), place_});
  } else {
    around.insert(around.end(), {sum, line});
    inner = collected([&] { change(element, c.monoid, named_value(body)); });
  }
  for (; !around.empty(); around.pop_back()) {
    nest::For loop{labels_[around.back()], of_nest(labels[around.back()]), nest::Order::kSerial, std::move(inner)};
    inner.clear();
    inner.push_back({std::move(loop), place_});
  }
  append(std::move(inner));
  close(labels.size());
  if (direct) return;
  if (!c.base && (c.combine || !c.left.empty())) add(nest::Fill{variable(v), untouched(c, program_.type(v).scalar)});
  output_loops(c, [&] { store_point(n, c, k, {ir::read(c.bodies[k]->type, next, position(c)), {}}); });
}

std::optional<nest::AddProducts> LoopNestBuilder::added_products(const ir::Compute& c, const Expr& body,
                                                                 const Place& element) {
  const auto line = static_cast<std::int32_t>(c.out.size() - 1);
  const auto sum = static_cast<std::int32_t>(c.out.size() + c.reduce.size() - 1);
  const auto* times = std::get_if<ir::Binary>(&body->op);
  if (c.monoid->kind != Monoid::Kind::kSum || times == nullptr || times->op != ir::BinaryOp::kMul ||
      !ir::is_real(body->type))
    return std::nullopt;
  const auto steady = [&](const Expr& s) {
    const auto p = ir::polynomial_of(s);
    return p && ir::linear_in(*p, ir::label_value(sum));
  };
  for (const auto& [x, scale] : {std::pair(times->left, times->right), std::pair(times->right, times->left)}) {
    if (!is_line(x, line) || ir::mentions_label(scale, line) ||
        !std::ranges::all_of(std::get<ir::Read>(x->op).subscripts, steady))
      continue;
    const auto number = [&](std::int32_t l) { return labels_[static_cast<std::size_t>(l)]; };
    return nest::AddProducts{element,        number(sum), of_nest(c.reduce.back()), number(line), of_nest(c.out.back()),
                             of_nest(scale), of_nest(x)};
  }
  return std::nullopt;
}

}  // namespace tdsl::codegen
