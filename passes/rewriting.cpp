#include "passes/rewriting.h"

#include <algorithm>

#include "ir/analysis/serial_loop.h"
#include "ir/graph/check.h"
#include "ir/graph/clone.h"
#include "ir/graph/computes.h"
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

namespace {

void rename_list(std::vector<ValueId>& list, const ValueMap& map) {
  for (ValueId& v : list) v = renamed(map, v);
}

void rename_labels(std::vector<Label>& labels, const ValueMap& map) {
  for (Label& l : labels) {
    l.begin = rename_values(l.begin, map);
    l.end = rename_values(l.end, map);
  }
}

void rename_compute(Compute& c, const ValueMap& map) {
  rename_labels(c.out, map);
  rename_labels(c.reduce, map);
  rewrite_expressions(c, [&](const Expr& e) { return rename_values(e, map); });
  if (c.base) c.base = renamed(map, *c.base);
  if (!c.iteration) return;
  for (StoredOperand& o : c.iteration->operands) o.tensor = renamed(map, o.tensor);
}

}  // namespace

void rename_operands(Region& region, const ValueMap& map) {
  for (Node& node : region.nodes) rename_operands(node, map);
  rename_list(region.yields, map);
}

void rename_operands(Node& node, const ValueMap& map) {
  if (map.empty()) return;
  match(
      node.op, [](Dimension&) {},
      [&](Param& p) {
        if (p.computed_default) p.computed_default = renamed(map, *p.computed_default);
      },
      [](Input&) {}, [&](Compute& c) { rename_compute(c, map); }, [&](Random& r) { rename_list(r.iterations, map); },
      [&](Routine& r) { rename_list(r.operands, map); },
      [&](Chain& c) {
        for (Chain::Factor& f : c.factors) f.tensor = renamed(map, f.tensor);
        for (Extent& e : c.sizes) e = rename_values(e, map);
      },
      [&](For& f) {
        f.begin = renamed(map, f.begin);
        f.end = renamed(map, f.end);
        rename_list(f.inits, map);
        rename_operands(f.body, map);
      },
      [&](While& w) {
        rename_list(w.inits, map);
        rename_operands(w.condition, map);
        rename_operands(w.body, map);
      },
      [&](If& i) {
        i.condition = renamed(map, i.condition);
        rename_operands(i.then_region, map);
        rename_operands(i.else_region, map);
      },
      [&](Choose& c) {
        for (Region& r : c.regions) rename_operands(r, map);
      },
      [&](Fused& f) {
        for (Label& l : f.shared) {
          l.begin = rename_values(l.begin, map);
          l.end = rename_values(l.end, map);
        }
        rename_operands(f.body, map);
      },
      [&](Print& p) {
        for (auto& item : p.items) {
          if (auto* v = std::get_if<ValueId>(&item)) *v = renamed(map, *v);
        }
      },
      [&](Assert& a) { a.condition = renamed(map, a.condition); },
      [&](Check& c) {
        c.left = rename_values(c.left, map);
        c.right = rename_values(c.right, map);
        if (c.guard) c.guard = renamed(map, *c.guard);
      },
      [&](Output& o) { o.value = renamed(map, o.value); },
      [&](Gradient& g) {
        g.loss = renamed(map, g.loss);
        rename_list(g.wrt, map);
      });
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
  if (!e) return e;
  return rewrite(e, [&](const Expr& x) {
    const std::int32_t label = bare_label(x);
    if (label < 0 || label >= static_cast<std::int32_t>(replacements.size())) return x;
    const Expr& replacement = replacements[static_cast<std::size_t>(label)];
    return replacement ? replacement : x;
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
  if (!e) return false;
  bool found = false;
  for_each_read(e, [&](const Read& r) { found = found || r.tensor == v; });
  return found;
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

bool read_may_fail(const Program& program, const Read& r, const std::vector<const Label*>& labels) {
  const Type& type = program.type(r.tensor);
  const Subscripts subscripts(type, labels);
  for (std::size_t d = 0; d < r.subscripts.size(); ++d) {
    if (!subscripts.inside(r.subscripts[d], type.shape[d])) return true;
  }
  return false;
}

namespace {

bool expression_may_fail(const Program& program, const Expr& e, const std::vector<const Label*>& labels) {
  if (!e) return false;
  // Subscripts that are provably in bounds do not divide by 0.
  if (const auto* r = std::get_if<Read>(&e->op)) return read_may_fail(program, *r, labels);
  return operation_may_fail(*e) || std::ranges::any_of(children(*e), [&](const Expr& child) {
           return expression_may_fail(program, child, labels);
         });
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
