#include <algorithm>

#include "codegen/describe.h"
#include "codegen/loop_emitter.h"
#include "ir/affine.h"
#include "ir/expr_build.h"
#include "ir/update_order.h"

// What loops that run as one task do along lines of tensors: checks in front of them, sums of partial sums.

namespace tdsl::codegen {

using ir::Monoid;

namespace {

/// Calls `f` on what is evaluated whenever the expression is: not the branches of a choice.
void for_each_evaluated(const Expr& e, const std::function<void(const ir::ExprNode&)>& f) {
  f(*e);
  if (const auto* s = std::get_if<ir::Select>(&e->op)) return for_each_evaluated(s->condition, f);
  if (const auto* b = std::get_if<ir::Binary>(&e->op); b != nullptr && ir::is_logical(b->op)) return for_each_evaluated(b->left, f);
  for (const Expr& child : ir::children(*e)) for_each_evaluated(child, f);
}

/// Whether the operation itself can stop the run.
bool may_stop(const ir::ExprNode& e) {
  if (std::holds_alternative<ir::Apply>(e.op)) return true;
  if (const auto* c = std::get_if<ir::Cast>(&e.op)) return ir::is_integer(e.type) && ir::is_float(c->operand->type);
  const auto* b = std::get_if<ir::Binary>(&e.op);
  return b != nullptr && ir::is_integer(e.type) &&
         (b->op == ir::BinaryOp::kDiv || b->op == ir::BinaryOp::kAbsentDiv || b->op == ir::BinaryOp::kRem || b->op == ir::BinaryOp::kMod || b->op == ir::BinaryOp::kPow);
}

/// The label that a subscript counts along, with the rest; labels are pseudo values (ir/affine.h).
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

std::string combined_text(const Monoid& m, ir::Scalar s) {
  switch (m.kind) {
    case Monoid::Kind::kSum: return ir::is_float(s) ? "a + b" : "scalar::add(a, b)";
    case Monoid::Kind::kProd: return ir::is_float(s) ? "a * b" : "scalar::multiply(a, b)";
    case Monoid::Kind::kMin: return "scalar::min(a, b)";
    default: return "scalar::max(a, b)";
  }
}

/// How far apart in memory the elements are that an expression reads as the label counts: the same one, neighbours, or far.
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

bool LoopEmitter::is_checked_ahead(ValueId tensor, std::size_t dimension, const Expr& subscript) const {
  if (checked_.empty()) return false;
  const Expr here = spelled(subscript);
  return std::ranges::any_of(checked_, [&](const Checked& c) { return c.tensor == tensor && c.dimension == dimension && ir::equal(c.subscript, here); });
}

void LoopEmitter::check_ahead(const ir::Node& n, const ir::Compute& c, std::size_t k) {
  std::vector<ir::Label> labels = c.out;
  labels.insert(labels.end(), c.reduce.begin(), c.reduce.end());
  if (labels.empty() || c.guard) return;
  const auto unchecked = [&](ValueId tensor, std::size_t d, const Expr& subscript) {
    return !bounds_.inside(subscript, program_.type(tensor).shape[d]) && !is_checked_ahead(tensor, d, subscript);
  };
  std::vector<std::string> lines;
  const auto check = [&](ValueId tensor, const std::vector<Expr>& subscripts, const ir::SourceRange& range) {
    for (std::size_t d = 0; d < subscripts.size(); ++d) {
      const Expr s = spelled(subscripts[d]);
      if (!unchecked(tensor, d, s)) continue;
      const auto place = along(s, labels.size());
      if (!place) continue;
      std::vector<std::string> names;
      for (const ir::Label& l : labels) names.push_back(l.name);
      ExprEmitter e = expressions();
      const bool moves = place->label >= 0;
      const ir::Label label = moves ? labels[static_cast<std::size_t>(place->label)] : ir::Label{"", Extent(0), Extent(1)};
      const Extent first = place->form.rest + Extent(place->form.coefficient) * label.begin;
      checks_ = uses_file_ = true;
      lines.push_back(fmt::format("rt::check_line({}, {}, {}, {}.extent[{}], place, {}, {});", e.text(first), place->form.coefficient,
                                  e.text(label.end - label.begin), text(tensor), d, line(range),
                                  string_literal(describe(program_, s, names) + "' of '" + name_of(program_, tensor))));
      checked_.push_back({tensor, d, s});
    }
  };
  bounds_.enter(labels, 0);
  for_each_evaluated(c.bodies[k], [&](const ir::ExprNode& e) {
    if (const auto* r = std::get_if<ir::Read>(&e.op); r != nullptr && !r->subscripts.empty()) check(r->tensor, r->subscripts, e.range);
  });
  // A tensor of other extents in this iteration gets them later.
  if (!c.left.empty() && !changes_size(n.results[k])) check(n.results[k], c.left, c.left[0]->range.known() ? c.left[0]->range : n.range);
  bounds_.leave(labels);
  if (lines.empty()) return;
  std::string points;
  for (const ir::Label& l : labels) {
    ExprEmitter e = expressions();
    points += (points.empty() ? "" : " && ") + fmt::format("{} < {}", e.text(l.begin, 6), e.text(l.end, 6));
  }
  body_.block(fmt::format("if ({})", points), [&] {
    for (const std::string& text : lines) body_.line("{}", text);
  });
}

bool LoopEmitter::reduces_lines(const ir::Compute& c, std::size_t k) {
  const Monoid::Kind kind = c.monoid->kind;
  if (kind != Monoid::Kind::kSum && kind != Monoid::Kind::kProd && kind != Monoid::Kind::kMin && kind != Monoid::Kind::kMax) return false;
  bool free = true;
  bounds_.enter(c.reduce, labels_.size());
  ir::for_each_node(c.bodies[k], [&](const ir::ExprNode& e) {
    free = free && !may_stop(e);
    const auto* r = std::get_if<ir::Read>(&e.op);
    for (std::size_t d = 0; free && r != nullptr && d < r->subscripts.size(); ++d) {
      free = bounds_.inside(r->subscripts[d], program_.type(r->tensor).shape[d]) || is_checked_ahead(r->tensor, d, r->subscripts[d]);
    }
  });
  bounds_.leave(c.reduce);
  return free;
}

std::string LoopEmitter::line_reduction(const ir::Compute& c, std::size_t k) {
  const ir::Label& last = c.reduce.back();
  const auto number = static_cast<std::int32_t>(labels_.size());
  const std::string label = table_.claim(last.name.empty() ? "k" : last.name);
  labels_.push_back(label);
  label_names_.push_back(last.name);
  bounds_.enter({last}, static_cast<std::size_t>(number));
  const Expr body = spelled(c.bodies[k]);
  const std::string_view scalar = cpp_type(body->type);
  const std::string interval = fmt::format("Interval{{{}, {}}}", expressions().text(last.begin), expressions().text(last.end));
  const auto* times = std::get_if<ir::Binary>(&body->op);
  std::string result;
  if (c.monoid->kind == Monoid::Kind::kSum && times != nullptr && times->op == ir::BinaryOp::kMul && is_line(times->left, number) &&
      is_line(times->right, number)) {
    const auto element = [&](const Expr& e) {
      return fmt::format("[&](Index {}) -> const {}& {{ return {}; }}", label, scalar, expressions().text(e));
    };
    result = fmt::format("rt::dot<{}>({}, {}, {})", scalar, interval, element(times->left), element(times->right));
  } else {
    result = fmt::format("rt::rows::reduce<{0}>({1}, {2}, []({0} a, {0} b) {{ return {3}; }}, [&](Index {4}) {{ return {5}; }})", scalar, interval,
                         expressions().text(ir::identity_of(*c.monoid, body->type)), combined_text(*c.monoid, body->type), label,
                         expressions().text(body));
  }
  bounds_.leave({last});
  leave_labels(labels_.size() - 1);
  return result;
}

bool LoopEmitter::is_line(const Expr& e, std::int32_t label) {
  const auto* r = std::get_if<ir::Read>(&e->op);
  return r != nullptr && ir::is_float(e->type) && line_step(*r, label) == LineStep::kNext;
}

bool LoopEmitter::accumulates_lines(const ir::Compute& c, std::size_t k) {
  if (c.out.empty() || c.reduce.empty() || c.guard || (c.base && ir::update_order(c) == ir::UpdateOrder::kCopied)) return false;
  const auto line = static_cast<std::int32_t>(c.out.size() - 1);
  const auto sum = static_cast<std::int32_t>(c.out.size() + c.reduce.size() - 1);
  bool far = false;
  bool lines = true;
  ir::for_each_node(c.bodies[k], [&](const ir::ExprNode& e) {
    const auto* r = std::get_if<ir::Read>(&e.op);
    if (r == nullptr) return;
    far = far || (line_step(*r, sum) == LineStep::kFar && line_step(*r, line) == LineStep::kNext);
    lines = lines && line_step(*r, line) != LineStep::kFar;
  });
  if (!far || !lines) return false;
  bounds_.enter(c.out, 0);
  labels_.resize(c.out.size());
  const bool free = reduces_lines(c, k);
  labels_.clear();
  bounds_.leave(c.out);
  return free;
}

void LoopEmitter::accumulated(const ir::Node& n, const ir::Compute& c, std::size_t k) {
  // A tensor that begins here takes the sums themselves, unless they have bounds of their own or meet something.
  const bool direct = !c.base && c.left.empty() && !c.combine && !c.fill && c.bodies[k]->type == program_.type(n.results[k]).scalar;
  const std::string next = direct ? text(n.results[k]) : staging(n, c, k);
  const ir::Scalar scalar = c.bodies[k]->type;
  body_.line("rt::fill<{}>({}, {});", cpp_type(scalar), next, expressions().text(ir::identity_of(*c.monoid, scalar)));
  std::vector<ir::Label> labels = c.out;
  labels.insert(labels.end(), c.reduce.begin(), c.reduce.end());
  for (const ir::Label& l : labels) {
    labels_.push_back(table_.claim(l.name.empty() ? "k" : l.name));
    label_names_.push_back(l.name);
  }
  bounds_.enter(labels, 0);
  const std::size_t line = c.out.size() - 1;
  const std::size_t sum = labels.size() - 1;
  std::size_t opened = 0;
  const auto open = [&](std::size_t l) {
    open_loop(labels[l], labels_[l]);
    ++opened;
  };
  for (std::size_t l = 0; l < labels.size(); ++l) {
    if (l != line && l != sum) open(l);
  }
  const Expr body = spelled(c.bodies[k]);
  const std::string element = fmt::format("{}({})", next, position(c));
  if (const std::string products = added_products(c, body, element); !products.empty()) {
    body_.line("{}", products);
  } else {
    open(sum);
    open(line);
    meet(*c.monoid, body->type, element, with_named_parts(body));
  }
  for (; opened > 0; --opened) {
    body_.outdent();
    body_.line("}}");
  }
  bounds_.leave(labels);
  leave_labels(0);
  if (direct) return;
  if (!c.base && (c.combine || !c.left.empty())) {
    body_.line("rt::fill<{}>({}, {});", type(n.results[k]), name(n.results[k]), untouched(c, program_.type(n.results[k]).scalar));
  }
  loops(c.out, [&] { store_point(n, c, k, {fmt::format("{}({})", next, position(c)), "", scalar}); });
}

std::string LoopEmitter::added_products(const ir::Compute& c, const Expr& body, const std::string& element) {
  const auto line = static_cast<std::int32_t>(c.out.size() - 1);
  const auto sum = static_cast<std::int32_t>(c.out.size() + c.reduce.size() - 1);
  const auto* times = std::get_if<ir::Binary>(&body->op);
  if (c.monoid->kind != Monoid::Kind::kSum || times == nullptr || times->op != ir::BinaryOp::kMul || !ir::is_float(body->type)) return "";
  const auto steady = [&](const Expr& s) {
    const auto p = ir::polynomial_of(s);
    return p && ir::linear_in(*p, ir::label_value(sum));
  };
  for (const auto& [x, scale] : {std::pair(times->left, times->right), std::pair(times->right, times->left)}) {
    if (!is_line(x, line) || ir::mentions_label(scale, line) || !std::ranges::all_of(std::get<ir::Read>(x->op).subscripts, steady)) continue;
    const auto interval = [&](const ir::Label& l) { return fmt::format("Interval{{{}, {}}}", expressions().text(l.begin), expressions().text(l.end)); };
    const std::string& i = labels_[static_cast<std::size_t>(sum)];
    const std::string& j = labels_[static_cast<std::size_t>(line)];
    const std::string_view scalar = cpp_type(body->type);
    return fmt::format("rt::add_products<{0}>({1}, {2}, [&](Index {4}) -> {0}& {{ return {5}; }}, [&](Index {3}) {{ return {6}; }}, "
                       "[&](Index {3}, Index {4}) -> const {0}& {{ return {7}; }});",
                       scalar, interval(c.reduce.back()), interval(c.out.back()), i, j, element, expressions().text(scale), expressions().text(x));
  }
  return "";
}

}  // namespace tdsl::codegen
