#include "ir/differentiate/regions.h"

#include <algorithm>
#include <iterator>

#include "ir/differentiate/compute.h"
#include "ir/differentiate/routine.h"
#include "ir/differentiate/tape.h"
#include "ir/graph/clone.h"
#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"

namespace tdsl::ir {

void insert(Region& region, std::vector<Prelude> preludes) {
  std::ranges::sort(preludes, std::ranges::greater(), &Prelude::position);
  for (Prelude& p : preludes) {
    region.nodes.insert(region.nodes.begin() + static_cast<std::ptrdiff_t>(p.position),
                        std::make_move_iterator(p.nodes.begin()), std::make_move_iterator(p.nodes.end()));
  }
}

std::vector<Prelude> ReverseWalk::walk(Region& region, std::size_t count) {
  std::vector<Prelude> preludes;
  for (std::size_t k = count; k-- > 0;) {
    Node& node = region.nodes[k];
    if (!any_adjoint(node)) continue;
    const bool depends = std::ranges::any_of(node.results, [&](ValueId v) { return context_.activity.contains(v); });
    if (const auto* c = std::get_if<Compute>(&node.op))
      add_adjoints(node, *c, context_.facts, context_.activity, writer_, adjoints_);
    if (auto* i = std::get_if<If>(&node.op)) branch(node, *i);
    if (auto* f = std::get_if<For>(&node.op)) {
      Prelude prelude{k, {}};
      loop(node, *f, prelude.nodes);
      if (!prelude.nodes.empty()) preludes.push_back(std::move(prelude));
    }
    if (auto* w = std::get_if<While>(&node.op); w != nullptr && depends) {
      Prelude prelude{k, {}};
      while_loop(node, *w, prelude.nodes);
      preludes.push_back(std::move(prelude));
    }
    if (const auto* r = std::get_if<Routine>(&node.op); r != nullptr && depends)
      add_adjoints(node, *r, context_.activity, writer_, adjoints_);
  }
  return preludes;
}

bool ReverseWalk::any_adjoint(const Node& node) const {
  return std::ranges::any_of(node.results, [this](ValueId v) { return adjoints_.has(v); });
}

std::set<ValueId> ReverseWalk::relevant(const Node& node) const {
  std::set<ValueId> values;
  const auto nodes_of = [&](const Region& r) {
    for (auto n = r.nodes.rbegin(); n != r.nodes.rend(); ++n) {
      if (std::ranges::any_of(n->results, [&](ValueId v) { return values.contains(v); }))
        values.merge(mentioned(context_.program, *n));
    }
  };
  for (const Region* r : regions_in(node)) {
    for (std::size_t k = 0; k < node.results.size(); ++k) {
      if (adjoints_.has(node.results[k])) values.insert(r->yields[k]);
    }
    std::size_t before = 0;
    while (values.size() != before) {
      before = values.size();
      nodes_of(*r);
      for (std::size_t k = 0; k + 1 < r->arguments.size(); ++k) {
        if (values.contains(r->arguments[k + 1])) values.insert(r->yields[k]);
      }
    }
  }
  return values;
}

std::vector<ValueId> ReverseWalk::captured(const Node& node) const {
  std::set<ValueId> inside;
  for (const Region* r : regions_in(node)) {
    inside.insert(r->arguments.begin(), r->arguments.end());
    for_each_node(*r, [&](const Node& n) {
      inside.insert(n.results.begin(), n.results.end());
      for (const Region* inner : regions_in(n)) inside.insert(inner->arguments.begin(), inner->arguments.end());
    });
  }
  std::vector<ValueId> outer;
  for (const ValueId v : relevant(node)) {
    if (!inside.contains(v) && context_.activity.contains(v)) outer.push_back(v);
  }
  return outer;
}

ValueId ReverseWalk::scalar(const Expr& e, const std::string& name, const SourceRange& range) {
  return writer_.filled({Scalar::kI64, {}, {}}, e, name, range);
}

void ReverseWalk::loop(Node& node, For& f, std::vector<Node>& prelude) {
  Program& program = context_.program;
  const std::vector<ValueId> elements = name_elements(program, f.body, context_.activity);
  const std::vector<ValueId> outer = captured(node);
  const std::set<ValueId> matters = relevant(node);
  std::vector<std::size_t> carried;
  for (std::size_t k = 0; k < f.inits.size(); ++k) {
    if (context_.activity.contains(f.body.arguments[k + 1]) && matters.contains(f.body.yields[k])) carried.push_back(k);
  }

  For reversed;
  const auto copy_of = [&](ValueId v, const std::string& suffix) {
    return program.new_value(adjoint_type(program, v), program.info(v).name + suffix, node.range);
  };
  const std::string index_name = program.info(f.body.arguments[0]).name;
  const ValueId index = program.new_value({Scalar::kI64, {}, {}}, index_name, node.range);
  reversed.body.arguments.push_back(index);
  std::vector<ValueId> results;
  ReverseWalk inner(context_, reversed.body.nodes);
  for (const std::size_t k : carried) {
    const ValueId v = node.results[k];
    reversed.inits.push_back(adjoints_.tensor(v));
    results.push_back(copy_of(v, "_adjoint"));
    reversed.body.arguments.push_back(copy_of(v, "_adjoint"));
    inner.adjoints().add(f.body.yields[k], reversed.body.arguments.back(), node.range);
  }
  for (const ValueId v : outer) {
    reversed.inits.push_back(adjoints_.so_far(v));
    results.push_back(copy_of(v, "_adjoint"));
    reversed.body.arguments.push_back(copy_of(v, "_adjoint"));
    inner.adjoints().add(v, reversed.body.arguments.back(), node.range);
  }
  insert(f.body, inner.walk(f.body, f.body.nodes.size()));
  for (const std::size_t k : carried) reversed.body.yields.push_back(inner.adjoints().tensor(f.body.arguments[k + 1]));
  for (const ValueId v : outer) reversed.body.yields.push_back(inner.adjoints().tensor(v));
  const auto unchanged = drop_unchanged(program, reversed, carried, results);

  Tape tape(program, context_.facts, node, prelude);
  std::vector<Node> first;
  NodeWriter before(program, first);
  Renaming names;
  // If iterations are independent, sums may also be accumulated in forward order.
  const Extent begin = context_.facts.of_value(f.begin);
  const Extent end = context_.facts.of_value(f.end);
  const bool forwards = carried.empty();
  const bool by_one = f.step == 1 || f.step == -1;
  Expr number;
  if (forwards) {
    reversed.step = f.step;
    reversed.begin = f.begin;
    reversed.end = f.end;
    names[f.body.arguments[0]] = index;
    number = tape.number(index);
  } else if (by_one) {
    // The index itself runs backwards.
    reversed.step = -f.step;
    reversed.begin = scalar(expr_of(end - Extent(f.step)), index_name + "_last", node.range);
    reversed.end = scalar(expr_of(begin - Extent(f.step)), index_name + "_first", node.range);
    names[f.body.arguments[0]] = index;
    number = tape.number(index);
  } else {
    // The number of the iteration runs backwards.
    reversed.step = -1;
    reversed.begin = scalar(expr_of(tape.count() - Extent(1)), "last", node.range);
    reversed.end = scalar(constant_i64(-1), "first", node.range);
    number = read(Scalar::kI64, index, {});
    const Expr value = index_sum(index_product(f.step, number), expr_of(begin));
    names[f.body.arguments[0]] = before.filled({Scalar::kI64, {}, {}}, value, index_name, node.range);
  }
  const auto keep = [&](ValueId v) {
    const Type type = program.type(v);
    std::vector<Expr> subscripts = plain_subscripts(type.rank());
    subscripts.insert(subscripts.begin(), number);
    const ValueId kept = tape.keep(v);
    names[v] = before.filled(type, read(type.scalar, kept, std::move(subscripts)), program.info(v).name, node.range);
  };
  const std::vector<ValueId> arguments(f.body.arguments.begin() + 1, f.body.arguments.end());
  const std::vector<ValueId> yields = f.body.yields;
  std::set<ValueId> needed = needed_of(program, f.body, reversed.body, names);
  for (const ValueId v : elements) {
    if (needed.contains(v)) keep(v);
  }
  needed = needed_of(program, f.body, reversed.body, names);
  for (const ValueId v : yields) {
    const bool own = std::ranges::any_of(
        f.body.nodes, [&](const Node& n) { return std::ranges::find(n.results, v) != n.results.end(); });
    if (own && needed.contains(v) && !names.contains(v)) keep(v);
  }
  needed = needed_of(program, f.body, reversed.body, names);
  for (const ValueId v : arguments) {
    if (needed.contains(v)) keep(v);
  }
  recompute(program, f.body, reversed.body, std::move(names));
  reversed.body.nodes.insert(reversed.body.nodes.begin(), std::make_move_iterator(first.begin()),
                             std::make_move_iterator(first.end()));

  const std::vector<ValueId> inits = f.inits;
  if (!results.empty()) writer_.emit(Node{node.range, results, std::move(reversed)});
  for (std::size_t k = 0; k < outer.size(); ++k) adjoints_.replace(outer[k], results[carried.size() + k], node.range);
  const auto hand_on = [&](std::size_t k, ValueId adjoint) {
    if (context_.activity.contains(inits[k])) adjoints_.add(inits[k], adjoint, node.range);
  };
  for (std::size_t k = 0; k < carried.size(); ++k) hand_on(carried[k], results[k]);
  for (const auto& [k, adjoint] : unchanged) hand_on(k, adjoint);
}

void ReverseWalk::while_loop(Node& node, While& w, std::vector<Node>& prelude) {
  Program& program = context_.program;
  const Type number{Scalar::kI64, {}, {}};
  const auto counter = [&] { return program.new_value(number, "iterations", node.range); };
  const std::size_t own = w.inits.size();
  // The same loop with a fixed number of iterations. The copy is taken before the original gets a counter.
  For f;
  f.step = 1;
  f.inits = w.inits;
  Renaming names;
  Node copy = cloned(program, Node{node.range, node.results, w}, names);
  f.body = std::move(std::get<While>(copy.op).body);
  std::vector<Node> again;
  NodeWriter before(program, again);

  NodeWriter first(program, prelude);
  NodeWriter body(program, w.body.nodes);
  w.inits.push_back(first.filled(number, constant_i64(0), "iterations", node.range));
  w.condition.arguments.push_back(counter());
  w.body.arguments.push_back(counter());
  const Expr next = index_sum(read(Scalar::kI64, w.body.arguments.back(), {}), constant_i64(1));
  w.body.yields.push_back(body.filled(number, next, "iterations", node.range));
  node.results.push_back(counter());

  f.begin = before.filled(number, constant_i64(0), "begin", node.range);
  f.end = node.results.back();
  Node counted{node.range, copy.results, std::move(f)};
  context_.activity.add(counted);
  for (std::size_t k = 0; k < own; ++k) {
    const auto adjoint = adjoints_.total(node.results[k]);
    if (adjoint && context_.activity.contains(counted.results[k]))
      adjoints_.add(counted.results[k], *adjoint, node.range);
  }
  const std::size_t position = writer_.position();
  std::vector<Node> tapes;
  loop(counted, std::get<For>(counted.op), tapes);
  again.insert(again.end(), std::make_move_iterator(tapes.begin()), std::make_move_iterator(tapes.end()));
  again.push_back(std::move(counted));
  writer_.insert(position, std::move(again));
}

std::vector<std::pair<std::size_t, ValueId>> ReverseWalk::drop_unchanged(Program& program, For& reversed,
                                                                         std::vector<std::size_t>& carried,
                                                                         std::vector<ValueId>& results) {
  std::vector<std::pair<std::size_t, ValueId>> dropped;
  for (std::size_t k = carried.size(); k-- > 0;) {
    const ValueId argument = reversed.body.arguments[k + 1];
    if (reversed.body.yields[k] != argument) continue;
    const Renaming names = {{argument, reversed.inits[k]}};
    for (Node& n : reversed.body.nodes) rename(program, n, names);
    for (ValueId& v : reversed.body.yields) v = v == argument ? reversed.inits[k] : v;
    dropped.emplace_back(carried[k], reversed.inits[k]);
    const auto at = static_cast<std::ptrdiff_t>(k);
    reversed.body.arguments.erase(reversed.body.arguments.begin() + at + 1);
    reversed.body.yields.erase(reversed.body.yields.begin() + at);
    reversed.inits.erase(reversed.inits.begin() + at);
    results.erase(results.begin() + at);
    carried.erase(carried.begin() + at);
  }
  return dropped;
}

Region ReverseWalk::reversed_branch(const Node& node, Region& forward, const std::vector<ValueId>& outer,
                                    const std::vector<std::optional<ValueId>>& given) {
  Region reversed;
  ReverseWalk inner(context_, reversed.nodes);
  for (std::size_t k = 0; k < node.results.size(); ++k) {
    const auto adjoint = adjoints_.total(node.results[k]);
    if (adjoint && context_.activity.contains(forward.yields[k]))
      inner.adjoints().add(forward.yields[k], *adjoint, node.range);
  }
  for (std::size_t k = 0; k < outer.size(); ++k) {
    if (given[k]) inner.adjoints().add(outer[k], *given[k], node.range);
  }
  insert(forward, inner.walk(forward, forward.nodes.size()));
  for (const ValueId v : outer) reversed.yields.push_back(inner.adjoints().tensor(v));
  recompute(context_.program, forward, reversed, {});
  return reversed;
}

void ReverseWalk::branch(Node& node, If& i) {
  const std::vector<ValueId> outer = captured(node);
  if (outer.empty()) return;
  std::vector<std::optional<ValueId>> given;
  std::vector<ValueId> results;
  for (const ValueId v : outer) {
    given.push_back(adjoints_.has(v) ? std::optional(adjoints_.so_far(v)) : std::nullopt);
    const Type type = adjoint_type(context_.program, v);
    results.push_back(context_.program.new_value(type, context_.program.info(v).name + "_adjoint", node.range));
  }
  for (const ValueId v : node.results) static_cast<void>(adjoints_.total(v));
  If reversed{i.condition, {}, {}};
  reversed.then_region = reversed_branch(node, i.then_region, outer, given);
  reversed.else_region = reversed_branch(node, i.else_region, outer, given);
  // Values that both branches leave unchanged need no branch.
  std::vector<ValueId>& taken = reversed.then_region.yields;
  std::vector<ValueId>& other = reversed.else_region.yields;
  for (std::size_t k = outer.size(); k-- > 0;) {
    const auto at = static_cast<std::ptrdiff_t>(k);
    adjoints_.replace(outer[k], taken[k] == other[k] ? taken[k] : results[k], node.range);
    if (taken[k] != other[k]) continue;
    taken.erase(taken.begin() + at);
    other.erase(other.begin() + at);
    results.erase(results.begin() + at);
  }
  if (!results.empty()) writer_.emit(Node{node.range, results, std::move(reversed)});
}

}  // namespace tdsl::ir
