// Hoists loop invariants: Computes that cannot stop the run, and comparisons of sizes, which the language performs as
// soon as both sizes are known.
//
//     %6 = for %0..%1 by 1 with (%2) do (%3:i64, %4:f64[%1]) {
//       %5 = compute [i in 0..%1] (exp(%7[i]))
//       …
// becomes
//     %5 = compute [i in 0..%1] (exp(%7[i]))
//     %6 = for %0..%1 by 1 with (%2) do (%3:i64, %4:f64[%1]) {
//       …

#include "passes/passes.h"

#include <algorithm>
#include <set>

#include "passes/region_rewriter.h"

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

class LoopInvariants : public RegionRewriter {
 public:
  using RegionRewriter::RegionRewriter;

 private:
  void rewrite_node(Node node, std::vector<Node>& earlier) override {
    rewrite_inside(node);
    if (!std::holds_alternative<If>(node.op)) {
      for (Region* inner : regions_in(node)) hoist(*inner, earlier);
    }
    earlier.push_back(std::move(node));
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
};

}  // namespace

Program loop_invariants(const Program& program, PassContext& context) { return LoopInvariants(program, context).run(); }

}  // namespace tdsl::passes
