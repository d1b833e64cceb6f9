#include "passes/algebra/dead_code.h"

#include <algorithm>

#include "passes/rewriting.h"

namespace tdsl::passes {

using namespace ir;

namespace {

bool has_effect(const Node& node) {
  const bool own = std::holds_alternative<Print>(node.op) || std::holds_alternative<Assert>(node.op) ||
                   std::holds_alternative<Check>(node.op) || std::holds_alternative<Output>(node.op) ||
                   std::holds_alternative<Dimension>(node.op) || std::holds_alternative<Param>(node.op) ||
                   std::holds_alternative<Input>(node.op);
  if (own) return true;
  for (const Region* region : regions_of(node)) {
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

/// Backward liveness over nested regions. The live set only grows; a loop's body is swept until it does not.
class DeadCode {
 public:
  explicit DeadCode(const Program& program) : program_(program), live_(program.values.size(), false) {}

  Program run() {
    mark(program_.body);
    sweep(program_.body);
    return std::move(program_);
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
    } else if (const auto* i = std::get_if<If>(&node.op)) {
      revive(i->condition);
      for (std::size_t k = 0; k < node.results.size(); ++k) {
        if (!live(node.results[k])) continue;
        revive(i->then_region.yields[k]);
        revive(i->else_region.yields[k]);
      }
      mark(i->then_region);
      mark(i->else_region);
    } else if (const auto* c = std::get_if<Choose>(&node.op)) {
      for (const Region& region : c->regions) {
        for (std::size_t k = 0; k < node.results.size(); ++k) {
          if (live(node.results[k])) revive(region.yields[k]);
        }
        mark(region);
      }
    } else if (const auto* f = std::get_if<Fused>(&node.op)) {
      revive_operands(node);
      for (std::size_t k = 0; k < node.results.size(); ++k) {
        if (live(node.results[k])) revive(f->body.yields[k]);
      }
      mark(f->body);
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

  void sweep(Region& region) {
    std::vector<Node> kept;
    for (Node& node : region.nodes) {
      if (!needed(node)) continue;
      std::vector<bool> keep;
      if (auto* f = std::get_if<For>(&node.op)) {
        for (std::size_t k = 0; k < f->inits.size(); ++k) keep.push_back(carries(node, f->body, nullptr, k));
        keep_only(f->inits, keep);
        keep_only(f->body.arguments, keep, 1);
        keep_only(f->body.yields, keep);
        keep_only(node.results, keep);
      } else if (auto* w = std::get_if<While>(&node.op)) {
        for (std::size_t k = 0; k < w->inits.size(); ++k) keep.push_back(carries(node, w->body, &w->condition, k));
        keep_only(w->inits, keep);
        keep_only(w->condition.arguments, keep);
        keep_only(w->body.arguments, keep, 1);
        keep_only(w->body.yields, keep);
        keep_only(node.results, keep);
      } else if (auto* i = std::get_if<If>(&node.op)) {
        for (const ValueId v : node.results) keep.push_back(live(v));
        keep_only(i->then_region.yields, keep);
        keep_only(i->else_region.yields, keep);
        keep_only(node.results, keep);
      } else if (auto* c = std::get_if<Choose>(&node.op)) {
        for (const ValueId v : node.results) keep.push_back(live(v));
        for (Region& r : c->regions) keep_only(r.yields, keep);
        keep_only(node.results, keep);
      } else if (auto* f = std::get_if<Fused>(&node.op)) {
        for (const ValueId v : node.results) keep.push_back(live(v));
        keep_only(f->body.yields, keep);
        keep_only(node.results, keep);
        std::vector<std::vector<std::int32_t>> labels;
        for (std::size_t m = 0; m < f->body.nodes.size(); ++m) {
          if (live(f->body.nodes[m].results[0])) labels.push_back(f->labels[m]);
        }
        f->labels = std::move(labels);
      }
      for (Region* inner : regions_of(node)) sweep(*inner);
      kept.push_back(std::move(node));
    }
    region.nodes = std::move(kept);
  }

  Program program_;
  std::vector<bool> live_;
  int revived_ = 0;
};

}  // namespace

Program dead_code(const Program& program, PassContext& /*context*/) { return DeadCode(program).run(); }

}  // namespace tdsl::passes
