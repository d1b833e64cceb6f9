#include "ir/algebra/rules/reachable.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ir/algebra/rules/paper_cost.h"
#include "ir/algebra/rules/rebuild.h"

namespace tdsl::ir::algebra {

namespace {

bool is_plan(const Expr& e, const Expr& original) {
  return e->sound && same_contents(e->type, original->type) && !e->type.pieces &&
         (e->type.holes_are_zero || !original->type.holes_are_zero);
}

struct IdsHash {
  [[nodiscard]] std::size_t operator()(const std::vector<int>& ids) const noexcept {
    std::size_t hash = ids.size();
    for (const int id : ids) hash = (hash ^ static_cast<std::size_t>(id)) * 0x100000001b3U;
    return hash;
  }
};

/// Makes nodes over other operands.
class Settler {
 public:
  explicit Settler(Pool& pool) : pool_(pool) {}

  [[nodiscard]] Pool& pool() { return pool_; }
  /// The node over other, already settled operands: applies R2-1 exhaustively. It never costs more, and without it
  /// shuffles could accumulate without bound.
  Expr settled(const Node& node, std::vector<Expr> operands) {
    const auto* at = std::get_if<Redistribute>(&node.op);
    if (at != nullptr && as<Redistribute>(operands[0]) != nullptr) operands[0] = operands[0]->operands[0];
    if (at != nullptr && *operands[0]->type.layout == at->to) return operands[0];
    return with_operands(node, std::move(operands));
  }

 private:
  Expr with_operands(const Node& node, std::vector<Expr> operands) {
    if (operands == node.operands) return Expr(&node);
    std::vector<int> ids{node.id};
    for (const Expr& e : operands) ids.push_back(e->id);
    const auto [place, first] = made_.try_emplace(std::move(ids));
    if (first) place->second = pool_.make(node.op, std::move(operands));
    return place->second;
  }

  Pool& pool_;
  /// by ids, which is faster than Pool's search by the text of an operator
  std::unordered_map<std::vector<int>, Expr, IdsHash> made_;
};

/// A plan in which nodes are replaced one at a time.
class Replaced {
 public:
  Replaced(Settler& settler, const Expr& plan) : settler_(settler), nodes_(nodes_of(std::span(&plan, 1))) {
    std::unordered_map<int, std::size_t> position;
    for (std::size_t k = 0; k < nodes_.size(); ++k) {
      position.emplace(nodes_[k]->id, k);
      operands_.emplace_back();
      for (const Expr& operand : nodes_[k]->operands) operands_.back().push_back(position.at(operand->id));
    }
  }

  [[nodiscard]] const std::vector<Expr>& nodes() const { return nodes_; }
  /// The plan with node number `at` replaced by `by`. Only its dependents are rebuilt.
  [[nodiscard]] Expr with(std::size_t at, const Expr& by) {
    std::vector<Expr> now = nodes_;
    now[at] = by;
    for (std::size_t k = at + 1; k < nodes_.size(); ++k) {
      const auto changed = [&](std::size_t operand) { return now[operand] != nodes_[operand]; };
      if (std::ranges::none_of(operands_[k], changed)) continue;
      std::vector<Expr> operands;
      for (const std::size_t operand : operands_[k]) operands.push_back(now[operand]);
      now[k] = settler_.settled(*nodes_[k], std::move(operands));
    }
    return now.back();
  }

 private:
  Settler& settler_;
  std::vector<Expr> nodes_;
  std::vector<std::vector<std::size_t>> operands_;
};

/// Results of rules on nodes, computed once for all plans that share them.
class Replacements {
 public:
  Replacements(Settler& settler, std::span<const Rule* const> rules) : settler_(settler), rules_(rules) {}

  struct Replacement {
    Expr by;
    std::string_view rule;
  };
  const std::vector<Replacement>& of(const Expr& node) {
    const auto [place, first] = known_.try_emplace(node->id);
    if (first) {
      for (const Rule* rule : rules_) {
        for (const Expr& by : applied(*rule, settler_.pool(), node)) {
          const auto settle = [this](const Node& n, std::vector<Expr> operands) {
            return settler_.settled(n, std::move(operands));
          };
          place->second.push_back({rebuild(by, settle), rule->name});
        }
      }
    }
    return place->second;
  }

 private:
  Settler& settler_;
  std::span<const Rule* const> rules_;
  std::unordered_map<int, std::vector<Replacement>> known_;
};

}  // namespace

Reachable reachable(Pool& pool, const Expr& e, std::size_t limit, std::span<const Rule* const> with) {
  Reachable found;
  Settler settler(pool);
  Replacements replacements(settler, with);
  found.plans.push_back({e, -1, "", {}, {}});
  std::unordered_set<int> seen{e->id};
  for (std::size_t next = 0; next < found.plans.size(); ++next) {
    const Expr plan = found.plans[next].plan;
    Replaced replaced(settler, plan);
    for (std::size_t at = 0; at < replaced.nodes().size(); ++at) {
      for (const auto& [replacement, rule] : replacements.of(replaced.nodes()[at])) {
        const Expr other = replaced.with(at, replacement);
        if (!is_plan(other, e) || !seen.insert(other->id).second) continue;
        if (found.plans.size() >= limit) {
          found.complete = false;
          return found;
        }
        found.plans.push_back({other, static_cast<int>(next), rule, replaced.nodes()[at], replacement});
      }
    }
  }
  return found;
}

Reachable reachable(Pool& pool, const Expr& e, std::size_t limit) {
  std::vector<const Rule*> all;
  std::ranges::transform(rules(), std::back_inserter(all), [](const Rule& rule) { return &rule; });
  return reachable(pool, e, limit, all);
}

Cheapest cheapest_of(const Reachable& found, Index sites) {
  Cheapest best;
  std::size_t at = 0;
  best.cost = paper_cost(found.plans[0].plan, sites);
  for (std::size_t k = 1; k < found.plans.size(); ++k) {
    const Index cost = paper_cost(found.plans[k].plan, sites);
    if (cost < best.cost) {
      best.cost = cost;
      at = k;
    }
  }
  best.plan = found.plans[at].plan;
  for (auto k = static_cast<int>(at); k > 0; k = found.plans[static_cast<std::size_t>(k)].from) {
    const Found& step = found.plans[static_cast<std::size_t>(k)];
    best.steps.push_back({step.rule, step.before, step.after, step.plan});
  }
  std::ranges::reverse(best.steps);
  best.plans = found.plans.size();
  best.complete = found.complete;
  return best;
}

Cheapest cheapest(Pool& pool, const Expr& e, Index sites, std::size_t limit) {
  return cheapest_of(reachable(pool, e, limit), sites);
}

Cheapest derive(Pool& pool, const Expr& e, Index sites, std::size_t limit) {
  Cheapest best = cheapest(pool, e, sites, limit);
  while (!best.complete && best.cost > 0) {
    Cheapest next = cheapest(pool, best.plan, sites, limit);
    best.plans += next.plans - 1;
    if (next.cost == best.cost) break;
    next.steps.insert(next.steps.begin(), best.steps.begin(), best.steps.end());
    next.plans = best.plans;
    next.complete = false;
    best = std::move(next);
  }
  return best;
}

}  // namespace tdsl::ir::algebra
