#include "passes/sparse/rearranged_reads.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"
#include "passes/loops/subscripts.h"
#include "passes/rewriting.h"
#include "passes/sparse/located_reads.h"
#include "passes/sparse/separated_reads.h"

namespace tdsl::passes {

using namespace ir;

namespace {

class Rewriter {
 public:
  Rewriter(const Program& program, const UserResults& results) : results_(results), marked_(program) {
    const std::vector<const Node*> nodes = definitions(program);
    for (std::size_t k = 0; k < program.values.size(); ++k) {
      const Node* n = nodes[k];
      const bool made = n == nullptr || std::holds_alternative<Input>(n->op) ||
                        std::holds_alternative<Compute>(n->op) || std::holds_alternative<Random>(n->op) ||
                        holds_operations(*n);
      ValueInfo& info = marked_.values[k];
      info.type.format.compress(made && info.tile.empty());
    }
  }

  RearrangedReads run() {
    Region body = std::move(marked_.body);
    region(body, true);
    marked_.body = std::move(body);
    for (ValueInfo& info : marked_.values) info.type.format.compress(false);
    return {std::move(marked_), std::move(moved_)};
  }

 private:
  struct Level {
    std::set<ValueId> defined;
    bool loop = false;  ///< invariants may be computed in front of it
    std::vector<Node> made;
    std::vector<std::pair<Compute, ValueId>> known;
  };

  void region(Region& r, bool loop) {
    levels_.push_back({{r.arguments.begin(), r.arguments.end()}, loop, {}, {}});
    std::vector<Node> nodes;
    for (Node& n : r.nodes) {
      if (auto* c = std::get_if<Compute>(&n.op)) {
        compute(n, *c);
      } else if (holds_operations(n)) {
        const bool inner_loop = std::holds_alternative<For>(n.op) || std::holds_alternative<While>(n.op);
        for (Region* inner : regions_in(n)) region(*inner, inner_loop);
      }
      for (Node& made : std::exchange(levels_.back().made, {})) nodes.push_back(std::move(made));
      levels_.back().defined.insert(n.results.begin(), n.results.end());
      nodes.push_back(std::move(n));
    }
    r.nodes = std::move(nodes);
    levels_.pop_back();
  }

  void compute(Node& n, Compute& c) {
    if (n.results.size() != 1 || results_.refused.contains(n.results[0])) return;
    locate(n, c, false);
    if (!move(n, c, n.results[0]) && c.monoid && locate(n, c, true)) move(n, c, n.results[0]);
  }

  /// Replaces reads of single elements by those of vectors and scalars; true if there are any.
  bool locate(Node& n, Compute& c, bool lines_reduced) {
    std::vector<std::pair<Expr, Expr>> replaced;
    for (LocatedRead& located : located_reads(marked_, c, lines_reduced)) {
      // A single row may be cheaper to read from a dense copy than by an operation per iteration.
      if (!located.of_all_rows && !leaves_loops(located.compute)) continue;
      Type type{located.read->type, {}, {}};
      for (const Label& l : located.compute.out) type.shape.push_back(l.end);
      const ValueId v = marked_.new_value(std::move(type), marked_.info(located.from).name, located.read->range);
      Node made{located.read->range, {v}, std::move(located.compute)};
      move(made, std::get<Compute>(made.op), n.results[0]);
      const ValueId known = place(v, std::move(std::get<Compute>(made.op)), made.range);
      moved_[known].from.insert(located.from);
      moved_[known].users.insert(n.results[0]);
      replaced.emplace_back(located.read, read(located.read->type, known, std::move(located.at), made.range));
    }
    if (replaced.empty()) return false;
    rewrite_expressions(c, [&](const Expr& e) {
      return !e ? e : rewrite(e, [&](const Expr& x) {
        const auto found = std::ranges::find_if(replaced, [&](const auto& r) { return equal(r.first, x); });
        return found == replaced.end() ? x : found->second;
      });
    });
    return true;
  }

  /// Moves reads at other subscripts to separate matrices; false if that changes nothing. `user`: the result of the
  /// Compute in the original program for which this one is computed.
  bool move(Node& n, Compute& c, ValueId user) {
    const Type result = marked_.type(n.results[0]);
    const bool sparse = result.has_sparse() && !results_.dense.contains(n.results[0]);
    std::optional<SeparatedReads> changed = separated_reads(marked_, c, result, sparse);
    if (!changed) return false;
    c = std::move(changed->compute);
    ValueMap names;
    for (auto& [v, copy, from] : changed->made) {
      rewrite_expressions(copy, [&](const Expr& e) { return e ? rename_values(e, names) : e; });
      const ValueId known = place(v, std::move(copy), n.range);
      if (!(known == v)) names.emplace(v, known);
      moved_[known].from.insert(from.begin(), from.end());
      moved_[known].users.insert(user);
    }
    if (!names.empty()) rename_operands(n, names);
    return true;
  }

  /// The region in front of the outermost loop in which the Compute is invariant.
  [[nodiscard]] std::size_t level_of(const Compute& c) const {
    std::size_t level = levels_.size() - 1;
    const auto* alone = std::get_if<Read>(&c.bodies[0]->op);
    const bool fails = alone != nullptr ? read_may_fail(marked_, *alone, passes::labels_of(c))
                                        : c.out.size() == 1 && can_fail(marked_, c);  // an index vector
    while (level > 0 && !fails && levels_[level].loop && !depends_on(levels_[level], c)) --level;
    return level;
  }
  /// True if no loop computes it repeatedly.
  [[nodiscard]] bool leaves_loops(const Compute& c) const {
    const std::size_t level = level_of(c);
    for (std::size_t outer = 1; outer <= level; ++outer) {
      if (levels_[outer].loop) return false;
    }
    return true;
  }

  /// Places the Compute in that region; returns an equal existing value if there is one.
  ValueId place(ValueId v, Compute copy, const SourceRange& range) {
    Level& at = levels_[level_of(copy)];
    const auto same_end = [](const Label& a, const Label& b) { return a.end == b.end; };
    for (const auto& [other, value] : at.known) {
      const bool guards = static_cast<bool>(other.guard) == static_cast<bool>(copy.guard) &&
                          (!copy.guard || equal(other.guard, copy.guard));
      if (guards && equal(other.bodies[0], copy.bodies[0]) && std::ranges::equal(other.out, copy.out, same_end) &&
          std::ranges::equal(other.reduce, copy.reduce, same_end))
        return value;
    }
    at.known.emplace_back(copy, v);
    at.defined.insert(v);
    at.made.push_back({range, {v}, std::move(copy)});
    return v;
  }
  static bool depends_on(const Level& level, const Compute& copy) {
    const std::set<ValueId> read = values_read(copy);
    const auto defined = [&](ValueId v) { return level.defined.contains(v); };
    const std::vector<Label> labels = all_labels(copy);
    return std::ranges::any_of(read, defined) || std::ranges::any_of(labels, [&](const Label& l) {
             const std::vector<ValueId> sizes = l.end.values();
             return std::ranges::any_of(sizes, defined);
           });
  }

  const UserResults& results_;
  Program marked_;
  std::vector<Level> levels_;
  std::map<ValueId, RearrangedReads::Moved> moved_;
};

}  // namespace

RearrangedReads rearranged_reads(const Program& program, const UserResults& results) {
  return Rewriter(program, results).run();
}

}  // namespace tdsl::passes
