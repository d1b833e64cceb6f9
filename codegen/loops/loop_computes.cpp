#include <algorithm>

#include "codegen/loops/loop_nest_builder.h"
#include "codegen/operations/host_values.h"
#include "ir/analysis/boundary.h"
#include "ir/analysis/periodic.h"
#include "ir/analysis/update_order.h"
#include "ir/graph/affine.h"
#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"

namespace tdsl::codegen {

using ir::Monoid;

namespace {

/// True if the guard is evaluated for each point of the reduction.
bool selects_points(const ir::Compute& c) { return ir::mentions_labels(c.guard, c.out.size()); }

}  // namespace

void LoopNestBuilder::compute(const ir::Node& n, const ir::Compute& c) {
  if (constant(n, c)) return;
  compute_ = &c;
  for (std::size_t k = 0; k < n.results.size(); ++k) {
    result_ = k;
    check_ahead(n, c, k);
    is_tensor(n.results[k]) ? tensor(n, c, k) : scalar(n, c, k);
    checked_.clear();
  }
}

bool LoopNestBuilder::constant(const ir::Node& n, const ir::Compute& c) {
  if (!is_scalar_arithmetic(c) || c.guard || c.base || n.results.size() != 1 || variables_.is_shared(n.results[0]))
    return false;
  if (!std::holds_alternative<ir::Constant>(c.bodies[0]->op)) return false;
  constants_[n.results[0]] = c.bodies[0];
  return true;
}

Expr LoopNestBuilder::untouched(const ir::Compute& c, ir::Scalar s) {
  if (c.base) return value(*c.base);
  if (c.fill) return of_nest(c.fill);
  if (c.monoid && c.left.empty()) return ir::identity_of(*c.monoid, s);
  return ir::zero_of(s);
}

void LoopNestBuilder::scalar(const ir::Node& n, const ir::Compute& c, std::size_t k) {
  const ValueId v = n.results[k];
  const ir::Scalar s = program_.type(v).scalar;
  const bool partial = c.guard && (!selects_points(c) || c.base || c.fill);
  if (c.monoid && !partial && !c.combine && !variables_.is_shared(v) && !ir::locates(*c.monoid)) {
    declared_.insert(variable(v));
    static_cast<void>(reduction(c, k, variable(v)));
    return;
  }
  if (!partial && !c.combine) return assign_value(v, computed(c, k).value);
  if (c.reduce.empty() && !c.combine)
    return assign_value(v, ir::select(of_nest(c.guard), of_nest(c.bodies[k]), untouched(c, s)));
  assign_value(v, untouched(c, s), true);
  where_selected(c, [&] { store(c, {variable(v), {}}, computed(c, k)); });
}

void LoopNestBuilder::tensor(const ir::Node& n, const ir::Compute& c, std::size_t k) {
  const ValueId v = n.results[k];
  const auto resize = [&] {
    if (changes_size(v)) add(nest::Resize{variable(v)});
  };
  bool stages = false;
  if (!c.base) {
    resize();
  } else if (variables_.variable(*c.base) != variables_.variable(v)) {
    resize();
    copy(v, variable(*c.base));
  } else {
    stages = ir::update_order(c) == ir::UpdateOrder::kStaged;
  }
  if (accumulates_lines(c, k)) return accumulated(n, c, k);
  if (stages) return staged(n, c, k);
  if (!c.base && (c.guard || c.combine || !c.left.empty()))
    add(nest::Fill{variable(v), untouched(c, program_.type(v).scalar)});
  output_loops(c, [&] { where_selected(c, [&] { store_point(n, c, k, computed(c, k)); }); });
}

void LoopNestBuilder::store_point(const ir::Node& n, const ir::Compute& c, std::size_t k, const Value& x) {
  if (c.left.empty()) return store(c, {variable(n.results[k]), position(c)}, x);
  std::vector<Expr> left;
  std::vector<Expr> subscripts;
  for (const Expr& s : c.left) {
    left.push_back(spelled(s));
    subscripts.push_back(of_nest(s));
  }
  const ir::SourceRange& range = c.left[0]->range.known() ? c.left[0]->range : n.range;
  store(c, {view(n.results[k], left, range), std::move(subscripts)}, x);
}

void LoopNestBuilder::staged(const ir::Node& n, const ir::Compute& c, std::size_t k) {
  const ValueId next = staging(n, c, k);
  output_loops(c, [&] {
    where_selected(c, [&] {
      Expr x = computed(c, k).value;
      add(nest::Store{{next, position(c)}, std::move(x)});
    });
  });
  output_loops(c, [&] {
    where_selected(c, [&] { store_point(n, c, k, {ir::read(c.bodies[k]->type, next, position(c)), {}}); });
  });
}

ValueId LoopNestBuilder::staging(const ir::Node& n, const ir::Compute& c, std::size_t k) {
  nest::Variable made{Role::kLocal, "next_" + name(n.results[k]), {c.bodies[k]->type, {}, {}}};
  for (const ir::Label& l : c.out) made.type.shape.push_back(of_nest(l.end - l.begin));
  made.resized = true;
  const ValueId next = added(std::move(made));
  add(nest::Resize{next});
  return next;
}

std::vector<Expr> LoopNestBuilder::position(const ir::Compute& c) {
  std::vector<Expr> subscripts;
  for (std::size_t l = 0; l < c.out.size(); ++l) {
    const Expr index = ir::index_ref(labels_[l]);
    const bool shifted = c.out[l].begin != Extent(0);
    subscripts.push_back(
        shifted ? ir::binary(ir::BinaryOp::kSub, index, ir::expr_of_polynomial(of_nest(c.out[l].begin))) : index);
  }
  return subscripts;
}

nest::For LoopNestBuilder::enter(int label) {
  const ir::Label range = ir::all_labels(*compute_)[static_cast<std::size_t>(label)];
  open(range);
  return {labels_.back(), of_nest(range), nest::Order::kSerial, {}};
}

void LoopNestBuilder::leave(int /*label*/) { close(1); }

void LoopNestBuilder::open(const ir::Label& label) {
  bounds_.enter({label}, labels_.size());
  labels_.push_back(static_cast<int>(nest_.indices.size()));
  label_names_.push_back(label.name);
  open_labels_.push_back(label);
  nest_.indices.push_back({label.name.empty() ? "k" : label.name, false, {}, {}});
}

void LoopNestBuilder::close(std::size_t count) {
  bounds_.leave(count);
  const std::size_t left = labels_.size() - count;
  labels_.resize(left);
  label_names_.resize(left);
  open_labels_.resize(left);
}

void LoopNestBuilder::output_loops(const ir::Compute& c, const std::function<void()>& f) {
  loops(numbered(0, c.out.size()), false, f);
}

void LoopNestBuilder::where_selected(const ir::Compute& c, const std::function<void()>& f) {
  where(c.guard && !selects_points(c) ? of_nest(c.guard) : Expr(), f);
}

void LoopNestBuilder::store(const ir::Compute& c, Place target, const Value& x) {
  where(x.held.valid() ? local_read(x.held) : Expr(), [&] { change(target, c.combine, x.value); });
}

Expr LoopNestBuilder::named_value(const Expr& e) {
  neighbours_.clear();
  names_neighbours_ = true;
  Expr value = of_nest(e);
  names_neighbours_ = false;
  return named(std::move(value));
}

Expr LoopNestBuilder::neighbour(const Expr& subscript) {
  if (!names_neighbours_) return {};
  if (const auto b = ir::boundary_of(subscript, open_labels_, ir::read_scalar)) return place_at_boundary(subscript, *b);
  const auto p = ir::periodic_of(subscript, open_labels_, ir::read_scalar);
  const auto steps = p ? p->constant.constant() : std::nullopt;
  if (!steps || *steps < -1 || *steps > 1) return {};
  const Expr index = of_nest(ir::index_ref(p->label));
  if (*steps == 0) return index;
  if (const Expr known = named_neighbour(subscript)) return known;
  const bool back = *steps == -1;
  const Expr n = of_nest(p->divisor), one = ir::constant_i64(1), zero = ir::constant_i64(0);
  const Expr moved = ir::binary(back ? ir::BinaryOp::kSub : ir::BinaryOp::kAdd, index, one);
  const Expr value =
      back ? ir::select(ir::binary(ir::BinaryOp::kGt, index, zero), moved, ir::binary(ir::BinaryOp::kSub, n, one))
           : ir::select(ir::binary(ir::BinaryOp::kLt, moved, n), moved, zero);
  const std::string& name = label_names_[static_cast<std::size_t>(p->label)];
  const ValueId made = local(name + (back ? "_before" : "_after"), ir::Scalar::kI64);
  neighbours_.emplace_back(subscript, made);
  add(nest::Let{made, value});
  return local_read(made);
}

Expr LoopNestBuilder::named_neighbour(const Expr& subscript) const {
  const auto known =
      std::ranges::find_if(neighbours_, [&](const auto& entry) { return ir::equal(entry.first, subscript); });
  return known == neighbours_.end() ? Expr() : local_read(known->second);
}

Expr LoopNestBuilder::place_at_boundary(const Expr& subscript, const ir::Boundary& b) {
  const Expr inside = ir::is_inside(b);
  if (!inside) return of_nest(b.x);
  if (const Expr known = named_neighbour(subscript)) return known;
  const Expr x = of_nest(b.x);
  const Expr image = ir::binary(b.op, x, of_nest(b.n));
  const ValueId made = local("place", ir::Scalar::kI64);
  add(nest::Let{made, ir::select(of_nest(inside), x, image)});
  neighbours_.emplace_back(subscript, made);
  return local_read(made);
}

LoopNestBuilder::Value LoopNestBuilder::computed(const ir::Compute& c, std::size_t k) {
  if (c.reduce.empty()) return {named_value(c.bodies[k]), {}};
  const Monoid& m = *c.monoid;
  if (ir::locates(m)) return reduction(c, k, added({Role::kPosition, "best", {ir::Scalar::kI64, {}, {}}}));
  return reduction(c, k,
                   local(m.kind == Monoid::Kind::kUser ? m.name : std::string(ir::name_of(m.kind)), c.bodies[k]->type));
}

LoopNestBuilder::Value LoopNestBuilder::reduction(const ir::Compute& c, std::size_t k, ValueId total) {
  const Monoid& m = *c.monoid;
  const bool position = ir::locates(m);
  const bool selects = selects_points(c);
  const ir::Scalar s = c.bodies[k]->type;
  // An empty reduction by the same user monoid as `combine` leaves the element unchanged.
  const bool leaves = m.kind == Monoid::Kind::kUser && c.combine && ir::equal(m, *c.combine);
  const ValueId held = leaves || (selects && (c.base || c.fill)) ? local("held", ir::Scalar::kBool) : ValueId{};
  position ? add(nest::Locate{total, m.kind, s}) : add(nest::Var{total, ir::identity_of(m, s)});
  if (held.valid()) add(nest::Var{held, ir::constant(ir::Scalar::kBool, false)});
  lines_ = !selects && !held.valid();
  accumulate(total, numbered(c.out.size(), c.reduce.size()), [&] {
    where(selects ? of_nest(c.guard) : Expr(), [&] {
      if (held.valid()) add(nest::Store{{held, {}}, ir::constant(ir::Scalar::kBool, true)});
      Expr x = named_value(c.bodies[k]);
      if (position) return add(nest::Offer{total, std::move(x), labels_[c.out.size()]});
      change({total, {}}, m, std::move(x));
    });
  });
  return {local_read(total), held};
}

}  // namespace tdsl::codegen
