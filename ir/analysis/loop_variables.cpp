#include "ir/analysis/loop_variables.h"

#include <algorithm>

#include "ir/analysis/update_order.h"
#include "ir/graph/computes.h"

namespace tdsl::ir {

// Note [Needed at the same time] A backward liveness analysis: a value interferes with all values live at its
// definition. Values from outside that a loop body needs are live to the end of the body, since the next iteration
// needs them again.

LoopVariables::LoopVariables(const Program& program, const Node& loop) : program_(program), loop_(loop) {
  enter(loop);
  Live live(loop.results.begin(), loop.results.end());
  walk(loop, live);
  merge_all(loop);
}

void LoopVariables::enter(const Node& node) {
  const auto add = [this](const std::vector<ValueId>& values) {
    for (const ValueId v : values) {
      parent_.emplace(v, v);
      members_[v] = {v};
    }
  };
  add(node.results);
  const auto carry = [this](const std::vector<ValueId>& values) { carried_.insert(values.begin(), values.end()); };
  if (!std::holds_alternative<Compute>(node.op)) carry(node.results);
  if (const auto* f = std::get_if<For>(&node.op)) {
    add(f->body.arguments);
    carry(f->body.arguments);
    enter(f->body);
  } else if (const auto* w = std::get_if<While>(&node.op)) {
    add(w->condition.arguments);
    add(w->body.arguments);
    carry(w->condition.arguments);
    carry(w->body.arguments);
    enter(w->condition);
    enter(w->body);
  } else if (const auto* i = std::get_if<If>(&node.op)) {
    enter(i->then_region);
    enter(i->else_region);
  } else if (const auto* c = std::get_if<Choose>(&node.op)) {
    for (const Region& r : c->regions) enter(r);
  } else if (const auto* fused = std::get_if<Fused>(&node.op)) {
    enter(fused->body);
  }
}

void LoopVariables::enter(const Region& region) {
  for (const Node& n : region.nodes) enter(n);
}

/// Defines all values at once, before `live` (which may include some of them).
void LoopVariables::define(const std::vector<ValueId>& values, Live& live) {
  for (const ValueId v : values) live.erase(v);
  for (const ValueId v : values) {
    for (const ValueId other : live) {
      meets_[v].insert(other);
      meets_[other].insert(v);
    }
    for (const ValueId other : values) {
      if (other != v) meets_[v].insert(other);
    }
  }
}

void LoopVariables::walk(const Region& region, Live& live) {
  for (auto n = region.nodes.rbegin(); n != region.nodes.rend(); ++n) walk(*n, live);
}

void LoopVariables::walk(const Node& node, Live& live) {
  if (const auto* f = std::get_if<For>(&node.op)) return walk_for(node, *f, live);
  if (const auto* w = std::get_if<While>(&node.op)) return walk_while(node, *w, live);
  if (const auto* i = std::get_if<If>(&node.op)) return walk_branch(node, *i, live);
  Live needed = live;
  const Live operands = read_while_written(node);
  needed.insert(operands.begin(), operands.end());
  define(node.results, needed);
  for (const ValueId v : node.results) live.erase(v);
  for (const ValueId v : operands_of(program_, node)) live.insert(v);
}

LoopVariables::Live LoopVariables::read_while_written(const Node& node) const {
  Live result;
  const auto* c = std::get_if<Compute>(&node.op);
  if (c == nullptr) return result;
  // The second result is computed while the first is already live.
  if (node.results.size() > 1) {
    for (const ValueId v : operands_of(program_, node)) result.insert(v);
  }
  if (c->out.empty()) return result;
  // Each point is the only writer of its element if the store subscripts use every label exactly once and nothing else.
  std::vector<Expr> own = c->left;
  if (own.empty()) own = plain_subscripts(c->out.size());
  std::set<std::int32_t> labels;
  for (const Expr& e : own) {
    if (bare_label(e) >= 0) labels.insert(bare_label(e));
  }
  const bool filled_first = !c->base && (c->guard || c->combine || !c->left.empty());
  // Without store subscripts, an element's position is relative to the label's begin.
  const bool shifted =
      c->left.empty() && std::ranges::any_of(c->out, [](const Label& l) { return l.begin != Extent(0); });
  const bool plain = labels.size() == own.size() && labels.size() == c->out.size() && !filled_first && !shifted;
  const auto look = [&](const Expr& e) {
    if (!e) return;
    for_each_read(e, [&](const Read& r) {
      if (r.subscripts.empty()) return;
      const bool same = plain && std::ranges::equal(r.subscripts, own, [](const Expr& a, const Expr& b) {
                          return bare_label(a) == bare_label(b);
                        });
      if (!same) result.insert(r.tensor);
    });
  };
  for (const Expr& e : c->bodies) look(e);
  for (const Expr& e : c->left) look(e);
  look(c->guard);
  // Elements of the base are read before they are overwritten.
  if (c->base && node.results.size() == 1 && update_order(*c) != UpdateOrder::kCopied) result.erase(*c->base);
  return result;
}

void LoopVariables::walk_branch(const Node& node, const If& branch, Live& live) {
  define(node.results, live);
  Live before{branch.condition};
  for (const Region* r : {&branch.then_region, &branch.else_region}) {
    Live inside = live;
    inside.insert(r->yields.begin(), r->yields.end());
    walk(*r, inside);
    before.insert(inside.begin(), inside.end());
  }
  live = std::move(before);
}

void LoopVariables::walk_for(const Node& node, const For& loop, Live& live) {
  define(node.results, live);
  const Live outer = free_values({&loop.body});
  live.insert(outer.begin(), outer.end());
  live.insert(loop.end);
  Live inside = live;
  inside.insert(loop.body.yields.begin(), loop.body.yields.end());
  inside.insert(loop.body.arguments[0]);  // the loop counter is used in the next iteration
  walk(loop.body, inside);
  define(loop.body.arguments, inside);
  live.insert(inside.begin(), inside.end());
  live.insert(loop.inits.begin(), loop.inits.end());
  live.insert(loop.begin);
}

void LoopVariables::walk_while(const Node& node, const While& loop, Live& live) {
  define(node.results, live);
  const Live outer = free_values({&loop.condition, &loop.body});
  live.insert(outer.begin(), outer.end());
  Live inside = live;
  inside.insert(loop.body.yields.begin(), loop.body.yields.end());
  inside.insert(loop.body.arguments[0]);
  walk(loop.body, inside);
  define(loop.body.arguments, inside);
  // The variables hold the loop's results when the condition fails.
  inside.insert(live.begin(), live.end());
  inside.insert(loop.condition.arguments.begin(), loop.condition.arguments.end());
  inside.insert(loop.condition.yields.begin(), loop.condition.yields.end());
  walk(loop.condition, inside);
  define(loop.condition.arguments, inside);
  live.insert(inside.begin(), inside.end());
  live.insert(loop.inits.begin(), loop.inits.end());
}

/// Values used but not defined by the regions.
LoopVariables::Live LoopVariables::free_values(const std::vector<const Region*>& regions) const {
  Live used;
  Live defined;
  for (const Region* region : regions) {
    defined.insert(region->arguments.begin(), region->arguments.end());
    used.insert(region->yields.begin(), region->yields.end());
    for_each_node(*region, [&](const Node& n) {
      for (const ValueId v : operands_of(program_, n)) used.insert(v);
      defined.insert(n.results.begin(), n.results.end());
      const auto nested = [&](const Region& r) {
        defined.insert(r.arguments.begin(), r.arguments.end());
        used.insert(r.yields.begin(), r.yields.end());
      };
      if (const auto* f = std::get_if<For>(&n.op)) nested(f->body);
      if (const auto* w = std::get_if<While>(&n.op)) nested(w->condition), nested(w->body);
      if (const auto* i = std::get_if<If>(&n.op)) nested(i->then_region), nested(i->else_region);
    });
  }
  Live outer;
  std::ranges::set_difference(used, defined, std::inserter(outer, outer.end()));
  return outer;
}

void LoopVariables::merge_all(const Region& region) {
  for (const Node& n : region.nodes) merge_all(n);
}

void LoopVariables::merge_all(const Node& node) {
  const auto carried = [&](const std::vector<ValueId>& inits, const std::vector<ValueId>& arguments,
                           const std::vector<ValueId>& yields) {
    for (std::size_t k = 0; k < inits.size(); ++k) {
      merge(arguments[k + 1], node.results[k]);
      merge(arguments[k + 1], yields[k]);
      // Initial values of the outermost loop are copied before it.
      if (&node != &loop_) merge(inits[k], arguments[k + 1]);
    }
  };
  if (const auto* f = std::get_if<For>(&node.op)) {
    merge_all(f->body);
    carried(f->inits, f->body.arguments, f->body.yields);
  } else if (const auto* w = std::get_if<While>(&node.op)) {
    for (std::size_t k = 0; k < w->inits.size(); ++k) merge(w->condition.arguments[k], w->body.arguments[k + 1]);
    merge_all(w->condition);
    merge_all(w->body);
    carried(w->inits, w->body.arguments, w->body.yields);
  } else if (const auto* i = std::get_if<If>(&node.op)) {
    merge_all(i->then_region);
    merge_all(i->else_region);
    for (std::size_t k = 0; k < node.results.size(); ++k) {
      merge(i->then_region.yields[k], node.results[k]);
      merge(i->else_region.yields[k], node.results[k]);
    }
  } else if (const auto* c = std::get_if<Compute>(&node.op); c != nullptr && c->base) {
    merge(*c->base, node.results[0]);
  }
}

void LoopVariables::merge(ValueId older, ValueId newer) {
  const bool tensor = program_.type(older).rank() > 0;
  const auto refuse = [&] {
    if (tensor && !clash_) clash_ = Clash{older, newer};
  };
  if (!is_inside(older) || !is_inside(newer)) return refuse();
  const ValueId a = variable(older);
  const ValueId b = variable(newer);
  if (a == b) return;
  for (const ValueId x : members_.at(a)) {
    for (const ValueId y : members_.at(b)) {
      const auto found = meets_.find(x);
      if (found != meets_.end() && found->second.contains(y)) return refuse();
    }
  }
  std::vector<ValueId>& into = members_.at(a);
  for (const ValueId v : members_.at(b)) parent_.at(v) = a;
  into.insert(into.end(), members_.at(b).begin(), members_.at(b).end());
  members_.erase(b);
}

ValueId LoopVariables::variable(ValueId v) const {
  const auto found = parent_.find(v);
  return found == parent_.end() ? v : found->second;
}

bool LoopVariables::is_temporary(ValueId v) const {
  const auto found = members_.find(variable(v));
  return found != members_.end() &&
         std::ranges::none_of(found->second, [this](ValueId x) { return carried_.contains(x); });
}

bool LoopVariables::is_shared(ValueId v) const {
  const auto found = members_.find(variable(v));
  return found != members_.end() && found->second.size() > 1;
}

}  // namespace tdsl::ir
