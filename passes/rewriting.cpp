#include "passes/rewriting.h"

#include <algorithm>

#include "ir/analysis/serial_loop.h"
#include "ir/graph/computes.h"
#include "ir/graph/inequalities.h"
#include "ir/graph/procedure.h"
#include "passes/loops/subscripts.h"

namespace tdsl::passes {

using namespace ir;

ValueId renamed(const ValueMap& map, ValueId v) {
  for (auto it = map.find(v); it != map.end(); it = map.find(v)) v = it->second;
  return v;
}

Expr rename_values(const Expr& e, const ValueMap& map) {
  if (!e) return e;
  return rewrite(e, [&](const Expr& x) {
    const auto* r = std::get_if<Read>(&x->op);
    if (r == nullptr) return x;
    const ValueId to = renamed(map, r->tensor);
    return to == r->tensor ? x : read(x->type, to, r->subscripts, x->range);
  });
}

Extent rename_values(const Extent& e, const ValueMap& map) {
  return e.substitute([&](ValueId v) -> std::optional<Extent> {
    const ValueId to = renamed(map, v);
    return to == v ? std::nullopt : std::optional(Extent::of(to));
  });
}

void rename_operands(Region& region, const ValueMap& map) {
  for (Node& node : region.nodes) rename_operands(node, map);
  for (ValueId& v : region.yields) v = renamed(map, v);
}

void rename_operands(Node& node, const ValueMap& map) {
  if (map.empty()) return;
  for_each_operand(node.op, Overload{[&](ValueId& v) { v = renamed(map, v); },
                                     [&](auto& part) { part = rename_values(part, map); }});
  for (Region* inner : regions_in(node)) rename_operands(*inner, map);
}

void rename_everywhere(Program& program, const ValueMap& map) {
  if (map.empty()) return;
  rename_operands(program.body, map);
  for (ValueInfo& info : program.values) {
    for (Extent& e : info.type.shape) e = rename_values(e, map);
    for (Extent& e : info.tile) e = rename_values(e, map);
  }
}

void rewrite_expressions(Compute& c, const std::function<Expr(const Expr&)>& f) {
  for (Expr& body : c.bodies) body = f(body);
  if (c.guard) c.guard = f(c.guard);
  for (Expr& subscript : c.left) subscript = f(subscript);
}

Expr substitute_labels(const Expr& e, const std::vector<Expr>& replacements) {
  bool renames = false;
  for (std::size_t k = 0; k < replacements.size(); ++k)
    renames = renames || (replacements[k] && bare_label(replacements[k]) != static_cast<std::int32_t>(k));
  if (!e || !renames) return e;
  return rewrite(e, [&](const Expr& x) {
    const std::int32_t label = bare_label(x);
    if (label < 0 || label >= static_cast<std::int32_t>(replacements.size())) return x;
    const Expr& replacement = replacements[static_cast<std::size_t>(label)];
    return replacement && bare_label(replacement) != label ? replacement : x;
  });
}

Expr shift_labels(const Expr& e, std::int32_t first, std::int32_t by) {
  if (!e || by == 0) return e;
  return rewrite(e, [&](const Expr& x) {
    const std::int32_t label = bare_label(x);
    return label < first ? x : index_ref(label + by, x->range);
  });
}

bool reads(const Expr& e, ValueId v) {
  return e && any_read(e, [&](const Read& r) { return r.tensor == v; });
}

bool applies(const Expr& e) {
  return any_node(e, [](const ExprNode& n) { return std::holds_alternative<Apply>(n.op); });
}

int node_count(const Expr& e) {
  int count = 0;
  for_each_node(e, [&](const ExprNode&) { ++count; });
  return count;
}

std::set<ValueId> values_read(const Compute& c) {
  std::set<ValueId> found;
  for_each_read(c, [&](const Read& r) { found.insert(r.tensor); });
  return found;
}

std::string quoted(const Program& program, ValueId v, std::string_view otherwise) {
  const std::string& name = program.info(v).name;
  return name.empty() ? std::string(otherwise) : "`" + name + "`";
}

namespace {

void count_uses(const Program& program, const Region& region, std::vector<int>& counts) {
  const auto add = [&](ValueId v) { ++counts[static_cast<std::size_t>(v.id)]; };
  for (const Node& node : region.nodes) {
    for (const ValueId v : operands_of(program, node)) add(v);
    for (const Region* inner : regions_in(node)) count_uses(program, *inner, counts);
  }
  for (const ValueId v : region.yields) add(v);
}

void collect_definitions(const Region& region, std::vector<const Node*>& table) {
  for (const Node& node : region.nodes) {
    for (const ValueId v : node.results) table[static_cast<std::size_t>(v.id)] = &node;
    for (const Region* inner : regions_in(node)) collect_definitions(*inner, table);
  }
}

}  // namespace

std::vector<int> use_counts(const Program& program) {
  std::vector<int> counts(program.values.size(), 0);
  count_uses(program, program.body, counts);
  return counts;
}

std::vector<const Node*> definitions(const Program& program) {
  std::vector<const Node*> table(program.values.size(), nullptr);
  collect_definitions(program.body, table);
  return table;
}

const Compute* compute_of(const std::vector<const Node*>& definitions, ValueId v) {
  const auto index = static_cast<std::size_t>(v.id);
  if (index >= definitions.size() || definitions[index] == nullptr) return nullptr;
  return std::get_if<Compute>(&definitions[index]->op);
}

bool holds_operations(const Node& node) {
  return !regions_in(node).empty() && !is_marked_serial(node) && !std::holds_alternative<Fused>(node.op);
}

void for_each_compute(Region& region, const std::function<void(Node&, Compute&)>& f) {
  for (Node& node : region.nodes) {
    if (auto* c = std::get_if<Compute>(&node.op)) f(node, *c);
    for (Region* inner : regions_in(node)) for_each_compute(*inner, f);
  }
}

bool is_elementwise(const Compute& c) {
  return c.reduce.empty() && c.left.empty() && c.bodies.size() == 1 && !c.guard && !c.base;
}

Expr constant_fill(const Compute& c) {
  if (!is_elementwise(c)) return {};
  return std::holds_alternative<Constant>(c.bodies[0]->op) ? c.bodies[0] : Expr();
}

bool read_may_fail(const Program& program, const Read& r, const std::vector<const Label*>& labels,
                   const std::vector<Expr>& conditions) {
  const Type& type = program.type(r.tensor);
  const Subscripts subscripts(type, labels);
  for (std::size_t d = 0; d < r.subscripts.size(); ++d) {
    if (!subscripts.inside(r.subscripts[d], type.shape[d], conditions)) return true;
  }
  return false;
}

namespace {

/// At points where all `conditions` hold.
bool expression_may_fail(const Program& program, const Expr& e, const std::vector<const Label*>& labels,
                         const std::vector<Expr>& conditions = {}) {
  if (!e) return false;
  // Subscripts that are provably in bounds do not divide by 0.
  if (const auto* r = std::get_if<Read>(&e->op)) return read_may_fail(program, *r, labels, conditions);
  const auto fails = [&](const Expr& part) { return expression_may_fail(program, part, labels, conditions); };
  if (const auto* s = std::get_if<Select>(&e->op)) {
    std::vector<Expr> more = conjuncts(s->condition);
    more.insert(more.end(), conditions.begin(), conditions.end());
    return fails(s->condition) || expression_may_fail(program, s->when_true, labels, more) || fails(s->when_false);
  }
  return operation_may_fail(*e) || std::ranges::any_of(children(*e), fails);
}

}  // namespace

bool can_fail(const Program& program, const Compute& c) {
  if (!c.left.empty()) return true;
  const std::vector<const Label*> labels = labels_of(c);
  for (const Expr& body : c.bodies) {
    if (expression_may_fail(program, body, labels)) return true;
  }
  return expression_may_fail(program, c.guard, labels);
}

}  // namespace tdsl::passes
