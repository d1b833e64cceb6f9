#include "ir/graph/clone.h"

namespace tdsl::ir {

namespace {

ValueId renamed(ValueId v, const Renaming& names) {
  const auto found = names.find(v);
  return found == names.end() ? v : found->second;
}

void rename_shapes(Program& program, const std::vector<ValueId>& values, const Renaming& names) {
  for (const ValueId v : values) {
    for (Extent& e : program.values[static_cast<std::size_t>(v.id)].type.shape) e = renamed(e, names);
  }
}

/// New values for the definitions; their shapes still refer to old ones.
void renew(Program& program, std::vector<ValueId>& values, Renaming& names) {
  for (ValueId& v : values) {
    const ValueInfo info = program.info(v);
    const ValueId fresh = program.new_value(info.type, info.name, info.range);
    names[v] = fresh;
    v = fresh;
  }
}

void renew(Program& program, Node& node, Renaming& names) {
  renew(program, node.results, names);
  for (Region* r : regions_in(node)) {
    renew(program, r->arguments, names);
    for (Node& n : r->nodes) renew(program, n, names);
  }
}

Node without_effects(const Node& node) {
  Node copy = node;
  for (Region* r : regions_in(copy)) {
    std::erase_if(r->nodes, is_effect);
    for (Node& n : r->nodes) n = without_effects(n);
  }
  return copy;
}

template <class NodeType, class RegionType>
std::vector<RegionType*> regions(NodeType& node) {
  using Result = std::vector<RegionType*>;
  if (auto* f = std::get_if<For>(&node.op)) return Result{&f->body};
  if (auto* w = std::get_if<While>(&node.op)) return Result{&w->condition, &w->body};
  if (auto* i = std::get_if<If>(&node.op)) return Result{&i->then_region, &i->else_region};
  if (auto* c = std::get_if<Choose>(&node.op)) {
    Result all;
    for (auto& region : c->regions) all.push_back(&region);
    return all;
  }
  if (auto* f = std::get_if<Fused>(&node.op)) return Result{&f->body};
  return {};
}

void mention(const Program& program, const Node& node, std::set<ValueId>& values) {
  const std::vector<ValueId> operands = operands_of(program, node);
  values.insert(operands.begin(), operands.end());
  if (const auto* f = std::get_if<For>(&node.op)) values.insert({f->begin, f->end});
  for (const Region* r : regions_in(node)) {
    for (const ValueId v : r->arguments) {
      for (const Extent& e : program.type(v).shape) {
        for (const ValueId size : e.values()) values.insert(size);
      }
    }
    for (const Node& n : r->nodes) mention(program, n, values);
    values.insert(r->yields.begin(), r->yields.end());
  }
}

}  // namespace

std::vector<Region*> regions_in(Node& node) { return regions<Node, Region>(node); }

std::vector<const Region*> regions_in(const Node& node) { return regions<const Node, const Region>(node); }

Expr renamed(const Expr& e, const Renaming& names) {
  if (!e) return e;
  return rewrite(e, [&](const Expr& x) {
    const auto* r = std::get_if<Read>(&x->op);
    const auto found = r == nullptr ? names.end() : names.find(r->tensor);
    return found == names.end() ? x : read(x->type, found->second, r->subscripts, x->range);
  });
}

Extent renamed(const Extent& e, const Renaming& names) {
  return e.substitute([&](ValueId v) -> std::optional<Extent> {
    const auto found = names.find(v);
    return found == names.end() ? std::nullopt : std::optional(Extent::of(found->second));
  });
}

void rename(Program& program, Node& node, const Renaming& names) {
  rename_shapes(program, node.results, names);
  for_each_operand(node.op, [&](auto& part) { part = renamed(part, names); });
  for (Region* r : regions_in(node)) {
    rename_shapes(program, r->arguments, names);
    for (Node& n : r->nodes) rename(program, n, names);
    for (ValueId& v : r->yields) v = renamed(v, names);
  }
}

Node copied(Program& program, Node node, Renaming& names) {
  renew(program, node, names);
  rename(program, node, names);
  return node;
}

Node cloned(Program& program, const Node& node, Renaming& names) {
  return copied(program, without_effects(node), names);
}

bool is_effect(const Node& node) {
  return std::holds_alternative<Print>(node.op) || std::holds_alternative<Assert>(node.op) ||
         std::holds_alternative<Check>(node.op) || std::holds_alternative<Output>(node.op);
}

std::set<ValueId> mentioned(const Program& program, const Node& node) {
  std::set<ValueId> values;
  mention(program, node, values);
  return values;
}

}  // namespace tdsl::ir
