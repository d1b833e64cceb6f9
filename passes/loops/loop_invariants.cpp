#include "passes/loops/loop_invariants.h"

#include <algorithm>
#include <set>

#include "passes/rewriting.h"

namespace tdsl::passes {

using namespace ir;

namespace {

void collect_defined(const Region& region, std::set<ValueId>& into) {
  into.insert(region.arguments.begin(), region.arguments.end());
  for (const Node& node : region.nodes) into.insert(node.results.begin(), node.results.end());
}

bool may_move(const Program& program, const Node& node) {
  if (const auto* check = std::get_if<Check>(&node.op)) return check->may_move();
  const auto* c = std::get_if<Compute>(&node.op);
  return c != nullptr && !can_fail(program, *c);
}

class LoopInvariants {
 public:
  LoopInvariants(Program program, PassContext& context) : program_(std::move(program)), context_(context) {}

  Program run() {
    visit(program_.body);
    return std::move(program_);
  }

 private:
  void visit(Region& region) {
    std::vector<Node> nodes;
    for (Node& node : region.nodes) {
      for (Region* inner : regions_of(node)) visit(*inner);
      if (!std::holds_alternative<If>(node.op)) {
        for (Region* inner : regions_of(node)) hoist(*inner, nodes);
      }
      nodes.push_back(std::move(node));
    }
    region.nodes = std::move(nodes);
  }

  void hoist(Region& body, std::vector<Node>& into) {
    std::set<ValueId> inside;
    collect_defined(body, inside);
    std::vector<Node> kept;
    for (Node& node : body.nodes) {
      const std::vector<ValueId> operands = operands_of(program_, node);
      const bool varies = std::ranges::any_of(operands, [&](ValueId v) { return inside.contains(v); });
      if (varies || !may_move(program_, node)) {
        kept.push_back(std::move(node));
        continue;
      }
      for (const ValueId v : node.results) inside.erase(v);
      const auto* c = std::get_if<Compute>(&node.op);
      if (c != nullptr && !c->out.empty()) context_.applied(node.range, "computed once, in front of the loop");
      into.push_back(std::move(node));
    }
    body.nodes = std::move(kept);
  }

  Program program_;
  PassContext& context_;
};

}  // namespace

Program loop_invariants(const Program& program, PassContext& context) { return LoopInvariants(program, context).run(); }

}  // namespace tdsl::passes
