// Decides whether element-wise values with several readers are stored or recomputed in the loops of each reader. All
// operators connected by such values form a partition (fusion/enumerate.h), which gets its cheapest assignment; all of
// them run over the same points, so that the choice is independent of sizes. Finding places costs
// nothing in loops that have an interior (codegen/nest/interior.h).
//
//     %2 = compute [i in 0..%0] (sub(%1[i], 1.0))
//     %3 = compute [] sum[i in 0..%0] (mul(%2[i], %2[i]))
//     %4 = compute [] max[i in 0..%0] (abs(%2[i]))
// becomes
//     %3 = compute [] sum[i in 0..%0] (mul(sub(%1[i], 1.0), sub(%1[i], 1.0)))
//     %4 = compute [] max[i in 0..%0] (abs(sub(%1[i], 1.0)))

#include "passes/passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "ir/graph/procedure.h"
#include "passes/fusion/enumerate.h"
#include "passes/fusion/inlining.h"
#include "passes/region_rewriter.h"
#include "runtime/plan/cost/machine.h"

namespace tdsl::passes {

using namespace ir;
using namespace fusion_plans;

namespace {

/// Cost of the operation in floating-point operations.
double work_of(const ExprNode& n) {
  constexpr double kFunction = 20, kDivision = 5;
  if (const auto* u = std::get_if<Unary>(&n.op)) {
    using enum UnaryOp;
    const bool simple = u->op == kNeg || u->op == kNot || u->op == kAbs || u->op == kRelu || u->op == kIsNan ||
                        u->op == kIsInf || u->op == kSign || (is_part(u->op) && u->op != kArg);
    return simple ? 1 : u->op == kSqrt || u->op == kFloor || u->op == kCeil || u->op == kRound ? kDivision : kFunction;
  }
  if (const auto* b = std::get_if<Binary>(&n.op)) {
    using enum BinaryOp;
    return b->op == kPow || b->op == kMod || b->op == kRem ? kFunction
           : b->op == kDiv || b->op == kAbsentDiv          ? kDivision
                                                           : 1;
  }
  if (const auto* a = std::get_if<Apply>(&n.op)) return operations_of(*a->procedure) * kDivision;
  return 0;
}

/// True for arithmetic and comparisons of index variables and of scalars. Such a condition is a constant in the
/// interior of a loop. In a subscript it is an address; there, places around the ends of a dimension are rare.
bool is_of_places(const Expr& e, bool in_subscript = false) {
  bool found = true;
  for_each_node(e, [&](const ExprNode& n) {
    const auto* b = std::get_if<Binary>(&n.op);
    const auto* u = std::get_if<Unary>(&n.op);
    const auto* r = std::get_if<Read>(&n.op);
    const bool cheap = b != nullptr && !is_float(b->left->type) &&
                       (work_of(n) == 1 || (in_subscript && (b->op == BinaryOp::kMod || b->op == BinaryOp::kRem)));
    found = found && (cheap || std::holds_alternative<IndexRef>(n.op) || std::holds_alternative<Constant>(n.op) ||
                      (u != nullptr && u->op == UnaryOp::kNot) || (r != nullptr && r->subscripts.empty()));
  });
  return found;
}

/// The operations of an element in the interior of a loop, without those that only find places.
double work_of(const Expr& e) {
  if (is_of_places(e)) return 0;
  if (const auto* s = std::get_if<Select>(&e->op))
    return work_of(s->condition) + std::max(work_of(s->when_true), work_of(s->when_false));
  const bool reads = std::holds_alternative<Read>(e->op);
  double work = work_of(*e);
  for (const Expr& child : children(*e)) work += reads && is_of_places(child, true) ? 0 : work_of(child);
  return work;
}

/// The operators of one region that shared values connect.
class Group {
 public:
  Group(const Program& program, const Region& region) : program_(program), region_(region) {}

  struct Edge {
    std::size_t target, consumer;
  };
  std::vector<Edge> edges;

  /// Operators in data-flow order, and the points in the order of `edges`.
  [[nodiscard]] Partition partition() {
    std::set<std::size_t> nodes, targets;
    for (const Edge& e : edges) {
      nodes.insert(e.target);
      nodes.insert(e.consumer);
      targets.insert(e.target);
    }
    int next = 0;
    for (const std::size_t node : nodes) numbers_[node] = next++;
    have_interiors_ = std::ranges::all_of(nodes, [this](std::size_t node) {
      const auto& c = std::get<Compute>(region_.nodes[node].op);
      if (!c.monoid) return true;
      const bool lines = c.monoid->kind == Monoid::Kind::kSum || c.monoid->kind == Monoid::Kind::kProd;
      return lines && is_float(c.bodies[0]->type);
    });
    Partition p;
    std::map<ValueId, int> sources;
    for (const std::size_t node : nodes) {
      p.operators.push_back(operator_of(node, targets, sources, p.source_reads));
      if (!targets.contains(node)) p.roots.push_back(numbers_.at(node));
    }
    for (const Edge& e : edges) p.points.push_back({numbers_.at(e.target), numbers_.at(e.consumer)});
    return p;
  }

 private:
  Operator operator_of(std::size_t node, const std::set<std::size_t>& targets, std::map<ValueId, int>& sources,
                       std::vector<double>& source_reads) {
    const plan::Machine machine;
    const auto& c = std::get<Compute>(region_.nodes[node].op);
    const ValueId v = region_.nodes[node].results[0];
    Operator op;
    const auto element = [&](ValueId tensor) {
      return static_cast<double>(size_of(program_.type(tensor).scalar)) / machine.stream_rate;
    };
    op.read = element(v);
    op.write = c.reduce.empty() ? 2 * op.read : 0;  // new memory is written twice
    const std::size_t points = c.out.size() + c.reduce.size();
    const auto scan = [&](const Expr& e) {
      if (!e) return;
      double work = have_interiors_ ? work_of(e) : 0;
      if (!have_interiors_) for_each_node(e, [&](const ExprNode& n) { work += work_of(n); });
      op.compute += plan::seconds_of_loop(work, machine);
      for_each_node(e, [&](const ExprNode& n) {
        const auto* r = std::get_if<Read>(&n.op);
        if (r == nullptr) return;
        const auto target =
            std::ranges::find_if(targets, [&](std::size_t t) { return region_.nodes[t].results[0] == r->tensor; });
        if (target != targets.end()) {
          if (std::ranges::find(op.operands, numbers_.at(*target)) == op.operands.end())
            op.operands.push_back(numbers_.at(*target));
          return;
        }
        const auto [found, added] = sources.emplace(r->tensor, static_cast<int>(source_reads.size()));
        if (added)
          source_reads.push_back(r->subscripts.size() >= points ? element(r->tensor)
                                                                : 0);  // tensors of lower rank are negligible
        if (std::ranges::find(op.sources, found->second) == op.sources.end()) op.sources.push_back(found->second);
      });
    };
    scan(c.bodies[0]);
    scan(c.guard);
    return op;
  }

  const Program& program_;
  const Region& region_;
  std::map<std::size_t, int> numbers_;
  bool have_interiors_ = false;  ///< the loops of all operators: maps, and float sums along lines
};

class SharedMaps : public RegionRewriter {
 public:
  using RegionRewriter::RegionRewriter;

 private:
  using Edges = std::vector<Group::Edge>;

  void rewrite_region(Region& region) override {
    rewrite_inside(region);
    std::set<std::size_t> removed;
    for (const Edges& edges : groups(region)) decide(region, edges, removed);
    std::size_t k = 0;
    std::erase_if(region.nodes, [&](const Node&) { return removed.contains(k++); });
  }

  [[nodiscard]] static const Compute* plain_compute(const Node& node) {
    const auto* c = std::get_if<Compute>(&node.op);
    return c != nullptr && c->bodies.size() == 1 && !c->in_any_order && !c->by_search ? c : nullptr;
  }

  /// The readers of the node's value if it is element-wise and all of them could compute it: each reads every element
  /// once.
  [[nodiscard]] std::vector<std::size_t> consumers_of(const Region& region, std::size_t target) const {
    const Node& node = region.nodes[target];
    const Compute* producer = plain_compute(node);
    if (producer == nullptr || producer->out.empty() || constant_fill(*producer) || !element_of(*producer) ||
        can_fail(program_, *producer))
      return {};
    const ValueId v = node.results[0];
    const int uses = use_counts_[static_cast<std::size_t>(v.id)];
    if (uses < 2 || program_.type(v).has_sparse() || !program_.info(v).tile.empty()) return {};
    const std::set<ValueId> read = values_read(*producer);
    std::vector<std::size_t> consumers;
    for (std::size_t k = target + 1; k < region.nodes.size() && static_cast<int>(consumers.size()) < uses; ++k) {
      const Compute* c = plain_compute(region.nodes[k]);
      const auto subscripts = c == nullptr ? std::nullopt : only_subscripts(*c, v);
      if (subscripts) {
        const bool fits =
            is_bijection(*subscripts, *c, *producer) && !needs_whole(program_, region.nodes[k], *c, v) &&
            node_count(producer->bodies[0]) + node_count(c->bodies[0]) <= context_.options().expression_limit;
        if (!fits) return {};
        consumers.push_back(k);
      }
      if (static_cast<int>(consumers.size()) < uses && replaces_what_is_read(program_, region.nodes[k], read))
        return {};
    }
    return static_cast<int>(consumers.size()) == uses ? consumers : std::vector<std::size_t>{};
  }

  /// Edges from shared values to their readers, grouped so that no operator is in two groups.
  [[nodiscard]] std::vector<Edges> groups(const Region& region) const {
    std::vector<Edges> all;
    for (std::size_t target = 0; target < region.nodes.size(); ++target) {
      Edges edges;
      for (const std::size_t consumer : consumers_of(region, target)) edges.push_back({target, consumer});
      if (edges.empty()) continue;
      const auto meets = [&](const Edges& other) {
        return std::ranges::any_of(other, [&](const Group::Edge& a) {
          return std::ranges::any_of(edges, [&](const Group::Edge& b) {
            return a.target == b.target || a.consumer == b.consumer || a.consumer == b.target || a.target == b.consumer;
          });
        });
      };
      Edges joined;
      std::erase_if(all, [&](const Edges& other) {
        if (!meets(other)) return false;
        joined.insert(joined.end(), other.begin(), other.end());
        return true;
      });
      joined.insert(joined.end(), edges.begin(), edges.end());
      all.push_back(std::move(joined));
    }
    return all;
  }

  void decide(Region& region, const Edges& edges, std::set<std::size_t>& removed) {
    constexpr std::size_t kMostPoints = 24;
    if (edges.size() > kMostPoints) return;
    Group group(program_, region);
    group.edges = edges;
    const Partition partition = group.partition();
    const Best best =
        context_.options().fusion == FusionPolicy::kAll ? Best{0, cost_of(partition, 0), 1} : enumerate(partition);
    const double stored = cost_of(partition, (Assignment{1} << edges.size()) - 1);
    std::map<std::size_t, bool> kept;  // by target: true if a consumer reads it
    for (std::size_t k = 0; k < edges.size(); ++k) kept[edges[k].target] |= (best.assignment >> k & 1) != 0;
    for (const auto& [target, stays] : kept) {
      const Node& node = region.nodes[target];
      const auto producer = std::get<Compute>(node.op);
      for (std::size_t k = 0; k < edges.size(); ++k) {
        if (edges[k].target != target || (best.assignment >> k & 1) != 0) continue;
        auto& consumer = std::get<Compute>(region.nodes[edges[k].consumer].op);
        inline_reads(consumer, node.results[0],
                     substitute_labels(element_of(producer), *only_subscripts(consumer, node.results[0])));
      }
      if (stays) {
        context_.refused(node.range, fmt::format("stored for several readers: the cheapest of {} plans", best.costed));
        continue;
      }
      removed.insert(target);
      context_.applied(
          node.range,
          fmt::format("computed again by each of its readers: {:.1f} instead of {:.1f} ns a point ({} plans costed)",
                      1e9 * best.cost, 1e9 * stored, best.costed));
    }
  }

  std::vector<int> use_counts_ = use_counts(program_);
};

}  // namespace

Program shared_maps(const Program& program, PassContext& context) { return SharedMaps(program, context).run(); }

}  // namespace tdsl::passes
