// Fuses operators over the stored elements of one compressed matrix into a loop nest that walks its rows once:
//
//     %5 = compute [i in 0..%0] sum[j in 0..%1] (absent_mul(%2[i, j], %3[j])) stored [i over %2[i, j], j over %2[i, j]]
//     %6 = compute [j in 0..%1] sum[i in 0..%0] (absent_mul(%2[i, j], %5[i])) stored [i over %2[i, j], j over %2[i, j]]
// becomes
//     %6 = fused [i in 0..%0] at ([0], [1]) () {
//       %5 = compute [i in 0..%0] sum[j in 0..%1] (…) stored […]
//       %7 = compute [j in 0..%1] sum[i in 0..%0] (…) stored […]
//       yield %7
//     }
//
// Members are operators that may iterate over the stored elements of the matrix alone, and dense operators over the
// same rows between them. Another compressed matrix is read along with it. A member's value is
//   - an element per stored element, which is compressed and never stored: the product sampled in `sum(X * log(U @
//   V'))`;
//   - aligned with the rows: `X @ v`, or the rows of `(W * (U @ V')) @ V`;
//   - a result that combines the rows: an aggregate, or `X' @ u`.
// A nest has one aligned result, or any number of combined ones, which are packed. All other values are read by members
// only, each at its row. A nest pays off if at least two members visit stored elements.
//
// Precondition: legal form, with the iteration of every Compute. Postcondition: the same.

#include "passes/passes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "ir/analysis/iteration_rules.h"
#include "ir/graph/affine.h"
#include "ir/graph/clone.h"
#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"
#include "passes/fusion/row_nests.h"
#include "passes/region_rewriter.h"

namespace tdsl::passes {

using namespace ir;
using namespace fusion_plans;

namespace {

/// Maximum number of compressed matrices that are read together.
constexpr std::size_t kMostMatrices = 4;

/// A way in which a node can be a member of a nest.
struct Role {
  SharedLabels shared;           ///< the label of the rows
  std::vector<ValueId> drivers;  ///< matrices over whose elements alone it may iterate; none: it visits all rows
  bool closes = false;           ///< a combined result
  bool element = false;          ///< one value per stored element
};
/// A nest: its members by position in the region.
using Nest = std::map<std::size_t, Role>;

class StoredNests : public RegionRewriter {
 public:
  using RegionRewriter::RegionRewriter;

 private:
  void rewrite_region(Region& region) override {
    rewrite_inside(region);
    look_up(region);
    for (std::size_t k = region.nodes.size(); k-- > 0;) {
      const std::optional<Nest> nest = best_nest(region, k);
      if (!nest) continue;
      build(region, *nest, k);
      look_up(region);
      k = region.nodes.size();
    }
  }

  /// Caches per-node lookups.
  void look_up(const Region& region) {
    mentioned_.clear();
    roles_.clear();
    const bool any = std::ranges::any_of(region.nodes, [](const Node& n) { return iterates(n); });
    for (const Node& node : region.nodes) {
      mentioned_.push_back(any ? mentioned(program_, node) : std::set<ValueId>{});
      roles_.push_back(any ? roles_of(node) : std::vector<Role>{});
    }
  }
  static bool iterates(const Node& node) {
    const auto* c = std::get_if<Compute>(&node.op);
    return c != nullptr && stored_loops(*c) != nullptr;
  }
  static const Compute& compute_at(const Region& region, std::size_t k) {
    return std::get<Compute>(region.nodes[k].op);
  }

  // --- Roles of a node

  [[nodiscard]] std::vector<Role> roles_of(const Node& node) const {
    if (iterates(node)) {
      std::optional<Role> role = stored_role(node, std::get<Compute>(node.op));
      return role ? std::vector<Role>{*std::move(role)} : std::vector<Role>{};
    }
    const Compute* c = nest_operator(program_, node);
    if (c == nullptr || c->iteration) return {};
    std::vector<Role> roles;
    for (SharedLabels& shared : row_candidates(*c)) {
      if (shared.size() != 1 || !fits_rows(program_, *c, shared, false)) continue;
      const bool closes = aligned_labels(*c, shared) == 0;
      if (!closes || combines_freely(*c->monoid)) roles.push_back({std::move(shared), {}, closes, false});
    }
    return roles;
  }

  /// The role of an operator that iterates over the elements of matrices with the same subscripts.
  [[nodiscard]] std::optional<Role> stored_role(const Node& node, const Compute& c) const {
    const SparseIteration& it = *c.iteration;
    const std::vector<std::int32_t>& labels = it.driver().labels;
    const bool matrices = labels.size() == 2 && it.loops.size() == 2 && it.masks.empty() &&
                          std::ranges::all_of(it.operands, [&](const StoredOperand& o) {
                            return o.labels == labels && covers(c, labels, program_.type(o.tensor).shape);
                          });
    if (!matrices || !is_plain(node, c)) return std::nullopt;
    const auto is_out = [&](std::int32_t l) { return static_cast<std::size_t>(l) < c.out.size(); };
    Role role{{labels[0]}, {}, !is_out(labels[0]), it.result == SparseIteration::Result::kOrdered};
    const bool placed = role.element  ? labels == std::vector<std::int32_t>{0, 1} && c.out.size() == 2
                        : role.closes ? it.result == SparseIteration::Result::kDense
                                      : it.result == SparseIteration::Result::kDense && labels[0] == 0 && c.monoid &&
                                            !is_out(labels[1]);
    if (!placed || !reads_plainly(c, labels)) return std::nullopt;
    const IterationRules rules(program_, c);
    for (const StoredOperand& o : it.operands) {
      if (rules.are_needed({o})) role.drivers.push_back(o.tensor);
    }
    return role.drivers.empty() ? std::nullopt : std::optional(std::move(role));
  }
  /// True if the labels run over whole dimensions: members share their loops.
  static bool covers(const Compute& c, const std::vector<std::int32_t>& labels, const std::vector<Extent>& shape) {
    return std::ranges::equal(labels, shape, [&](std::int32_t l, const Extent& size) {
      return label_of(c, l).begin == Extent(0) && label_of(c, l).end == size;
    });
  }
  [[nodiscard]] bool is_plain(const Node& node, const Compute& c) const {
    const bool stores = c.bodies.size() != 1 || !c.left.empty() || c.base || c.combine || c.fill ||
                        !program_.info(node.results[0]).tile.empty();
    return !stores && (!c.monoid || combines_freely(*c.monoid)) && !applies(c.bodies[0]) &&
           (!c.guard || !applies(c.guard)) && !can_fail(program_, c);
  }
  /// True if dense operands are read at index variables and constants, and the guard depends on the element only.
  [[nodiscard]] bool reads_plainly(const Compute& c, const std::vector<std::int32_t>& labels) const {
    bool good = !c.guard || std::ranges::all_of(labels_in(c.guard), [&](std::int32_t l) {
      return std::ranges::find(labels, l) != labels.end();
    });
    for_each_read(c, [&](const Read& r) {
      if (program_.type(r.tensor).is_compressed()) return;
      std::set<std::int32_t> used;
      for (const Expr& s : r.subscripts) {
        const std::int32_t label = bare_label(s);
        good = good && (label >= 0 ? used.insert(label).second : extent_of(s).has_value());
      }
    });
    return good;
  }

  // --- Selection of the members

  [[nodiscard]] std::optional<Nest> best_nest(const Region& region, std::size_t seed) const {
    for (const Role& role : roles_[seed]) {
      if (role.element || role.drivers.empty()) continue;
      Nest nest = grown(region, seed, role);
      const auto walks = std::ranges::count_if(nest, [](const auto& m) { return !m.second.drivers.empty(); });
      if (walks > 1) return nest;
    }
    return std::nullopt;
  }

  [[nodiscard]] Nest grown(const Region& region, std::size_t seed, const Role& role) const {
    Nest nest{{seed, role}};
    for (std::size_t before = 0; before != nest.size();) {
      before = nest.size();
      for (std::size_t k = region.nodes.size(); k-- > 0;) {
        for (const Role& other : roles_[k]) {
          if (nest.contains(k) || (other.drivers.empty() && (other.closes || !is_read(region, nest, k)))) continue;
          Nest larger = nest;
          if (joins(region, larger, seed, k, other) && is_valid(region, larger, seed)) nest = std::move(larger);
        }
      }
    }
    return nest;
  }
  [[nodiscard]] bool is_read(const Region& region, const Nest& nest, std::size_t k) const {
    return std::ranges::any_of(nest,
                               [&](const auto& m) { return mentioned_[m.first].contains(region.nodes[k].results[0]); });
  }

  /// Adds the node and, if its value is not a result, all readers of it.
  bool joins(const Region& region, Nest& nest, std::size_t seed, std::size_t k, const Role& role) const {
    if (role.closes && !nest.at(seed).closes) return false;
    if (!(label_of(compute_at(region, k), role.shared[0]).end ==
          label_of(compute_at(region, seed), nest.at(seed).shared[0]).end))
      return false;
    nest.emplace(k, role);
    if (role.closes) return true;
    const ValueId v = region.nodes[k].results[0];
    if (std::ranges::count(region.yields, v) > 0) return false;
    bool read = false;
    for (std::size_t reader = 0; reader < region.nodes.size(); ++reader) {
      if (reader == k || !mentioned_[reader].contains(v)) continue;
      read = true;
      const auto as = [&](const Role& r) { return reads_at_row(compute_at(region, reader), r, v, role.element); };
      if (const auto known = nest.find(reader); known != nest.end()) {
        if (!as(known->second)) return false;
        continue;
      }
      const auto found = std::ranges::find_if(roles_[reader], as);
      if (found == roles_[reader].end() || !joins(region, nest, seed, reader, *found)) return false;
    }
    return read;
  }
  static bool reads_at_row(const Compute& c, const Role& role, ValueId v, bool element) {
    bool good = !element || !role.drivers.empty();
    for_each_read(c, [&](const Read& r) { good = good && (r.tensor != v || is_by_rows(r, role.shared)); });
    return good;
  }

  [[nodiscard]] bool is_valid(const Region& region, const Nest& nest, std::size_t seed) const {
    return driver_of(region, nest) && matrices_in(region, nest) <= kMostMatrices && computes_once(region, nest) &&
           nodes_behind(program_, region, mentioned_, results_of(region, nest, seed)).has_value() &&
           std::ranges::all_of(nest, [&](const auto& m) {
             return !m.second.closes || type_at(region, m.first) == type_at(region, seed);
           });
  }
  [[nodiscard]] Scalar type_at(const Region& region, std::size_t k) const {
    return program_.type(region.nodes[k].results[0]).scalar;
  }
  static std::map<std::size_t, std::optional<ValueId>> results_of(const Region& region, const Nest& nest,
                                                                  std::size_t seed) {
    std::map<std::size_t, std::optional<ValueId>> results;
    for (const auto& [k, role] : nest)
      results[k] = role.closes || k == seed ? std::optional(region.nodes[k].results[0]) : std::nullopt;
    return results;
  }
  static std::set<ValueId> elements_in(const Region& region, const Nest& nest) {
    std::set<ValueId> elements;
    for (const auto& [k, role] : nest) {
      if (role.element) elements.insert(region.nodes[k].results[0]);
    }
    return elements;
  }
  /// The matrix whose elements are visited: every member may iterate over it alone, or over elements that the nest
  /// computes at its elements.
  static std::optional<ValueId> driver_of(const Region& region, const Nest& nest) {
    const std::set<ValueId> inside = elements_in(region, nest);
    std::set<ValueId> candidates;
    for (const auto& [k, role] : nest) candidates.insert(role.drivers.begin(), role.drivers.end());
    for (const ValueId x : candidates) {
      const auto drives = [&](ValueId v) { return v == x || inside.contains(v); };
      const bool all = std::ranges::all_of(nest, [&](const auto& m) {
        return m.second.drivers.empty() || std::ranges::any_of(m.second.drivers, drives);
      });
      if (!inside.contains(x) && all) return x;
    }
    return std::nullopt;
  }
  static std::size_t matrices_in(const Region& region, const Nest& nest) {
    const std::set<ValueId> inside = elements_in(region, nest);
    std::set<ValueId> read;
    for (const auto& [k, role] : nest) {
      if (role.drivers.empty()) continue;
      for (const StoredOperand& o : compute_at(region, k).iteration->operands) {
        if (!inside.contains(o.tensor)) read.insert(o.tensor);
      }
    }
    return read.size();
  }

  /// The number of passes over a row before a member: one more than those of the values of rows that it reads.
  static std::map<std::size_t, int> levels_of(const Region& region, const Nest& nest) {
    std::map<std::size_t, int> levels;
    std::map<ValueId, int> ready;
    for (const auto& [k, role] : nest) {
      int level = 0;
      for_each_read(compute_at(region, k), [&](const Read& r) {
        if (const auto found = ready.find(r.tensor); found != ready.end()) level = std::max(level, found->second);
      });
      levels[k] = level;
      ready[region.nodes[k].results[0]] = role.element ? level : level + 1;
    }
    return levels;
  }
  /// True if no reduction per element is computed again in several passes.
  [[nodiscard]] static bool computes_once(const Region& region, const Nest& nest) {
    const std::map<std::size_t, int> levels = levels_of(region, nest);
    std::map<ValueId, std::set<int>> passes;
    for (auto member = nest.rbegin(); member != nest.rend(); ++member) {
      const auto& [k, role] = *member;
      const ValueId v = region.nodes[k].results[0];
      const std::set<int> here = role.element ? passes[v] : std::set{levels.at(k)};
      if (role.element && compute_at(region, k).monoid && here.size() > 1) return false;
      for_each_read(compute_at(region, k), [&](const Read& r) { passes[r.tensor].insert(here.begin(), here.end()); });
    }
    return true;
  }

  // --- The nest

  void build(Region& region, const Nest& nest, std::size_t seed) {
    const ValueId driver = *driver_of(region, nest);
    const std::set<ValueId> inside = elements_in(region, nest);
    const std::map<std::size_t, int> levels = levels_of(region, nest);
    const auto results = results_of(region, nest, seed);
    const std::set<std::size_t> behind = *nodes_behind(program_, region, mentioned_, results);
    std::vector<std::size_t> order;
    for (const auto& [k, role] : nest) order.push_back(k);
    // Passes over the elements of a row follow each other.
    std::ranges::stable_sort(order, {},
                             [&](std::size_t k) { return std::pair(levels.at(k), nest.at(k).drivers.empty()); });
    Fused op;
    Node made;
    const Compute& last = compute_at(region, seed);
    op.shared.push_back(label_of(last, nest.at(seed).shared[0]));
    made.range = region.nodes[seed].range;
    std::map<ValueId, ValueId> inner;
    for (const std::size_t k : order) {
      const Role& role = nest.at(k);
      Node member = region.nodes[k];
      if (!role.drivers.empty()) walk(std::get<Compute>(member.op), role, driver, inside);
      if (results.at(k)) {
        const ValueInfo info = program_.info(member.results[0]);
        made.results.push_back(member.results[0]);
        member.results = {program_.new_value(info.type, info.name, info.range)};
        op.body.yields.push_back(member.results[0]);
      }
      context_.applied(member.range, results.at(k) && made.results.size() > 1
                                         ? "computed with other results in one pass over the stored elements"
                                     : results.at(k)
                                         ? "computed in one pass over the stored elements"
                                         : "computed by rows of stored elements, in the loops of its readers");
      op.body.nodes.push_back(std::move(member));
      op.labels.push_back(role.shared);
    }
    made.op = std::move(op);
    put_nest(region, nest, behind, {std::move(made)});
  }

  /// Iterates over the driver, or elements that the nest computes, with all other operands along.
  static void walk(Compute& c, const Role& role, ValueId driver, const std::set<ValueId>& inside) {
    SparseIteration& it = *c.iteration;
    const auto begins = [&](const StoredOperand& o) { return o.tensor == driver; };
    const auto computed = [&](const StoredOperand& o) {
      return inside.contains(o.tensor) && std::ranges::find(role.drivers, o.tensor) != role.drivers.end();
    };
    const bool driven = std::ranges::find(role.drivers, driver) != role.drivers.end();
    const auto first = driven ? std::ranges::find_if(it.operands, begins) : std::ranges::find_if(it.operands, computed);
    std::rotate(it.operands.begin(), first, first + 1);
    std::vector<int> over(it.operands.size());
    for (std::size_t k = 0; k < over.size(); ++k) over[k] = static_cast<int>(k);
    for (StoredLoop& loop : it.loops) loop = {loop.label, over, over.size() > 1 ? Merge::kFirst : Merge::kUnion};
  }

  // by position of the node in the region
  std::vector<std::set<ValueId>> mentioned_;
  std::vector<std::vector<Role>> roles_;
};

}  // namespace

Program stored_nests(const Program& program, PassContext& context) { return StoredNests(program, context).run(); }

}  // namespace tdsl::passes
