#include "ir/algebra/rules/rebuild.h"

#include <span>
#include <unordered_map>
#include <utility>

namespace tdsl::ir::algebra {

Expr rebuild(Expr root, const std::function<Expr(const Node&, std::vector<Expr>)>& f) {
  std::unordered_map<int, Expr> rebuilt;
  for (const Expr& e : nodes_of(std::span(&root, 1))) {
    std::vector<Expr> operands;
    operands.reserve(e->operands.size());
    for (const Expr& operand : e->operands) operands.push_back(rebuilt.at(operand->id));
    rebuilt.emplace(e->id, f(*e, std::move(operands)));
  }
  return rebuilt.at(root->id);
}

Expr replace(Pool& pool, Expr root, Expr target, Expr replacement) {
  return rebuild(root, [&](const Node& node, std::vector<Expr> operands) {
    return Expr(&node) == target ? replacement : pool.make(node.op, std::move(operands));
  });
}

}  // namespace tdsl::ir::algebra
