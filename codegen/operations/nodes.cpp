#include "codegen/operations/nodes.h"

#include "ir/graph/computes.h"

namespace tdsl::codegen {

namespace {

void add_nodes(const ir::Compute& compute, std::vector<const ir::ExprNode*>& nodes) {
  ir::for_each_expr(compute,
                    [&](const Expr& e) { ir::for_each_node(e, [&](const ir::ExprNode& n) { nodes.push_back(&n); }); });
}

template <class Map>
typename Map::mapped_type found_in(const Map& map, const ir::ExprNode* node) {
  const auto found = map.find(node);
  return found == map.end() ? typename Map::mapped_type{} : found->second;
}

std::optional<int> operand_in(const std::unordered_map<const ir::ExprNode*, int>& operands, const ir::ExprNode* node) {
  const auto found = operands.find(node);
  return found == operands.end() ? std::nullopt : std::optional(found->second);
}

bool is_node(const NodeFacts& facts, std::size_t nodes) {
  return facts.node >= 0 && static_cast<std::size_t>(facts.node) < nodes;
}

}  // namespace

std::vector<const ir::ExprNode*> nodes_of(const ComputeKernel& kernel) {
  std::vector<const ir::ExprNode*> nodes;
  add_nodes(kernel.compute, nodes);
  return nodes;
}

std::vector<const ir::ExprNode*> nodes_of(const FusedKernel& kernel) {
  std::vector<const ir::ExprNode*> nodes;
  for (const FusedKernel::Member& m : kernel.members) add_nodes(m.compute, nodes);
  return nodes;
}

std::vector<NodeFacts> facts_of(const ComputeKernel& kernel) {
  std::vector<NodeFacts> all;
  int number = 0;
  for (const ir::ExprNode* node : nodes_of(kernel)) {
    const NodeFacts facts{number++,
                          operand_in(kernel.operand, node),
                          found_in(kernel.checked, node),
                          found_in(kernel.gathers, node),
                          kernel.trusted.contains(node),
                          kernel.bounding.contains(node)};
    if (facts != NodeFacts{facts.node}) all.push_back(facts);
  }
  return all;
}

std::vector<NodeFacts> facts_of(const FusedKernel& kernel) {
  std::vector<NodeFacts> all;
  int number = 0;
  for (const ir::ExprNode* node : nodes_of(kernel)) {
    const NodeFacts facts{number++, operand_in(kernel.operand, node)};
    if (facts.operand) all.push_back(facts);
  }
  return all;
}

bool set_facts(ComputeKernel& kernel, const std::vector<NodeFacts>& facts) {
  const std::vector<const ir::ExprNode*> nodes = nodes_of(kernel);
  for (const NodeFacts& f : facts) {
    if (!is_node(f, nodes.size())) return false;
    const ir::ExprNode* node = nodes[static_cast<std::size_t>(f.node)];
    if (f.operand) kernel.operand[node] = *f.operand;
    if (!f.checked.empty()) kernel.checked[node] = f.checked;
    if (!f.gathers.empty()) kernel.gathers[node] = f.gathers;
    if (f.trusted) kernel.trusted.insert(node);
    if (f.bounding) kernel.bounding.insert(node);
  }
  return true;
}

bool set_facts(FusedKernel& kernel, const std::vector<NodeFacts>& facts) {
  const std::vector<const ir::ExprNode*> nodes = nodes_of(kernel);
  for (const NodeFacts& f : facts) {
    if (!is_node(f, nodes.size())) return false;
    if (f.operand) kernel.operand[nodes[static_cast<std::size_t>(f.node)]] = *f.operand;
  }
  return true;
}

}  // namespace tdsl::codegen
