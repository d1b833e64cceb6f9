#include "ir/eval/accumulator.h"

#include <algorithm>

namespace tdsl::ir::eval {

namespace {

/// The operands to which a sum or difference adds terms.
std::vector<Expr> added_to(const Expr& e) {
  const auto* b = std::get_if<Binary>(&e->op);
  if (b == nullptr) return {};
  if (b->op == BinaryOp::kAdd) return {b->left, b->right};
  if (b->op == BinaryOp::kSub) return {b->left};
  return {};
}

class Search {
 public:
  explicit Search(const Program& program) : program_(program) {
    for_each_node(program.body, [this](const Node& n) {
      for (std::size_t k = 0; k < n.results.size(); ++k) defined_[n.results[k]] = {&n, k};
    });
  }

  std::map<ValueId, ValueId> run() {
    for_each_node(program_.body, [this](const Node& n) {
      if (const auto* f = std::get_if<For>(&n.op)) loop(f->body);
      if (const auto* w = std::get_if<While>(&n.op)) loop(w->body);
    });
    return std::move(found_);
  }

 private:
  void loop(const Region& body) {
    for (std::size_t k = 0; k < body.yields.size(); ++k) {
      const Type& type = program_.type(body.yields[k]);
      if (type.rank() > 0 || !is_float(type.scalar)) continue;
      std::map<ValueId, ValueId> steps;
      if (leads(body.yields[k], body.arguments[k + 1], steps)) found_.merge(steps);
    }
  }

  /// True if `v` is `begin` plus further terms; records the additions.
  bool leads(ValueId v, ValueId begin, std::map<ValueId, ValueId>& steps) const {
    if (v == begin) return true;
    const auto place = defined_.find(v);
    if (place == defined_.end()) return false;
    const auto& [node, k] = place->second;
    if (const auto* i = std::get_if<If>(&node->op))
      return leads(i->then_region.yields[k], begin, steps) && leads(i->else_region.yields[k], begin, steps);
    if (const auto* f = std::get_if<For>(&node->op)) return leads(f->inits[k], begin, steps);
    const auto* c = std::get_if<Compute>(&node->op);
    if (c == nullptr || !c->out.empty() || !c->reduce.empty() || c->bodies.size() != 1) return false;
    for (const Expr& side : added_to(c->bodies[0])) {
      const auto* r = std::get_if<Read>(&side->op);
      if (r == nullptr || !r->subscripts.empty() || !leads(r->tensor, begin, steps)) continue;
      steps.emplace(v, r->tensor);
      return true;
    }
    return false;
  }

  const Program& program_;
  std::map<ValueId, std::pair<const Node*, std::size_t>> defined_;
  std::map<ValueId, ValueId> found_;
};

}  // namespace

std::map<ValueId, ValueId> scalar_accumulations(const Program& program) { return Search(program).run(); }

bool adds_to_element(const Compute& c) {
  if (!c.base || c.left.empty() || c.combine || !c.out.empty() || c.bodies.size() != 1) return false;
  return std::ranges::any_of(added_to(c.bodies[0]), [&](const Expr& side) {
    const auto* r = std::get_if<Read>(&side->op);
    return r != nullptr && r->tensor == *c.base &&
           std::ranges::equal(r->subscripts, c.left, [](const Expr& a, const Expr& b) { return equal(a, b); });
  });
}

}  // namespace tdsl::ir::eval
