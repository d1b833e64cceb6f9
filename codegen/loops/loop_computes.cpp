#include <algorithm>

#include "codegen/families/host_values.h"
#include "codegen/loops/loop_nest_builder.h"
#include "codegen/lower/compute_lowering.h"
#include "codegen/nest/build.h"
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
  for (std::size_t k = 0; k < n.results.size(); ++k) {
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
    declared_.insert(v);
    static_cast<void>(reduction(c, k, variable(v)));
    return;
  }
  if (!partial && !c.combine) return assign(v, computed(c, k).value);
  if (c.reduce.empty() && !c.combine)
    return assign(v, ir::select(of_nest(c.guard), of_nest(c.bodies[k]), untouched(c, s)));
  assign(v, untouched(c, s), true);
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
  loops(c.out, [&] { where_selected(c, [&] { store_point(n, c, k, computed(c, k)); }); });
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
  loops(c.out, [&] {
    where_selected(c, [&] {
      Expr x = computed(c, k).value;
      add(nest::Store{{next, position(c)}, std::move(x)});
    });
  });
  loops(c.out, [&] {
    where_selected(c, [&] { store_point(n, c, k, {ir::read(c.bodies[k]->type, next, position(c)), {}}); });
  });
}

ValueId LoopNestBuilder::staging(const ir::Node& n, const ir::Compute& c, std::size_t k) {
  nest::Variable made{nest::Variable::Role::kLocal, "next_" + name(n.results[k]), {c.bodies[k]->type, {}, {}}};
  for (const ir::Label& l : c.out) made.type.shape.push_back(of_nest(l.end - l.begin));
  made.resized = true;
  const ValueId next = nest::added(result_.nest, std::move(made));
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

void LoopNestBuilder::open_labels(const std::vector<ir::Label>& labels) {
  const std::size_t first = labels_.size();
  for (const ir::Label& l : labels) {
    labels_.push_back(static_cast<int>(result_.nest.indices.size()));
    label_names_.push_back(l.name);
    open_labels_.push_back(l);
    result_.nest.indices.push_back({l.name.empty() ? "k" : l.name, false, {}, {}});
  }
  bounds_.enter(labels, first);
}

void LoopNestBuilder::close_labels(std::size_t first) {
  labels_.resize(first);
  label_names_.resize(first);
  open_labels_.resize(first);
}

nest::For LoopNestBuilder::loop_over(const ir::Label& l, int index, Body body) {
  return {index, of_nest(l), nest::Order::kSerial, std::move(body)};
}

void LoopNestBuilder::loops(const std::vector<ir::Label>& labels, const std::function<void()>& f) {
  const std::size_t first = labels_.size();
  open_labels(labels);
  Body inner = collected(f);
  for (std::size_t l = labels.size(); l-- > 0;) {
    nest::For loop = loop_over(labels[l], labels_[first + l], std::move(inner));
    inner.clear();
    inner.push_back({std::move(loop), place_});
  }
  for (nest::Statement& s : inner) body_->push_back(std::move(s));
  bounds_.leave(labels);
  close_labels(first);
}

void LoopNestBuilder::where_selected(const ir::Compute& c, const std::function<void()>& change) {
  if (!c.guard || selects_points(c)) return change();
  const Expr guard = of_nest(c.guard);
  Body body = collected(change);
  add(nest::If{guard, std::move(body)});
}

void LoopNestBuilder::store(const ir::Compute& c, Place target, const Value& x) {
  const auto change = [&] {
    c.combine ? add(nest::Update{target, *c.combine, x.value}) : add(nest::Store{target, x.value});
  };
  if (!x.held.valid()) return change();
  Body body = collected(change);
  add(nest::If{nest::scalar_read(result_.nest, x.held), std::move(body)});
}

Expr LoopNestBuilder::named(const Expr& e) {
  neighbours_.clear();
  names_neighbours_ = true;
  const Expr value = of_nest(e);
  names_neighbours_ = false;
  nest::Named made = nest::named(result_.nest, value, nullptr);
  for (nest::Let& let : made.lets) add(std::move(let));
  return made.value;
}

Expr LoopNestBuilder::neighbour(const Expr& subscript) {
  const auto p = names_neighbours_ ? ir::periodic_of(subscript, open_labels_, ir::read_scalar) : std::nullopt;
  const auto steps = p ? p->constant.constant() : std::nullopt;
  if (!steps || *steps < -1 || *steps > 1) return {};
  const Expr index = of_nest(ir::index_ref(p->label));
  if (*steps == 0) return index;
  const auto known =
      std::ranges::find_if(neighbours_, [&](const auto& entry) { return ir::equal(entry.first, subscript); });
  if (known != neighbours_.end()) return nest::scalar_read(result_.nest, known->second);
  const bool back = *steps == -1;
  const Expr n = of_nest(p->divisor), one = ir::constant_i64(1), zero = ir::constant_i64(0);
  const Expr moved = ir::binary(back ? ir::BinaryOp::kSub : ir::BinaryOp::kAdd, index, one);
  const Expr value =
      back ? ir::select(ir::binary(ir::BinaryOp::kGt, index, zero), moved, ir::binary(ir::BinaryOp::kSub, n, one))
           : ir::select(ir::binary(ir::BinaryOp::kLt, moved, n), moved, zero);
  const std::string& name = label_names_[static_cast<std::size_t>(p->label)];
  const ValueId local = nest::added_local(result_.nest, name + (back ? "_before" : "_after"), ir::Scalar::kI64);
  neighbours_.emplace_back(subscript, local);
  add(nest::Let{local, value});
  return nest::scalar_read(result_.nest, local);
}

LoopNestBuilder::Value LoopNestBuilder::computed(const ir::Compute& c, std::size_t k) {
  if (c.reduce.empty()) return {named(c.bodies[k]), {}};
  const Monoid& m = *c.monoid;
  if (ir::locates(m))
    return reduction(c, k,
                     nest::added(result_.nest, {nest::Variable::Role::kPosition, "best", {ir::Scalar::kI64, {}, {}}}));
  return reduction(
      c, k,
      nest::added_local(result_.nest, m.kind == Monoid::Kind::kUser ? m.name : std::string(ir::name_of(m.kind)),
                        c.bodies[k]->type));
}

LoopNestBuilder::Value LoopNestBuilder::reduction(const ir::Compute& c, std::size_t k, ValueId total) {
  const Monoid& m = *c.monoid;
  const bool position = ir::locates(m);
  const bool selects = selects_points(c);
  const ir::Scalar s = c.bodies[k]->type;
  // An empty reduction by the same user monoid as `combine` leaves the element unchanged.
  const bool leaves = m.kind == Monoid::Kind::kUser && c.combine && ir::equal(m, *c.combine);
  const ValueId held = leaves || (selects && (c.base || c.fill))
                           ? nest::added_local(result_.nest, "held", ir::Scalar::kBool)
                           : ValueId{};
  position ? add(nest::Locate{total, m.kind, s}) : add(nest::Var{total, ir::identity_of(m, s)});
  if (held.valid()) add(nest::Var{held, ir::constant(ir::Scalar::kBool, false)});
  const auto each = [&] {
    if (held.valid()) add(nest::Store{{held, {}}, ir::constant(ir::Scalar::kBool, true)});
    const Expr x = named(c.bodies[k]);
    position ? add(nest::Offer{total, x, labels_[c.out.size()]}) : add(nest::Update{{total, {}}, m, x});
  };
  const Expr result = nest::scalar_read(result_.nest, total);
  if (!selects && !held.valid() && reduces_lines(c, k)) {
    loops({c.reduce.begin(), c.reduce.end() - 1}, [&] { line_reduction(c, k, total); });
    return {result, {}};
  }
  loops(c.reduce, [&] {
    if (!selects) return each();
    const Expr guard = of_nest(c.guard);
    Body body = collected(each);
    add(nest::If{guard, std::move(body)});
  });
  return {result, held};
}

}  // namespace tdsl::codegen
