#include <algorithm>

#include "codegen/loops/loop_nest_builder.h"
#include "codegen/operations/host_values.h"
#include "ir/eval/failure_text.h"
#include "ir/graph/check.h"

namespace tdsl::codegen {

namespace {

/// The carried values of a loop; its first argument is the index.
std::vector<ValueId> carried(const std::vector<ValueId>& arguments) { return {arguments.begin() + 1, arguments.end()}; }

/// The only expression that the node computes, or null.
Expr only_expression(const ir::Node& n) {
  const auto* c = std::get_if<ir::Compute>(&n.op);
  const bool plain = c != nullptr && is_scalar_arithmetic(*c) && !c->guard && !c->base && c->bodies.size() == 1;
  return plain ? c->bodies[0] : Expr();
}

/// The expression that the region consists of, or null.
Expr only_expression(const ir::Region& r) {
  const bool only = r.nodes.size() == 1 && r.nodes[0].results.size() == 1 && r.nodes[0].results[0] == r.yields[0];
  return only ? only_expression(r.nodes[0]) : Expr();
}

}  // namespace

void LoopNestBuilder::region(const ir::Region& r) {
  for (std::size_t k = 0; k < r.nodes.size(); ++k) {
    if (k + 1 < r.nodes.size() && is_condition_of(r.nodes[k], r.nodes[k + 1])) continue;
    node(r.nodes[k]);
  }
}

bool LoopNestBuilder::is_condition_of(const ir::Node& n, const ir::Node& next) {
  const auto* i = std::get_if<ir::If>(&next.op);
  const Expr condition = only_expression(n);
  if (i == nullptr || !condition || n.results[0] != i->condition || use_counts_[i->condition] != 1) return false;
  inlined_[i->condition] = of_nest(condition);
  return true;
}

void LoopNestBuilder::node(const ir::Node& n) {
  place_ = n.range;
  if (const auto* c = std::get_if<ir::Compute>(&n.op)) return compute(n, *c);
  if (const auto* f = std::get_if<ir::For>(&n.op)) return for_loop(n, *f);
  if (const auto* w = std::get_if<ir::While>(&n.op)) return while_loop(n, *w);
  if (const auto* i = std::get_if<ir::If>(&n.op)) return branch(n, *i);
  if (const auto* a = std::get_if<ir::Assert>(&n.op))
    return add(nest::Require{value(a->condition), ir::failure_text(*a)});
  if (const auto* c = std::get_if<ir::Check>(&n.op)) return check(*c);
  if (const auto* r = std::get_if<ir::Random>(&n.op)) return random(n, *r);
  if (const auto* r = std::get_if<ir::Routine>(&n.op)) return routine(n, *r);
  TDSL_CHECK(false, "a serial loop holds work on scalars and small tensors only");
}

void LoopNestBuilder::declare(ValueId v) {
  if (!is_tensor(v) && declared_.insert(variable(v)).second) add(nest::Var{variable(v), {}});
}

void LoopNestBuilder::assign_value(ValueId v, Expr x, bool changes) {
  assign(variable(v), std::move(x), variables_.is_shared(v) || changes);
}

void LoopNestBuilder::copy(ValueId v, ValueId from) { add(nest::Copy{from, variable(v)}); }

void LoopNestBuilder::assign_all(const std::vector<ValueId>& targets, const std::vector<ValueId>& sources) {
  std::vector<std::pair<ValueId, ValueId>> moves;
  for (std::size_t k = 0; k < targets.size(); ++k) {
    if (variables_.variable(targets[k]) != variables_.variable(sources[k])) moves.emplace_back(targets[k], sources[k]);
  }
  // Values overwritten by an earlier assignment are saved first.
  std::vector<Expr> scalars(moves.size());
  std::vector<ValueId> tensors(moves.size());
  for (std::size_t k = 0; k < moves.size(); ++k) {
    const auto [target, source] = moves[k];
    is_tensor(target) ? static_cast<void>(tensors[k] = variable(source))
                      : static_cast<void>(scalars[k] = value(source));
    const bool overwritten = std::any_of(moves.begin(), moves.begin() + static_cast<std::ptrdiff_t>(k),
                                         [&, from = source](const auto& earlier) {
                                           return variables_.variable(earlier.first) == variables_.variable(from);
                                         });
    if (!overwritten) continue;
    const std::string kept = "next_" + name(target);
    if (is_tensor(target)) {
      const ValueId copied = added({Role::kLocal, kept, nest_.variable(tensors[k]).type});
      add(nest::Keep{copied, tensors[k]});
      tensors[k] = copied;
    } else {
      const ValueId copied = local(kept, program_.type(target).scalar);
      add(nest::Let{copied, scalars[k]});
      scalars[k] = local_read(copied);
    }
  }
  for (std::size_t k = 0; k < moves.size(); ++k)
    is_tensor(moves[k].first) ? copy(moves[k].first, tensors[k]) : assign_value(moves[k].first, scalars[k]);
}

void LoopNestBuilder::begin(const ir::Node& n, const std::vector<ValueId>& arguments,
                            const std::vector<ValueId>& inits) {
  std::vector<ValueId> targets;
  std::vector<ValueId> sources;
  for (std::size_t k = 0; k < inits.size(); ++k) {
    if (&n == step_.loop.get() && is_tensor(inits[k])) continue;
    targets.push_back(arguments[k + 1]);
    sources.push_back(inits[k]);
  }
  assign_all(targets, sources);
}

void LoopNestBuilder::region_giving(const ir::Region& r, const std::vector<ValueId>& targets) {
  region(r);
  place_ = {};
  assign_all(targets, r.yields);
}

void LoopNestBuilder::for_loop(const ir::Node& n, const ir::For& f) {
  begin(n, f.body.arguments, f.inits);
  nest::Count loop{variable(f.body.arguments[0]), value(f.begin), value(f.end), f.step, {}};
  loop.body = collected([&] {
    bounds_.enter(f);
    region_giving(f.body, carried(f.body.arguments));
    bounds_.leave();
  });
  place_ = n.range;
  add(std::move(loop));
}

void LoopNestBuilder::while_loop(const ir::Node& n, const ir::While& w) {
  begin(n, w.body.arguments, w.inits);
  const ValueId iteration = w.body.arguments[0];
  const bool counts = use_counts_[iteration] > 0;
  if (counts) add(nest::Var{variable(iteration), ir::constant_i64(0)});
  nest::While loop;
  if (const Expr simple = only_expression(w.condition)) {
    loop.condition = of_nest(simple);
  } else {
    loop.before = collected([&] { region(w.condition); });
    loop.condition = value(w.condition.yields[0]);
  }
  loop.body = collected([&] {
    region_giving(w.body, carried(w.body.arguments));
    if (counts) add(nest::Update{{variable(iteration), {}}, {ir::Monoid::Kind::kSum, {}, {}, {}}, ir::constant_i64(1)});
  });
  place_ = n.range;
  add(std::move(loop));
}

void LoopNestBuilder::branch(const ir::Node& n, const ir::If& i) {
  for (const ValueId v : n.results) declare(v);
  const Expr condition = value(i.condition);
  Body then_part = collected([&] { region_giving(i.then_region, n.results); });
  Body else_part = collected([&] { region_giving(i.else_region, n.results); });
  place_ = n.range;
  if (!then_part.empty() || !else_part.empty())
    add(nest::branch(condition, std::move(then_part), std::move(else_part)));
}

void LoopNestBuilder::count_uses() {
  const auto count = [this](const std::vector<ValueId>& list) {
    for (const ValueId v : list) ++use_counts_[v];
  };
  const auto node = [&](const ir::Node& n) {
    count(ir::operands_of(values_, n));
    if (const auto* f = std::get_if<ir::For>(&n.op)) count(f->body.yields);
    if (const auto* w = std::get_if<ir::While>(&n.op)) count(w->body.yields), count(w->condition.yields);
    if (const auto* i = std::get_if<ir::If>(&n.op)) count(i->then_region.yields), count(i->else_region.yields);
  };
  node(*step_.loop);
  if (const auto* f = std::get_if<ir::For>(&step_.loop->op)) ir::for_each_node(f->body, node);
  if (const auto* w = std::get_if<ir::While>(&step_.loop->op))
    ir::for_each_node(w->condition, node), ir::for_each_node(w->body, node);
}

void LoopNestBuilder::random(const ir::Node& n, const ir::Random& r) {
  const ValueId v = n.results[0];
  const bool own = !variables_.is_shared(v) && declared_.insert(variable(v)).second;
  nest::Draw draw{own ? variable(v) : local("draw", program_.type(v).scalar), r.kind, r.site, {}};
  for (const ValueId k : r.iterations) draw.iterations.push_back(value(k));
  const ValueId drawn = draw.local;
  add(std::move(draw));
  if (!own) assign_value(v, local_read(drawn));
}

void LoopNestBuilder::check(const ir::Check& c) {
  add(nest::RequireSizes{c.relation, of_nest(c.left), of_nest(c.right), c.guard ? value(*c.guard) : Expr(), c.message});
}

void LoopNestBuilder::routine(const ir::Node& n, const ir::Routine& r) {
  nest::SmallRoutine call{r.kind, {}, {}, r.solves};
  for (const ValueId v : r.operands) call.operands.push_back(variable(v));
  const ValueId first = n.results[0];
  if (!is_tensor(first)) {
    const bool own = !variables_.is_shared(first) && declared_.insert(variable(first)).second;
    const ValueId to = own ? variable(first) : local(std::string(ir::name_of(r.kind)), program_.type(first).scalar);
    add(nest::Var{to, {}});
    call.results = {to};
    add(std::move(call));
    if (!own) assign_value(first, local_read(to));
    return;
  }
  for (const ValueId v : n.results) call.results.push_back(variable(v));
  add(std::move(call));
}

}  // namespace tdsl::codegen
