// Removes computations whose results are unused, and unused loop-carried values.
//
//     %2 = compute [i in 0..%0] (exp(%1[i]))
//     %3 = compute [i in 0..%0] (neg(%1[i]))
//     output "y" %3
// becomes
//     %3 = compute [i in 0..%0] (neg(%1[i]))
//     output "y" %3
//
// Keeps effects, size checks, dimensions, named extents found by data, params and inputs. A run-time error that only a
// dead computation would raise is lost.

#include "passes/passes.h"

#include <algorithm>

#include "passes/region_rewriter.h"

namespace tdsl::passes {

using namespace ir;

namespace {

bool has_effect(const Node& node) {
  const bool own = std::holds_alternative<Print>(node.op) || std::holds_alternative<Assert>(node.op) ||
                   std::holds_alternative<Check>(node.op) || std::holds_alternative<Output>(node.op) ||
                   std::holds_alternative<Dimension>(node.op) || std::holds_alternative<Param>(node.op) ||
                   std::holds_alternative<Input>(node.op);
  const auto* found = std::get_if<Found>(&node.op);
  if (own || (found != nullptr && !found->name.empty())) return true;
  for (const Region* region : regions_in(node)) {
    if (std::ranges::any_of(region->nodes, has_effect)) return true;
  }
  return false;
}

template <class T>
void keep_only(std::vector<T>& list, const std::vector<bool>& keep, std::size_t offset = 0) {
  std::vector<T> kept;
  for (std::size_t k = 0; k < list.size(); ++k) {
    if (k < offset || keep[k - offset]) kept.push_back(list[k]);
  }
  list = std::move(kept);
}

/// Backward liveness over nested regions. The live set grows monotonically; loop bodies are swept to a fixed point.
class DeadCode : public RegionRewriter {
 public:
  using RegionRewriter::RegionRewriter;

  Program run() {
    mark(program_.body);
    return RegionRewriter::run();
  }

 private:
  [[nodiscard]] bool live(ValueId v) const { return live_[static_cast<std::size_t>(v.id)]; }
  void revive(ValueId v) {
    const auto index = static_cast<std::size_t>(v.id);
    if (live_[index]) return;
    live_[index] = true;
    ++revived_;
  }
  void revive_operands(const Node& node) {
    for (const ValueId v : operands_of(program_, node)) revive(v);
  }

  [[nodiscard]] bool needed(const Node& node) const {
    return has_effect(node) || std::ranges::any_of(node.results, [this](ValueId v) { return live(v); });
  }

  void mark(const Region& region) {
    for (auto it = region.nodes.rbegin(); it != region.nodes.rend(); ++it) {
      if (needed(*it)) mark(*it);
    }
  }

  void mark(const Node& node) {
    if (const auto* f = std::get_if<For>(&node.op)) {
      revive(f->begin);
      revive(f->end);
      mark_loop(node, f->inits, f->body, nullptr);
    } else if (const auto* w = std::get_if<While>(&node.op)) {
      mark_loop(node, w->inits, w->body, &w->condition);
    } else if (const auto regions = regions_in(node); !regions.empty()) {
      if (const auto* i = std::get_if<If>(&node.op)) revive(i->condition);
      if (std::holds_alternative<Fused>(node.op)) revive_operands(node);
      for (const Region* region : regions) {
        for (std::size_t k = 0; k < node.results.size(); ++k) {
          if (live(node.results[k])) revive(region->yields[k]);
        }
        mark(*region);
      }
    } else {
      revive_operands(node);
    }
    for (const ValueId v : node.results) {
      if (!live(v)) continue;
      for (const Extent& e : program_.type(v).shape) {
        for (const ValueId mentioned : e.values()) revive(mentioned);
      }
    }
  }

  void mark_loop(const Node& node, const std::vector<ValueId>& inits, const Region& body, const Region* condition) {
    for (int before = -1; before != revived_;) {
      before = revived_;
      if (condition != nullptr) {
        for (const ValueId v : condition->yields) revive(v);
        mark(*condition);
      }
      for (std::size_t k = 0; k < inits.size(); ++k) {
        if (!carries(node, body, condition, k)) continue;
        revive(inits[k]);
        revive(body.yields[k]);
        for (const Extent& e : program_.type(body.arguments[k + 1]).shape) {
          for (const ValueId v : e.values()) revive(v);
        }
      }
      mark(body);
    }
  }

  [[nodiscard]] bool carries(const Node& node, const Region& body, const Region* condition, std::size_t k) const {
    return live(node.results[k]) || live(body.arguments[k + 1]) ||
           (condition != nullptr && live(condition->arguments[k]));
  }

  [[nodiscard]] bool enters(const Node&) const override { return true; }

  void rewrite_node(Node node, std::vector<Node>& earlier) override {
    if (!needed(node)) return;
    if (!regions_in(node).empty()) drop_dead_results(node);
    keep(std::move(node), earlier);
  }

  void drop_dead_results(Node& node) const {
    auto* f = std::get_if<For>(&node.op);
    auto* w = std::get_if<While>(&node.op);
    std::vector<bool> stays;
    for (std::size_t k = 0; k < node.results.size(); ++k)
      stays.push_back(f != nullptr   ? carries(node, f->body, nullptr, k)
                      : w != nullptr ? carries(node, w->body, &w->condition, k)
                                     : live(node.results[k]));
    for (Region* region : regions_in(node)) {
      if (w == nullptr || region != &w->condition) keep_only(region->yields, stays);
    }
    keep_only(node.results, stays);
    if (f != nullptr) {
      keep_only(f->inits, stays);
      keep_only(f->body.arguments, stays, 1);
    } else if (w != nullptr) {
      keep_only(w->inits, stays);
      keep_only(w->condition.arguments, stays);
      keep_only(w->body.arguments, stays, 1);
    } else if (auto* fused = std::get_if<Fused>(&node.op)) {
      std::vector<bool> members;
      for (const Node& member : fused->body.nodes) members.push_back(live(member.results[0]));
      keep_only(fused->labels, members);
    }
  }

  std::vector<bool> live_ = std::vector<bool>(program_.values.size(), false);
  int revived_ = 0;
};

}  // namespace

Program dead_code(const Program& program, PassContext& context) { return DeadCode(program, context).run(); }

}  // namespace tdsl::passes
