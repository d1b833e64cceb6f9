#include "passes/loops/loop_body.h"

#include <algorithm>

#include "ir/graph/affine.h"
#include "ir/graph/clone.h"
#include "ir/graph/expr_build.h"
#include "ir/graph/procedure.h"

namespace tdsl::passes {

using namespace ir;

std::set<ValueId> LoopBody::defined() const {
  std::set<ValueId> values{index};
  for (const Carried& c : carried) values.insert(c.argument);
  for (const Node& s : statements) values.insert(s.results.begin(), s.results.end());
  return values;
}

const Node* LoopBody::statement_of(ValueId v) const {
  for (const Node& s : statements) {
    if (s.results[0] == v) return &s;
  }
  return nullptr;
}

bool LoopBodyBuilder::refuse(const SourceRange& range, std::string reason) {
  refusal_ = {range, std::move(reason)};
  return false;
}

std::optional<LoopBody> LoopBodyBuilder::build(const Node& node) {
  const For& loop = std::get<For>(node.op);
  LoopBody body;
  body.range = node.range;
  body.index = loop.body.arguments[0];
  body.begin = resolve_(loop.begin);
  body.end = resolve_(loop.end);
  body.step = loop.step;
  mentioned_ = mentioned(program_, node);
  if (!flatten(loop.body, {}, body.statements)) return std::nullopt;
  for (std::size_t k = 0; k < loop.inits.size(); ++k) {
    body.carried.push_back({loop.body.arguments[k + 1], loop.inits[k], renamed(joined_, loop.body.yields[k]),
                            node.results[k], used_(node.results[k])});
  }
  hoist(body);
  if (!inline_scalars(body)) return std::nullopt;
  return body;
}

namespace {

/// The property that keeps a node in place.
const char* what_it_does(const Node& node) {
  return match(
      node.op, [](const Random&) { return "draws random numbers"; }, [](const Print&) { return "prints"; },
      [](const Check&) { return "checks the bounds of a slice"; }, [](const Assert&) { return "asserts something"; },
      [](const Routine&) { return "calls a routine on whole tensors"; },
      [](const Chain&) { return "multiplies whole matrices"; }, [](const Choose&) { return "chooses between forms"; },
      [](const Fused&) { return "is a fused operator"; }, [](const Found&) { return "finds an extent by data"; },
      [](const auto&) { return "holds an effect"; });
}

}  // namespace

bool LoopBodyBuilder::flatten(const Region& region, const Expr& guard, std::vector<Node>& into) {
  for (const Node& node : region.nodes) {
    Node copy = node;
    rename_operands(copy, joined_);
    if (!flatten_node(std::move(copy), guard, into)) return false;
  }
  return true;
}

bool LoopBodyBuilder::flatten_node(Node node, const Expr& guard, std::vector<Node>& into) {
  if (const auto* check = std::get_if<Check>(&node.op); check != nullptr && check->may_move()) {
    checks_.push_back(std::move(node));
    return true;
  }
  if (const auto* branch = std::get_if<If>(&node.op)) return flatten_branch(node, *branch, guard, into);
  auto* c = std::get_if<Compute>(&node.op);
  if (c == nullptr) {
    const bool is_loop = std::holds_alternative<For>(node.op) || std::holds_alternative<While>(node.op);
    if (!is_loop) return refuse(node.range, std::string("its body ") + what_it_does(node));
    return flatten_loop(node, guard, into) || refuse(node.range, "its body holds a loop that stays sequential");
  }
  if (c->bodies.size() != 1) return refuse(node.range, "its body holds a computation with several results");
  if (guard) {
    in_branch_.insert(node.results[0]);
    // A scalar of a branch is read outside only through a select, which guards it.
    const bool lazy = c->out.empty() && c->left.empty() && c->reduce.empty();
    if (!lazy) c->guard = conjunction_of(guard, c->guard);
  }
  into.push_back(std::move(node));
  return true;
}

bool LoopBodyBuilder::flatten_loop(const Node& node, const Expr& guard, std::vector<Node>& into) {
  bool effects = false;
  for_each_node(Region{{}, {node}, {}}, [&](const Node& n) { effects = effects || is_effect(n); });
  std::vector<ValueId> used;
  for (const ValueId v : node.results) {
    if (mentioned_.contains(v)) used.push_back(v);
  }
  // Every result repeats the loop.
  if (effects || used.size() > 2) return false;
  for (const ValueId v : used) {
    std::vector<ValueId> captured;
    std::vector<Expr> arguments;
    auto procedure = procedure_of(program_, "last_" + program_.info(v).name, Region{{}, {node}, {}}, {}, v, captured);
    if (!procedure) return false;
    procedure->range = node.range;
    procedure->text = text_of(*procedure);
    for (const ValueId operand : captured)
      arguments.push_back(read(program_.type(operand).scalar, operand, {}, node.range));
    Compute c;
    c.bodies.push_back(
        application(std::make_shared<const Procedure>(std::move(*procedure)), std::move(arguments), node.range));
    if (guard) in_branch_.insert(v);
    into.push_back({node.range, {v}, std::move(c)});
  }
  return true;
}

bool LoopBodyBuilder::flatten_branch(const Node& node, const If& branch, const Expr& guard, std::vector<Node>& into) {
  const Expr condition = read(Scalar::kBool, branch.condition, {}, node.range);
  std::vector<Node> then_nodes;
  std::vector<Node> else_nodes;
  if (!flatten(branch.then_region, conjunction_of(guard, condition), then_nodes)) return false;
  if (!flatten(branch.else_region, conjunction_of(guard, unary(UnaryOp::kNot, condition)), else_nodes)) return false;
  std::vector<Node> selects;
  for (std::size_t k = 0; k < node.results.size(); ++k) {
    if (!join(node, k, branch, then_nodes, else_nodes, selects)) return false;
  }
  for (auto* list : {&then_nodes, &else_nodes, &selects}) {
    for (Node& n : *list) into.push_back(std::move(n));
  }
  return true;
}

namespace {

/// The value that a chain of element updates in `nodes` starts from; nullopt if `v` is overwritten as a whole.
std::optional<ValueId> root_of(const std::vector<Node>& nodes, ValueId v) {
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    if (it->results[0] != v) continue;
    const Compute& c = std::get<Compute>(it->op);
    if (!c.base) return std::nullopt;
    v = *c.base;
  }
  return v;
}

}  // namespace

bool LoopBodyBuilder::join(const Node& node, std::size_t k, const If& branch, std::vector<Node>& then_nodes,
                           std::vector<Node>& else_nodes, std::vector<Node>& selects) {
  const ValueId result = node.results[k];
  const ValueId when_true = renamed(joined_, branch.then_region.yields[k]);
  const ValueId when_false = renamed(joined_, branch.else_region.yields[k]);
  const Type& type = program_.type(result);
  if (type.rank() == 0) {
    Compute c;
    c.bodies.push_back(select(read(Scalar::kBool, branch.condition, {}), read(type.scalar, when_true, {}),
                              read(type.scalar, when_false, {}), node.range));
    in_branch_.insert(result);
    selects.push_back({node.range, {result}, std::move(c)});
    return true;
  }
  const auto true_root = root_of(then_nodes, when_true);
  const auto false_root = root_of(else_nodes, when_false);
  if (!true_root || !false_root || *true_root != *false_root) {
    return refuse(node.range, "a branch replaces a whole tensor");
  }
  // If the condition is false, the first chain leaves its root unchanged, so the second chain may start from its
  // result.
  if (when_true != *true_root) {
    const ValueMap forward{{*false_root, when_true}};
    for (Node& n : else_nodes) rename_operands(n, forward);
  }
  joined_.insert({result, when_false == *false_root ? when_true : when_false});
  return true;
}

void LoopBodyBuilder::hoist(LoopBody& body) {
  std::set<ValueId> inside = body.defined();
  std::vector<Node> kept;
  for (Node& node : body.statements) {
    const std::vector<ValueId> operands = operands_of(program_, node);
    const bool varies = std::ranges::any_of(operands, [&](ValueId v) { return inside.contains(v); });
    const Compute& c = std::get<Compute>(node.op);
    if (!varies && !c.base && !can_fail(program_, c)) {
      inside.erase(node.results[0]);
      body.hoisted.push_back(std::move(node));
    } else {
      kept.push_back(std::move(node));
    }
  }
  body.statements = std::move(kept);
  // The language compares sizes as soon as both are known, so checks of sizes defined outside are hoisted.
  for (Node& check : checks_) {
    const std::vector<ValueId> operands = operands_of(program_, check);
    if (std::ranges::none_of(operands, [&](ValueId v) { return inside.contains(v); })) {
      body.hoisted.push_back(check);
    } else {
      refuse(check.range, "a size compared in its body changes from iteration to iteration");
    }
  }
}

namespace {

bool is_cheap(const Expr& e) {
  bool cheap = true;
  for_each_node(e, [&](const ExprNode& n) {
    if (const auto* u = std::get_if<Unary>(&n.op)) {
      cheap = cheap && (u->op == UnaryOp::kNeg || u->op == UnaryOp::kNot || u->op == UnaryOp::kAbs);
    }
    if (const auto* b = std::get_if<Binary>(&n.op)) {
      cheap = cheap && b->op != BinaryOp::kPow && !is_library_function(b->op) &&
              !(b->op == BinaryOp::kDiv && is_float(n.type));
    }
  });
  return cheap && !applies(e) && node_count(e) <= 24;
}

Expr replace_scalars(const Expr& e, const std::unordered_map<ValueId, Expr>& scalars) {
  if (!e) return e;
  return rewrite(e, [&](const Expr& x) {
    const auto* r = std::get_if<Read>(&x->op);
    if (r == nullptr || !r->subscripts.empty()) return x;
    const auto found = scalars.find(r->tensor);
    return found == scalars.end() ? x : found->second;
  });
}

void replace_scalars(std::vector<Label>& labels, const std::unordered_map<ValueId, Expr>& scalars) {
  const auto f = [&](ValueId v) -> std::optional<Extent> {
    const auto found = scalars.find(v);
    return found == scalars.end() ? std::nullopt : extent_of(found->second);
  };
  for (Label& l : labels) {
    l.begin = l.begin.substitute(f);
    l.end = l.end.substitute(f);
  }
}

bool mentions_any(const Extent& e, const std::set<ValueId>& values) {
  return std::ranges::any_of(e.values(), [&](ValueId v) { return values.contains(v); });
}

int use_count_of(const Program& program, const LoopBody& body, ValueId v) {
  int uses = 0;
  for (const Node& s : body.statements) {
    for (const ValueId operand : operands_of(program, s)) uses += operand == v ? 1 : 0;
  }
  return uses;
}

}  // namespace

bool LoopBodyBuilder::inline_scalars(LoopBody& body) {
  if (!refusal_.reason.empty()) return false;
  std::unordered_map<ValueId, Expr> scalars;
  std::vector<Node> kept;
  // Sizes stay values: the type of a per-iteration tensor may mention them.
  std::set<ValueId> sizes;
  for (const Node& statement : body.statements) {
    for (const Extent& e : program_.type(statement.results[0]).shape) {
      const std::vector<ValueId> values = e.values();
      sizes.insert(values.begin(), values.end());
    }
  }
  std::set<ValueId> changing = body.defined();
  changing.erase(body.index);
  for (const Node& statement : body.statements) {
    Node node = statement;
    Compute& c = std::get<Compute>(node.op);
    replace_scalars(c.out, scalars);
    replace_scalars(c.reduce, scalars);
    for (const auto* list : {&c.out, &c.reduce}) {
      for (const Label& l : *list) {
        if (mentions_any(l.begin, changing) || mentions_any(l.end, changing))
          return refuse(node.range, "the range of `" + l.name + "` depends on data of the iteration");
      }
    }
    rewrite_expressions(c, [&](const Expr& e) { return replace_scalars(e, scalars); });
    const ValueId v = node.results[0];
    const bool is_yield = std::ranges::any_of(body.carried, [&](const auto& k) { return k.yield == v; });
    if (c.out.empty() && is_elementwise(c)) {
      if (node_count(c.bodies[0]) > context_.options().expression_limit) {
        return refuse(node.range, "a scalar of its body grows too large when substituted into its users");
      }
      const bool integral = !is_float(c.bodies[0]->type) && !applies(c.bodies[0]);
      const bool once = use_count_of(program_, body, v) <= 1;
      if (is_yield || integral || once || is_cheap(c.bodies[0]) || in_branch_.contains(v)) {
        scalars.insert({v, c.bodies[0]});
        if (!is_yield && !sizes.contains(v)) continue;
      }
    }
    kept.push_back(std::move(node));
  }
  body.statements = std::move(kept);
  return true;
}

}  // namespace tdsl::passes
