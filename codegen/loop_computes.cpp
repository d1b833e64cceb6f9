#include <algorithm>

#include "codegen/common_parts.h"
#include "codegen/compute_lowering.h"
#include "codegen/describe.h"
#include "codegen/host_values.h"
#include "codegen/loop_emitter.h"
#include "ir/check.h"
#include "ir/combined.h"
#include "ir/expr_build.h"
#include "ir/update_order.h"

namespace tdsl::codegen {

using ir::Monoid;

namespace {

/// Whether the guard decides for each point of the reduction.
bool selects_points(const ir::Compute& c) { return ir::mentions_labels(c.guard, c.out.size()); }

}  // namespace

void LoopEmitter::compute(const ir::Node& n, const ir::Compute& c) {
  if (constant(n, c)) return;
  comment(n.range);
  for (std::size_t k = 0; k < n.results.size(); ++k) {
    check_ahead(n, c, k);
    is_tensor(n.results[k]) ? tensor(n, c, k) : scalar(n, c, k);
    checked_.clear();
  }
}

bool LoopEmitter::constant(const ir::Node& n, const ir::Compute& c) {
  if (!is_scalar_arithmetic(c) || c.guard || c.base || n.results.size() != 1 || variables_.is_shared(n.results[0])) return false;
  const auto* value = std::get_if<ir::Constant>(&c.bodies[0]->op);
  if (value == nullptr) return false;
  constants_[n.results[0]] = c.bodies[0];
  return true;
}

std::string LoopEmitter::untouched(const ir::Compute& c, ir::Scalar s) {
  if (c.base) return text(*c.base);
  if (c.fill) return expressions().text(c.fill);
  if (c.monoid && c.left.empty()) return expressions().text(ir::identity_of(*c.monoid, s));
  if (s == ir::Scalar::kBool) return "false";
  return ir::is_float(s) ? cpp_constant(s, 0.0) : cpp_constant(s, std::int64_t{0});
}

void LoopEmitter::scalar(const ir::Node& n, const ir::Compute& c, std::size_t k) {
  const ValueId v = n.results[k];
  const ir::Scalar s = program_.type(v).scalar;
  const bool partial = c.guard && (!selects_points(c) || c.base || c.fill);
  if (c.monoid && !partial && !c.combine && !variables_.is_shared(v) && !locates(*c.monoid)) {
    declared_.insert(v);
    reduction(c, k, name(v));
    return;
  }
  if (!partial && !c.combine) return assign(v, value(c, k).text);
  if (c.reduce.empty() && !c.combine) {
    ExprEmitter e = expressions();
    return assign(v, fmt::format("{} ? {} : {}", e.text(spelled(c.guard), 1), e.text(spelled(c.bodies[k]), 1), untouched(c, s)));
  }
  assign(v, untouched(c, s), true);
  where_selected(c, [&] { store(c, name(v), value(c, k)); });
}

void LoopEmitter::tensor(const ir::Node& n, const ir::Compute& c, std::size_t k) {
  const ValueId v = n.results[k];
  bool stages = false;
  if (!c.base && changes_size(v)) body_.line("{}.resize({{{}}});", name(v), sizes_of(v));
  if (c.base) {
    if (variables_.variable(*c.base) != variables_.variable(v)) {
      if (changes_size(v)) body_.line("{}.resize({{{}}});", name(v), sizes_of(v));
      assign(v, text(*c.base));
    } else {
      stages = ir::update_order(c) == ir::UpdateOrder::kStaged;
    }
  }
  if (accumulates_lines(c, k)) return accumulated(n, c, k);
  if (stages) return staged(n, c, k);
  if (!c.base && (c.guard || c.combine || !c.left.empty())) {
    const ir::Scalar s = program_.type(v).scalar;
    body_.line("rt::fill<{}>({}, {});", type(v), name(v), untouched(c, s));
  }
  loops(c.out, [&] { point(n, c, k); });
}

void LoopEmitter::point(const ir::Node& n, const ir::Compute& c, std::size_t k) {
  where_selected(c, [&] {
    store_point(n, c, k, value(c, k));
  });
}

void LoopEmitter::store_point(const ir::Node& n, const ir::Compute& c, std::size_t k, const Value& x) {
  if (c.left.empty()) return store(c, own_element(n.results[k], c), x);
  std::vector<std::string> subscripts;
  ExprEmitter e = expressions();
  for (const Expr& s : c.left) subscripts.push_back(e.subscript(spelled(s)));
  const ir::SourceRange& range = c.left[0]->range.known() ? c.left[0]->range : n.range;
  store(c, place_of(n.results[k], c.left, subscripts, range), x);
}

void LoopEmitter::staged(const ir::Node& n, const ir::Compute& c, std::size_t k) {
  const std::string next = staging(n, c, k);
  loops(c.out, [&] {
    where_selected(c, [&] { body_.line("{}({}) = {};", next, position(c), value(c, k).text); });
  });
  loops(c.out, [&] {
    where_selected(c, [&] { store_point(n, c, k, {fmt::format("{}({})", next, position(c)), "", c.bodies[k]->type}); });
  });
}

std::string LoopEmitter::staging(const ir::Node& n, const ir::Compute& c, std::size_t k) {
  const std::string next = table_.claim("next_" + name(n.results[k]));
  staged_.push_back(fmt::format("rt::Resized<{}, {}> {};", cpp_type(c.bodies[k]->type), c.out.size(), next));
  std::string sizes;
  for (const ir::Label& l : c.out) sizes += (sizes.empty() ? "" : ", ") + expressions().text(l.end - l.begin);
  body_.line("{}.resize({{{}}});", next, sizes);
  return next;
}

std::string LoopEmitter::own_element(ValueId v, const ir::Compute& c) { return fmt::format("{}({})", text(v), position(c)); }

std::string LoopEmitter::position(const ir::Compute& c) {
  std::string subscripts;
  ExprEmitter e = expressions();
  for (std::size_t l = 0; l < c.out.size(); ++l) {
    const bool shifted = c.out[l].begin != Extent(0);
    subscripts += (l == 0 ? "" : ", ") + labels_[l] + (shifted ? " - " + e.text(c.out[l].begin, 7) : "");
  }
  return subscripts;
}

void LoopEmitter::loops(const std::vector<ir::Label>& labels, const std::function<void()>& f) {
  const std::size_t first = labels_.size();
  for (const ir::Label& l : labels) {
    labels_.push_back(table_.claim(l.name.empty() ? "k" : l.name));
    label_names_.push_back(l.name);
  }
  bounds_.enter(labels, first);
  for (std::size_t l = 0; l < labels.size(); ++l) {
    open_loop(labels[l], labels_[first + l]);
  }
  f();
  for (std::size_t l = 0; l < labels.size(); ++l) {
    body_.outdent();
    body_.line("}}");
  }
  bounds_.leave(labels);
  leave_labels(first);
}

void LoopEmitter::leave_labels(std::size_t first) {
  for (std::size_t l = first; l < labels_.size(); ++l) table_.release(labels_[l]);
  labels_.resize(first);
  label_names_.resize(first);
}

void LoopEmitter::open_loop(const ir::Label& l, const std::string& name) {
  ExprEmitter e = expressions();
  body_.line("for (Index {0} = {1}; {0} < {2}; ++{0}) {{", name, e.text(l.begin), e.text(l.end));
  body_.indent();
}

void LoopEmitter::where_selected(const ir::Compute& c, const std::function<void()>& change) {
  c.guard && !selects_points(c) ? body_.block(fmt::format("if ({})", expressions().text(spelled(c.guard))), change) : change();
}

void LoopEmitter::store(const ir::Compute& c, const std::string& target, const Value& x) {
  const auto change = [&] {
    c.combine ? meet(*c.combine, x.type, target, x.text) : body_.line("{} = {};", target, x.text);
  };
  x.held.empty() ? change() : body_.block(fmt::format("if ({})", x.held), change);
}

void LoopEmitter::meet(const Monoid& m, ir::Scalar s, const std::string& target, const std::string& value) {
  switch (m.kind) {
    case Monoid::Kind::kSum: return ir::is_float(s) ? body_.line("{} += {};", target, value) : body_.line("{0} = scalar::add({0}, {1});", target, value);
    case Monoid::Kind::kProd: return ir::is_float(s) ? body_.line("{} *= {};", target, value) : body_.line("{0} = scalar::multiply({0}, {1});", target, value);
    case Monoid::Kind::kMin: return body_.line("{0} = scalar::min({0}, {1});", target, value);
    case Monoid::Kind::kMax: return body_.line("{0} = scalar::max({0}, {1});", target, value);
    case Monoid::Kind::kAny: return body_.line("{0} = ({1}) || {0};", target, value);
    case Monoid::Kind::kAll: return body_.line("{0} = ({1}) && {0};", target, value);
    case Monoid::Kind::kUser: return meet_by_user(m, target, value);
    case Monoid::Kind::kArgMin:
    case Monoid::Kind::kArgMax: break;
  }
  TDSL_CHECK(false, "positions do not meet in an element");
}

void LoopEmitter::meet_by_user(const Monoid& m, const std::string& target, const std::string& value) {
  const ir::Scalar type = m.combine->type;
  const std::string next = table_.claim("next");
  ExprEmitter e = expressions();
  e.set_arguments(target, next);
  body_.line("const {} {} = {};", cpp_type(type), next, value);
  body_.line("{} = {};", target, e.text(ir::combined(m, ir::argument(type, 0), ir::argument(type, 1))));
}

std::string LoopEmitter::with_named_parts(const Expr& e) {
  ExprEmitter emitter = expressions();
  const std::string parts = named_parts(emitter, e, nullptr, [this](std::string_view name) { return table_.claim(name); });
  if (!parts.empty()) body_.line("{}", parts);
  return emitter.text(e);
}

LoopEmitter::Value LoopEmitter::value(const ir::Compute& c, std::size_t k) {
  const ir::Scalar s = c.bodies[k]->type;
  if (c.reduce.empty()) return {with_named_parts(spelled(c.bodies[k])), "", s};
  const Monoid& m = *c.monoid;
  const std::string name = m.kind == Monoid::Kind::kUser ? m.name : std::string(ir::name_of(m.kind));
  return reduction(c, k, table_.claim(locates(m) ? "best" : name));
}

LoopEmitter::Value LoopEmitter::reduction(const ir::Compute& c, std::size_t k, const std::string& total) {
  const Monoid& m = *c.monoid;
  const bool position = locates(m);
  const bool selects = selects_points(c);
  const ir::Scalar s = c.bodies[k]->type;
  // A reduction over nothing by the user monoid that combines leaves the element.
  const bool leaves = m.kind == Monoid::Kind::kUser && c.combine && ir::equal(m, *c.combine);
  const std::string held = leaves || (selects && (c.base || c.fill)) ? table_.claim("held") : "";
  if (position) {
    body_.line("rt::Best<{}> {}{{{}}};", cpp_type(c.bodies[k]->type), total, m.kind == Monoid::Kind::kArgMax ? "true" : "false");
  } else {
    body_.line("{} {} = {};", cpp_type(c.bodies[k]->type), total, expressions().text(ir::identity_of(m, c.bodies[k]->type)));
  }
  if (!held.empty()) body_.line("bool {} = false;", held);
  const auto each = [&] {
    if (!held.empty()) body_.line("{} = true;", held);
    const std::string x = with_named_parts(spelled(c.bodies[k]));
    position ? body_.line("{}.add({}, {});", total, x, labels_[c.out.size()]) : meet(m, s, total, x);
  };
  if (!selects && held.empty() && reduces_lines(c, k)) {
    loops({c.reduce.begin(), c.reduce.end() - 1}, [&] { meet(m, s, total, line_reduction(c, k)); });
    return {total, "", s};
  }
  loops(c.reduce, [&] {
    selects ? body_.block(fmt::format("if ({})", expressions().text(spelled(c.guard))), each) : each();
  });
  return {position ? total + ".position" : total, held, position ? ir::Scalar::kI64 : s};
}

}  // namespace tdsl::codegen
