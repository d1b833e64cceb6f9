#include "passes/fusion/inlining.h"

#include <algorithm>

#include "ir/graph/computes.h"
#include "passes/rewriting.h"

namespace tdsl::passes::fusion_plans {

using namespace ir;

std::optional<std::vector<Expr>> only_subscripts(const Compute& c, ValueId v) {
  std::optional<std::vector<Expr>> found;
  bool unique = true;
  for_each_read(c, [&](const Read& r) {
    if (r.tensor != v) return;
    if (!found) found = r.subscripts;
    unique =
        unique && std::ranges::equal(*found, r.subscripts, [](const Expr& a, const Expr& b) { return equal(a, b); });
  });
  return unique ? found : std::nullopt;
}

bool is_bijection(const std::vector<Expr>& subscripts, const Compute& consumer, const Compute& producer) {
  const std::vector<Label> labels = all_labels(consumer);
  if (subscripts.size() != labels.size()) return false;
  std::vector<bool> seen(labels.size(), false);
  for (std::size_t d = 0; d < subscripts.size(); ++d) {
    const std::int32_t label = bare_label(subscripts[d]);
    if (label < 0 || seen[static_cast<std::size_t>(label)]) return false;
    seen[static_cast<std::size_t>(label)] = true;
    const Label& l = labels[static_cast<std::size_t>(label)];
    // Subscripts start at 0, so the producer's range must too.
    if (!(producer.out[d].begin == Extent(0)) || !(l.begin == Extent(0)) || !(l.end == producer.out[d].end))
      return false;
  }
  return true;
}

bool needs_whole(const Program& program, const Node& node, const Compute& c, ValueId v) {
  Compute without = c;
  without.bodies.clear();
  without.guard = Expr();
  without.left.clear();
  const Node shell{node.range, node.results, without};
  const std::vector<ValueId> operands = operands_of(program, shell);
  return std::ranges::find(operands, v) != operands.end();
}

Expr element_of(const Compute& c) {
  if (is_elementwise(c)) return c.bodies[0];
  Compute unguarded = c;
  unguarded.guard = Expr();
  if (!is_elementwise(unguarded)) return {};
  return select(c.guard, c.bodies[0], c.fill ? c.fill : zero_of(c.bodies[0]->type));
}

bool replaces_what_is_read(const Program& program, const Node& node, const std::set<ValueId>& read) {
  if (const auto* c = std::get_if<Compute>(&node.op))
    return c->base && program.type(*c->base).rank() > 0 && read.contains(*c->base);
  return std::ranges::any_of(operands_of(program, node), [&](ValueId v) { return read.contains(v); });
}

void inline_reads(Compute& consumer, ValueId v, const Expr& body) {
  rewrite_expressions(consumer, [&](const Expr& e) {
    return rewrite(e, [&](const Expr& x) {
      const auto* r = std::get_if<Read>(&x->op);
      return r != nullptr && r->tensor == v ? body : x;
    });
  });
}

}  // namespace tdsl::passes::fusion_plans
