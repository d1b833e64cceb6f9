#include "passes/fusion/row_nests.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "ir/analysis/vector_form.h"
#include "ir/graph/affine.h"
#include "ir/graph/clone.h"
#include "ir/graph/group.h"
#include "passes/rewriting.h"

namespace tdsl::passes::fusion_plans {

using namespace ir;

namespace {

/// True if there is no guard, or the guard assigns every row to one group.
bool groups_rows(const Compute& c, const SharedLabels& shared) {
  if (!c.guard) return true;
  const std::optional<Group> group = group_of(c);
  return group && aligned_labels(c, shared) == 0 && std::ranges::all_of(labels_in(group->number), [&](std::int32_t l) {
           return std::ranges::find(shared, l) != shared.end();
         });
}

bool multiplies_by_rows(const Compute& c, const SharedLabels& shared) {
  const auto* times = std::get_if<Binary>(&c.bodies[0]->op);
  if (c.monoid->kind != Monoid::Kind::kSum || times == nullptr || times->op != BinaryOp::kMul ||
      !is_real(c.bodies[0]->type))
    return false;
  if (shared.size() != 1 || c.out.size() != 2 || c.reduce.size() != 1) return false;
  const auto is_row = [&](const Expr& e, std::int32_t other) {
    const auto* r = std::get_if<Read>(&e->op);
    return r != nullptr && e->type == c.bodies[0]->type && r->subscripts.size() == 2 && is_by_rows(*r, shared) &&
           bare_label(r->subscripts[1]) == other;
  };
  return (is_row(times->left, 0) && is_row(times->right, 1)) || (is_row(times->left, 1) && is_row(times->right, 0));
}

/// True if the expression combines values of a row and values shared by all rows through operators that vectorise.
bool mixes(const Compute& c, const Expr& e, const SharedLabels& shared) {
  const std::set<std::int32_t> labels = labels_in(e);
  const bool of_row = labels.contains(shared.back());
  const bool of_column = std::ranges::any_of(labels, [&](std::int32_t l) {
    return static_cast<std::size_t>(l) >= shared.size() && static_cast<std::size_t>(l) < c.out.size();
  });
  if (!of_row || !of_column) return true;
  if (std::holds_alternative<Read>(e->op) || !has_vector_form(*e)) return false;
  return std::ranges::all_of(children(*e), [&](const Expr& part) { return mixes(c, part, shared); });
}

/// True for a generalised product that runs well on blocks of rows: of rows with an operand shared by all rows
/// (`sum[k](X[i, k] * V[k, j])`, `min[k](X[i, k] + V[k, j])`), or of rows with rows, summed over the rows (`sum[i](X[i,
/// j] * Y[i, k])`).
bool multiplies(const Compute& c, const SharedLabels& shared) {
  if (!c.monoid || locates(*c.monoid) || c.guard) return false;
  return aligned_labels(c, shared) == 0 ? multiplies_by_rows(c, shared)
                                        : c.out.size() > shared.size() && mixes(c, c.bodies[0], shared);
}

/// True if the node has effects or may stop the run: such nodes keep their order.
bool is_ordered(const Program& program, const Node& node) {
  if (is_effect(node)) return true;
  if (const auto* c = std::get_if<Compute>(&node.op)) return can_fail(program, *c);
  if (std::holds_alternative<Routine>(node.op) || std::holds_alternative<While>(node.op)) return true;
  return std::ranges::any_of(regions_in(node), [&](const Region* r) {
    return std::ranges::any_of(r->nodes, [&](const Node& inner) { return is_ordered(program, inner); });
  });
}

}  // namespace

std::int32_t label_count(const Compute& c) { return static_cast<std::int32_t>(c.out.size() + c.reduce.size()); }

std::size_t aligned_labels(const Compute& c, const SharedLabels& shared) {
  return static_cast<std::size_t>(
      std::ranges::count_if(shared, [&](std::int32_t l) { return static_cast<std::size_t>(l) < c.out.size(); }));
}

SharedLabels leading_labels(std::size_t count) {
  SharedLabels labels(count);
  std::iota(labels.begin(), labels.end(), 0);
  return labels;
}

bool is_by_rows(const Read& r, const SharedLabels& shared) {
  for (std::size_t f = 0; f < shared.size(); ++f) {
    if (f >= r.subscripts.size() || bare_label(r.subscripts[f]) != shared[f]) return false;
  }
  return true;
}

const Compute* nest_operator(const Program& program, const Node& node, bool groups) {
  const auto* c = std::get_if<Compute>(&node.op);
  const bool plain = c != nullptr && c->bodies.size() == 1 && c->left.empty() && !c->base && !c->combine && !c->fill &&
                     !c->in_any_order && !c->by_search;
  if (!plain || program.type(node.results[0]).has_sparse() || !program.info(node.results[0]).tile.empty())
    return nullptr;
  if (c->guard && (!groups || !group_of(*c) || applies(c->guard))) return nullptr;
  if ((c->monoid && c->monoid->kind == Monoid::Kind::kUser) || applies(c->bodies[0]) || can_fail(program, *c))
    return nullptr;
  const auto in_scalars = [](const ExprNode& n) { return !has_vectors(n.type); };
  if (any_node(c->bodies[0], in_scalars) || (c->guard && any_node(c->guard, in_scalars))) return nullptr;
  return c;
}

bool fits_rows(const Program& program, const Compute& c, const SharedLabels& shared, bool products) {
  const std::size_t aligned = aligned_labels(c, shared);
  if (aligned != 0 && (aligned != shared.size() || shared != leading_labels(shared.size()))) return false;
  if (std::ranges::any_of(shared, [&](std::int32_t l) { return !(label_of(c, l).begin == Extent(0)); })) return false;
  if (c.monoid && locates(*c.monoid) && (aligned == 0 || c.reduce.size() != 1)) return false;
  if (!groups_rows(c, shared)) return false;
  bool good = true;
  for_each_read(c, [&](const Read& r) {
    std::set<std::int32_t> labels;
    for (std::size_t d = 0; d < r.subscripts.size(); ++d) {
      const std::int32_t label = bare_label(r.subscripts[d]);
      const auto place = static_cast<std::size_t>(std::ranges::find(shared, label) - shared.begin());
      good = good && (label >= 0 ? labels.insert(label).second && (place == shared.size() || place == d)
                                 : extent_of(r.subscripts[d]).has_value());
    }
    good = good && !program.type(r.tensor).has_sparse();
  });
  return good && (streams_rows(c, shared) || (products && multiplies(c, shared)));
}

bool is_small_product(const Compute& c, const SharedLabels& shared) {
  constexpr std::int64_t kSmall = 1 << 15;
  Extent elements(1);
  for (std::int32_t l = 0; l < label_count(c); ++l) {
    if (std::ranges::find(shared, l) == shared.end()) elements = elements * (label_of(c, l).end - label_of(c, l).begin);
  }
  const std::optional<std::int64_t> count = elements.constant();
  return count && *count <= kSmall;
}

bool replaced_between(const std::set<ValueId>& read, const Region& region, std::size_t first, std::size_t last) {
  for (std::size_t k = first; k < last; ++k) {
    const Node& n = region.nodes[k];
    const auto* other = std::get_if<Compute>(&n.op);
    if (other != nullptr && other->base && read.contains(*other->base)) return true;
    if (const auto* f = std::get_if<For>(&n.op);
        f != nullptr && std::ranges::any_of(f->inits, [&](ValueId v) { return read.contains(v); }))
      return true;
    if (const auto* w = std::get_if<While>(&n.op);
        w != nullptr && std::ranges::any_of(w->inits, [&](ValueId v) { return read.contains(v); }))
      return true;
  }
  return false;
}

std::optional<std::set<std::size_t>> nodes_behind(const Program& program, const Region& region,
                                                  const std::vector<std::set<ValueId>>& mentioned,
                                                  const std::map<std::size_t, std::optional<ValueId>>& nest) {
  const std::size_t first = nest.begin()->first, last = nest.rbegin()->first;
  std::set<std::size_t> behind;
  std::set<ValueId> later, read;
  bool acts = false;  // a node behind the nest has effects
  for (std::size_t k = first; k <= last; ++k) {
    const Node& node = region.nodes[k];
    const auto member = nest.find(k);
    const bool needs = std::ranges::any_of(later, [&](ValueId v) { return mentioned[k].contains(v); }) ||
                       (acts && member == nest.end() && is_ordered(program, node));
    if (member != nest.end()) {
      if (needs) return std::nullopt;
      if (member->second) later.insert(*member->second);
    } else {
      if (!needs) continue;
      behind.insert(k);
      acts = acts || is_ordered(program, node);
      later.insert(node.results.begin(), node.results.end());
    }
    read.insert(mentioned[k].begin(), mentioned[k].end());
  }
  for (std::size_t k = first; k < last; ++k) {
    if (!nest.contains(k) && replaced_between(read, region, k, k + 1)) return std::nullopt;
  }
  return behind;
}

bool streams_rows(const Compute& c, const SharedLabels& shared) {
  const std::optional<Group> group = group_of(c);
  const std::int32_t count = label_count(c) - (group ? 1 : 0);
  bool covered = c.reduce.empty();
  for_each_read(c, [&](const Read& r) {
    std::set<std::int32_t> labels;
    for (const Expr& s : r.subscripts) labels.insert(bare_label(s));
    labels.erase(-1);
    if (group) labels.erase(group->label);
    covered = covered || (is_by_rows(r, shared) && static_cast<std::int32_t>(labels.size()) == count);
  });
  return covered;
}

std::vector<SharedLabels> row_candidates(const Compute& c) {
  std::vector<SharedLabels> lists;
  for (std::size_t count = 1; count <= c.out.size(); ++count) lists.push_back(leading_labels(count));
  for_each_read(c, [&](const Read& r) {
    SharedLabels shared;
    for (const Expr& subscript : r.subscripts) {
      const std::int32_t label = bare_label(subscript);
      if (label < static_cast<std::int32_t>(c.out.size())) break;
      shared.push_back(label);
      lists.push_back(shared);
    }
  });
  return lists;
}

}  // namespace tdsl::passes::fusion_plans
