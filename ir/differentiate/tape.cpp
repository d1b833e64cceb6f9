#include "ir/differentiate/tape.h"

#include <algorithm>
#include <iterator>

#include "ir/graph/check.h"
#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"

namespace tdsl::ir {

Tape::Tape(Program& program, const ExtentFacts& facts, Node& node, std::vector<Node>& prelude)
    : program_(program), facts_(facts), node_(node), prelude_(program, prelude) {
  const For& f = std::get<For>(node.op);
  const Extent begin = facts.of_value(f.begin);
  const Extent length = facts.of_value(f.end) - begin;
  if (f.step == 1 && facts.never_negative(length)) {
    count_ = length;
    return;
  }
  // (length + step - 1) / step for steps upwards.
  const std::int64_t to_whole = f.step > 0 ? f.step - 1 : f.step + 1;
  const Expr steps = binary(BinaryOp::kDiv, expr_of(length + Extent(to_whole)), constant_i64(f.step));
  const Expr count = binary(BinaryOp::kMax, steps, constant_i64(0));
  if (const auto* c = std::get_if<Constant>(&count->op)) {
    count_ = std::get<std::int64_t>(c->value);
  } else {
    count_ = Extent::of(prelude_.filled({Scalar::kI64, {}, {}}, count, "iterations", node.range));
  }
}

Expr Tape::number(ValueId index) const {
  const For& f = std::get<For>(node_.op);
  const Expr distance = index_difference(read(Scalar::kI64, index, {}), expr_of(facts_.of_value(f.begin)));
  return binary(BinaryOp::kDiv, distance, constant_i64(f.step));
}

ValueId Tape::keep(ValueId value) {
  For& f = std::get<For>(node_.op);
  const std::string name = program_.info(value).name + "_tape";
  Type type = program_.type(value);
  Compute store;
  store.out = plain_labels(type.shape);
  store.bodies = {read(type.scalar, value, plain_subscripts(type.rank()))};
  store.left = plain_subscripts(type.rank());
  store.left.insert(store.left.begin(), number(f.body.arguments[0]));
  // Values read from the tape carry absence like the stored value.
  if (type.has_sparse()) type.format.levels.insert(type.format.levels.begin(), Format::Level::kDense);
  type.shape.insert(type.shape.begin(), count_);
  f.inits.push_back(prelude_.filled(type, zero_of(type.scalar), name, node_.range));
  const ValueId carried = program_.new_value(type, name, node_.range);
  f.body.arguments.push_back(carried);
  store.base = carried;
  NodeWriter body(program_, f.body.nodes);
  f.body.yields.push_back(body.emit(std::move(store), type, name, node_.range));
  node_.results.push_back(program_.new_value(type, name, node_.range));
  return node_.results.back();
}

std::set<ValueId> needed_of(const Program& program, const Region& forward, const Region& reversed,
                            const Renaming& known) {
  std::set<ValueId> wanted(reversed.yields.begin(), reversed.yields.end());
  for (const Node& n : reversed.nodes) wanted.merge(mentioned(program, n));
  std::set<ValueId> needed;
  for (auto node = forward.nodes.rbegin(); node != forward.nodes.rend(); ++node) {
    const auto used = [&](ValueId v) { return wanted.contains(v) && !known.contains(v); };
    if (std::ranges::none_of(node->results, used) || is_effect(*node)) continue;
    needed.insert(node->results.begin(), node->results.end());
    wanted.merge(mentioned(program, *node));
  }
  for (const ValueId v : forward.arguments) {
    if (wanted.contains(v)) needed.insert(v);
  }
  return needed;
}

void recompute(Program& program, const Region& forward, Region& reversed, Renaming names) {
  const std::set<ValueId> needed = needed_of(program, forward, reversed, names);
  const Renaming known = names;
  std::vector<Node> again;
  for (const Node& n : forward.nodes) {
    if (!n.results.empty() && needed.contains(n.results[0])) again.push_back(cloned(program, n, names));
  }
  // A node with several results may be needed for results other than the known ones.
  for (const auto& [from, to] : known) names[from] = to;
  for (Node& n : reversed.nodes) rename(program, n, names);
  for (ValueId& v : reversed.yields) {
    const auto found = names.find(v);
    if (found != names.end()) v = found->second;
  }
  reversed.nodes.insert(reversed.nodes.begin(), std::make_move_iterator(again.begin()),
                        std::make_move_iterator(again.end()));
}

}  // namespace tdsl::ir
