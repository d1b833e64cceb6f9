#include "ir/differentiate/regions.h"

#include <algorithm>
#include <set>
#include <utility>

namespace tdsl::ir {

namespace {

class ElementNames {
 public:
  ElementNames(Program& program, Region& body, Activity& activity)
      : program_(program), body_(body), activity_(activity) {
    const auto add = [&](ValueId v) {
      if (program.type(v).rank() > 0) changing_.insert(v);
    };
    std::ranges::for_each(body.arguments, add);
    for (const Node& n : body.nodes) std::ranges::for_each(n.results, add);
  }

  std::vector<ValueId> run() {
    std::vector<Node> nodes;
    for (Node& n : body_.nodes) {
      auto* c = std::get_if<Compute>(&n.op);
      if (c != nullptr && c->out.empty() && c->reduce.empty() && !c->guard && c->bodies.size() == 1) {
        here_.clear();
        before_ = &nodes;
        name_reads(n, *c);
      }
      nodes.push_back(std::move(n));
    }
    body_.nodes = std::move(nodes);
    return std::move(elements_);
  }

 private:
  void name_reads(const Node& n, Compute& c) {
    const std::size_t known = elements_.size();
    const Expr body = named(c.bodies[0], n.range);
    if (elements_.size() == known) return;
    if (c.left.empty()) {
      c.bodies[0] = body;
    } else {
      Compute value;
      value.bodies = {body};
      c.bodies[0] = read(body->type, define(std::move(value), body->type, n.range), {});
    }
  }

  ValueId define(Compute c, Scalar type, const SourceRange& range) {
    const ValueId v = program_.new_value({type, {}, {}}, "", range);
    before_->push_back({range, {v}, std::move(c)});
    activity_.add(before_->back());
    return v;
  }

  Expr named(const Expr& e, const SourceRange& range) {
    if (const auto* r = std::get_if<Read>(&e->op)) {
      if (!changing_.contains(r->tensor)) return e;
      const auto same = std::ranges::find_if(here_, [&](const auto& h) { return equal(h.first, e); });
      if (same != here_.end()) return read(e->type, same->second, {}, e->range);
      Compute element;
      element.bodies = {e};
      const ValueId v = define(std::move(element), e->type, range);
      here_.emplace_back(e, v);
      elements_.push_back(v);
      return read(e->type, v, {}, e->range);
    }
    std::vector<Expr> parts = children(*e);
    const auto* b = std::get_if<Binary>(&e->op);
    // Only operands that are always evaluated: the condition of a choice, the left side of && and ||.
    const bool first_only = std::holds_alternative<Select>(e->op) || (b != nullptr && is_logical(b->op));
    for (std::size_t k = 0; k < (first_only ? 1 : parts.size()); ++k) parts[k] = named(parts[k], range);
    return with_children(e, parts);
  }

  Program& program_;
  Region& body_;
  Activity& activity_;
  std::set<ValueId> changing_;
  std::vector<ValueId> elements_;
  std::vector<std::pair<Expr, ValueId>> here_;  ///< of the current statement
  std::vector<Node>* before_ = nullptr;
};

}  // namespace

std::vector<ValueId> name_elements(Program& program, Region& body, Activity& activity) {
  return ElementNames(program, body, activity).run();
}

}  // namespace tdsl::ir
