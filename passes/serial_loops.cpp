#include "passes/serial_loops.h"

#include <algorithm>

#include "ir/serial_loop.h"
#include "passes/rewriting.h"

namespace tdsl::passes {

using namespace ir;

namespace {

/// Whether a statement of the region itself, not of a loop in it, reads or writes one element of a tensor.
bool touches_elements(const Region& region) {
  return std::ranges::any_of(region.nodes, [](const Node& n) {
    if (const auto* branch = std::get_if<If>(&n.op)) return touches_elements(branch->then_region) || touches_elements(branch->else_region);
    const auto* c = std::get_if<Compute>(&n.op);
    if (c == nullptr || !c->out.empty() || !c->reduce.empty()) return false;
    bool found = !c->left.empty();
    for_each_node(c->bodies[0], [&](const ExprNode& e) {
      const auto* r = std::get_if<Read>(&e.op);
      found = found || (r != nullptr && !r->subscripts.empty());
    });
    return found;
  });
}

class Marker {
 public:
  Marker(Program program, PassContext& context) : program_(std::move(program)), context_(context) {}

  Program run() {
    Region body = std::move(program_.body);
    visit(body);
    program_.body = std::move(body);
    return std::move(program_);
  }

 private:
  void visit(Region& region) {
    for (Node& node : region.nodes) {
      if (mark(node)) continue;
      for (Region* inner : regions_of(node)) visit(*inner);
    }
  }

  bool mark(Node& node) {
    auto* f = std::get_if<For>(&node.op);
    auto* w = std::get_if<While>(&node.op);
    if (f == nullptr && w == nullptr) return false;
    const Region& body = f != nullptr ? f->body : w->body;
    if (const auto reason = why_not_serial(program_, node)) {
      if (touches_elements(body)) context_.refused(node.range, "not one task: " + reason->reason);
      return false;
    }
    (f != nullptr ? f->serial : w->serial) = true;
    context_.reword("sequential-loop", node.range, "element by element:", "element by element, as native code on one rank:");
    context_.applied(node.range, "the loop is one task on one rank");
    return true;
  }

  Program program_;
  PassContext& context_;
};

}  // namespace

Program serial_loops(const Program& program, PassContext& context) { return Marker(program, context).run(); }

}  // namespace tdsl::passes
