#include <algorithm>
#include <array>

#include "ir/algebra/check/infer.h"
#include "ir/algebra/rules/rules.h"

// R2-1 to R2-7: redistributions. A layout may change if no consumer relies on it, which only the consumers' types
// reveal (reachable.h rebuilds and checks them).

namespace tdsl::ir::algebra {

namespace {

using Results = std::vector<Expr>;

const Redistribute* moved(const Expr& e, Expr& operand) {
  const auto* op = as<Redistribute>(e);
  if (op != nullptr) operand = e->operands[0];
  return op;
}

/// A pure shuffle: every tuple goes to one site.
bool is_shuffle(const Layout& to) {
  const auto axes = static_cast<std::size_t>(to.axes());
  return std::ranges::none_of(all_dims(axes), [&to](int axis) { return to.is_copied(axis); });
}

/// Without the redistribution on top, if there is one.
Expr bare(const Expr& e) { return as<Redistribute>(e) != nullptr ? e->operands[0] : e; }

void only_the_last(Pool& pool, const Expr& e, Results& results) {
  Expr inner;
  Expr r;
  const Redistribute* last = moved(e, inner);
  if (last != nullptr && moved(inner, r) != nullptr) results.push_back(pool.redistribute(r, last->to));
}

void already_there(Pool&, const Expr& e, Results& results) {
  Expr r;
  const Redistribute* there = moved(e, r);
  if (there != nullptr && *r->type.layout == there->to) results.push_back(r);
}

void swap_with_filter(Pool& pool, const Expr& e, Results& results) {
  Expr inner;
  if (const Redistribute* at = moved(e, inner)) {
    if (const auto* filter = as<Filter>(inner))
      results.push_back(pool.filter(pool.redistribute(inner->operands[0], at->to), filter->where));
  }
  if (const auto* filter = as<Filter>(e)) {
    Expr r;
    if (const Redistribute* at = moved(e->operands[0], r))
      results.push_back(pool.redistribute(pool.filter(r, filter->where), at->to));
  }
}

void swap_with_map(Pool& pool, const Expr& e, Results& results) {
  const auto may = [](const Expr& map, const Layout& to) {
    const auto* one = as<Map>(map);
    const bool keys_stay = one != nullptr && one->keys.is_identity(map->operands[0]->type.keys.arity());
    return keys_stay || (to.is_all() && (one != nullptr || as<FlatMap>(map) != nullptr));
  };
  Expr inner;
  if (const Redistribute* at = moved(e, inner); at != nullptr && may(inner, at->to))
    results.push_back(pool.make(inner->op, {pool.redistribute(inner->operands[0], at->to)}));
  if (as<Map>(e) == nullptr && as<FlatMap>(e) == nullptr) return;
  Expr r;
  if (const Redistribute* at = moved(e->operands[0], r); at != nullptr && may(e, at->to))
    results.push_back(pool.redistribute(pool.make(e->op, {r}), at->to));
}

/// True if every group of `keep` is on one site (or, with copies, complete at each).
bool groups_are_together(const RelationType& type, const Dims& keep) {
  return !type.pieces && type.layout->loose_axes().empty() && subset(type.layout->cut_dims(), keep);
}

void no_shuffle_before_aggregation(Pool& pool, const Expr& e, Results& results) {
  const auto* sum = as<Aggregate>(e);
  Expr r;
  const Redistribute* at = sum != nullptr ? moved(e->operands[0], r) : nullptr;
  if (at != nullptr && subset(at->to.cut_dims(), sum->keep) && groups_are_together(r->type, sum->keep))
    results.push_back(pool.make(*sum, {r}));
}

void aggregate_in_two_phases(Pool& pool, const Expr& e, Results& results) {
  const auto* sum = as<Aggregate>(e);
  Expr r;
  const Redistribute* at = sum != nullptr ? moved(e->operands[0], r) : nullptr;
  if (at == nullptr || !is_shuffle(at->to) || !subset(at->to.cut_dims(), sum->keep)) return;
  if (r->type.pieces || !is_shuffle(*r->type.layout) || groups_are_together(r->type, sum->keep)) return;
  std::vector<std::optional<int>> positions;
  for (const int dim : all_dims(r->type.keys.arity())) positions.push_back(position_of(sum->keep, dim));
  const Expr pieces = pool.aggregate(r, sum->keep, sum->by);
  const Expr together = pool.redistribute(pieces, at->to.renamed(positions));
  results.push_back(pool.aggregate(together, all_dims(sum->keep.size()), sum->by, sum->then));
}

void join_in_other_ways(Pool& pool, const Expr& e, Results& results) {
  const auto* join = as<Join>(e);
  if (join == nullptr || !e->type.layout) return;
  const Expr left = bare(e->operands[0]);
  const Expr right = bare(e->operands[1]);
  results.push_back(pool.make(*join, {pool.bcast(left), right}));
  results.push_back(pool.make(*join, {left, pool.bcast(right)}));
  // By all joined dimensions, as printed, or by a subset.
  const std::size_t subsets = std::size_t{1} << std::min<std::size_t>(join->left.size(), 8);
  for (std::size_t chosen = 1; chosen < subsets; ++chosen) {
    Dims left_dims;
    Dims right_dims;
    for (std::size_t k = 0; k < join->left.size(); ++k) {
      if (((chosen >> k) & 1U) == 0) continue;
      left_dims.push_back(join->left[k]);
      right_dims.push_back(join->right[k]);
    }
    results.push_back(pool.make(*join, {pool.shuf(left, left_dims), pool.shuf(right, right_dims)}));
  }
}

void no_shuffle_after_join(Pool&, const Expr& e, Results& results) {
  Expr inner;
  const Redistribute* at = moved(e, inner);
  const auto* join = at != nullptr ? as<Join>(inner) : nullptr;
  if (join == nullptr || !is_shuffle(at->to) || !join->keys.is_identity(e->type.keys.arity())) return;
  const auto shuffled = [](const Expr& operand) {
    const auto* to = as<Redistribute>(operand);
    return to != nullptr && is_shuffle(to->to);
  };
  if (!shuffled(inner->operands[0]) || !shuffled(inner->operands[1])) return;
  const Layout& by = *inner->type.layout;
  if (by.loose_axes().empty() && subset(by.cut_dims(), join->left) && subset(by.cut_dims(), at->to.cut_dims()))
    results.push_back(inner);
}

constexpr std::array kSiteRules = {
    Rule{"R2-1", "(R at D) at P", "R at P", "", only_the_last},
    Rule{"R2-1 in place", "R at P", "R", "R is at P", already_there},
    Rule{"R2-2", "filter(R, p) at P", "filter(R at P, p), and back", "", swap_with_filter},
    Rule{"R2-3", "map(R, f) at P", "map(R at P, f), and back", "f leaves keys as they are, or P is everywhere",
         swap_with_map},
    Rule{"R2-4", "aggregate(R at P, keep)", "aggregate(R, keep)", "R is at D; D and P cut by dimensions of keep",
         no_shuffle_before_aggregation},
    Rule{"R2-5", "aggregate(R at P, keep)", "aggregate(aggregate(R, keep) at P, all); P by positions in keep",
         "R holds each key once; P cuts by dimensions of keep", aggregate_in_two_phases},
    Rule{"R2-6", "join(L [at D], R [at P])", "join(L at all, R) or join(L, R at all) or join(L at J, R at J)",
         "J: some of the joined dimensions", join_in_other_ways},
    Rule{"R2-7", "join(L at D, R at D) at P", "join(L at D, R at D)", "D, joined dimensions, within P's",
         no_shuffle_after_join},
};

}  // namespace

std::span<const Rule> detail::site_rules() { return kSiteRules; }

}  // namespace tdsl::ir::algebra
