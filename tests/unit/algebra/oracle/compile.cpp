#include "tests/unit/algebra/oracle/compile.h"

#include "tests/unit/algebra/oracle/rebuild.h"

namespace tdsl::ir::algebra {

Expr compile(Pool& pool, const Expr& e, const std::function<Layout(const Input&)>& layout_of) {
  return rebuild(e, [&](const Node& node, std::vector<Expr> operands) {
    if (const auto* input = std::get_if<Input>(&node.op)) {
      Input there = *input;
      there.layout = layout_of(*input);
      return pool.input(std::move(there));
    }
    if (const auto* opaque = std::get_if<Opaque>(&node.op)) {
      Opaque there = *opaque;
      there.layout = Layout::part({});
      return pool.make(std::move(there), std::move(operands));
    }
    if (std::holds_alternative<Join>(node.op)) operands[0] = pool.bcast(operands[0]);
    if (const auto* aggregate = std::get_if<Aggregate>(&node.op)) operands[0] = pool.shuf(operands[0], aggregate->keep);
    if (const auto* concat = std::get_if<Concat>(&node.op))
      operands[0] = pool.shuf(operands[0], without(operands[0]->type.keys.arity(), {concat->key}));
    return pool.make(node.op, std::move(operands));
  });
}

}  // namespace tdsl::ir::algebra
