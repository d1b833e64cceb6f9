#include "ir/algebra/expr.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "ir/algebra/check/infer.h"
#include "ir/algebra/text/text.h"
#include "ir/graph/check.h"

namespace tdsl::ir::algebra {

Expr Pool::make(Op op, std::vector<Expr> operands) {
  const std::size_t needed = std::holds_alternative<Input>(op) ? 0 : std::holds_alternative<Join>(op) ? 2 : 1;
  TDSL_CHECK(operands.size() == needed || std::holds_alternative<Opaque>(op),
             "an operator has as many operands as it takes");
  // bcast does not give the number of axes; its operand does.
  const OpText text = op_text(op, operands);
  std::string name = text.word + " " + text.parameters;
  for (const Expr& e : operands) name += fmt::format(" %{}", e->id);
  if (const auto known = known_.find(name); known != known_.end()) return known->second;
  std::vector<const RelationType*> types;
  for (const Expr& e : operands) types.push_back(&e->type);
  Inferred inferred = infer(op, types);
  Node node{static_cast<int>(nodes_.size()), std::move(op), std::move(operands), std::move(inferred.type),
            std::move(inferred.problems)};
  node.sound = node.problems.empty() && std::ranges::all_of(node.operands, [](const Expr& e) { return e->sound; });
  const Expr made(&nodes_.emplace_back(std::move(node)));
  known_.emplace(std::move(name), made);
  return made;
}

Expr Pool::join(Expr left, Expr right, Dims left_dims, Dims right_dims, Kernel by, Kernels then) {
  const std::size_t arity = left->type.keys.arity() + right->type.keys.arity();
  const std::size_t joined = std::min(left_dims.size(), arity);
  return make(Join{std::move(left_dims), std::move(right_dims), std::move(by), std::move(then),
                   KeyFunction::identity(arity - joined)},
              {left, right});
}

Expr Pool::map(Expr e, Kernels by) {
  return make(Map{KeyFunction::identity(e->type.keys.arity()), std::move(by)}, {e});
}

namespace {
int axes_of(const Expr& e) {
  if (!e->type.layout) throw AlgebraError("bcast and shuf take relations that lie on sites");
  return e->type.layout->axes();
}
}  // namespace

Expr Pool::bcast(Expr e) { return redistribute(e, Layout::all(axes_of(e))); }
Expr Pool::shuf(Expr e, Dims dims) { return redistribute(e, Layout::part(std::move(dims), axes_of(e))); }

std::vector<Expr> nodes_of(std::span<const Expr> roots) {
  std::vector<Expr> nodes;
  std::unordered_set<int> entered;
  struct Step {
    Expr e;
    bool operands_are_done;
  };
  std::vector<Step> open;
  const auto push = [&](const auto& all) {
    for (auto e = all.rbegin(); e != all.rend(); ++e) open.push_back({*e, false});
  };
  push(roots);
  while (!open.empty()) {
    const auto [e, operands_are_done] = open.back();
    open.pop_back();
    if (operands_are_done) {
      nodes.push_back(e);
    } else if (entered.insert(e->id).second) {
      open.push_back({e, true});
      push(e->operands);
    }
  }
  return nodes;
}

Dims without(std::size_t arity, const Dims& dims) {
  Dims rest;
  std::ranges::copy_if(all_dims(arity), std::back_inserter(rest),
                       [&](int dim) { return !position_of(dims, dim).has_value(); });
  return rest;
}

Dims right_positions(const Join& join, std::size_t left_arity, std::size_t right_arity) {
  const Dims rest = without(right_arity, join.right);
  Dims positions;
  for (const int dim : all_dims(right_arity)) {
    if (const auto joined = position_of(join.right, dim)) {
      positions.push_back(join.left[static_cast<std::size_t>(*joined)]);
    } else {
      positions.push_back(static_cast<int>(left_arity) + *position_of(rest, dim));
    }
  }
  return positions;
}

std::vector<Expr> Program::roots() const {
  std::vector<Expr> roots;
  for (const Result& result : results) roots.push_back(result.value);
  return roots;
}

}  // namespace tdsl::ir::algebra
