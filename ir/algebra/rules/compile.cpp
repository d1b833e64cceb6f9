#include "ir/algebra/rules/compile.h"

#include "ir/algebra/rules/rebuild.h"

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

Expr single_root(Pool& pool, const Program& program) {
  const std::vector<Expr> roots = program.roots();
  if (roots.size() == 1) return roots[0];
  std::optional<Layout> layout = roots[0]->type.layout;
  if (layout) layout = Layout::all(layout->axes());
  return pool.make(Opaque{"all results", {}, {{}}, std::move(layout)}, roots);
}

Program results_of(const Expr& root, const Program& program) {
  if (program.results.size() == 1) return {{{program.results[0].name, root}}};
  Program results;
  for (std::size_t k = 0; k < program.results.size(); ++k)
    results.results.push_back({program.results[k].name, root->operands[k]});
  return results;
}

}  // namespace tdsl::ir::algebra
