#include <array>

#include "ir/algebra/rules/rules.h"

// R1-1 to R1-7: positions of conditions on keys and of kernels. No tuple moves.

namespace tdsl::ir::algebra {

namespace {

using Results = std::vector<Expr>;

/// The operand, if `e` is an operator T on it.
template <class T>
const T* over(const Expr& e, Expr& operand) {
  const T* op = as<T>(e);
  if (op != nullptr) operand = e->operands[0];
  return op;
}

/// A map that leaves keys unchanged.
const Map* map_of_blocks(const Expr& e, Expr& operand) {
  const Map* map = over<Map>(e, operand);
  return map != nullptr && map->keys.is_identity(operand->type.keys.arity()) ? map : nullptr;
}

/// `outer` after `inner`.
KeyFunction compose(const KeyFunction& outer, const KeyFunction& inner) {
  KeyFunction result;
  for (const Extent& e : outer.values) {
    result.values.push_back(e.substitute(
        [&inner](ValueId dim) { return std::optional<Extent>(inner.values[static_cast<std::size_t>(dim.id)]); }));
  }
  return result;
}

Kernels both(Kernels first, const Kernels& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

void merge_filters(Pool& pool, const Expr& e, Results& results) {
  Expr inner;
  Expr r;
  const Filter* p = over<Filter>(e, inner);
  const Filter* q = p != nullptr ? over<Filter>(inner, r) : nullptr;
  if (q != nullptr) results.push_back(pool.filter(r, p->where && q->where));
}

void merge_maps(Pool& pool, const Expr& e, Results& results) {
  Expr inner;
  Expr r;
  const Map* second = over<Map>(e, inner);
  const Map* first = second != nullptr ? over<Map>(inner, r) : nullptr;
  if (first != nullptr)
    results.push_back(pool.make(Map{compose(second->keys, first->keys), both(first->by, second->by)}, {r}));
}

void swap_map_and_filter(Pool& pool, const Expr& e, Results& results) {
  Expr inner;
  Expr r;
  if (const Map* map = map_of_blocks(e, inner)) {
    if (const Filter* filter = over<Filter>(inner, r))
      results.push_back(pool.filter(pool.map(r, map->by), filter->where));
  }
  if (const Filter* filter = over<Filter>(e, inner)) {
    if (const Map* map = map_of_blocks(inner, r)) results.push_back(pool.map(pool.filter(r, filter->where), map->by));
  }
}

void map_after_aggregation(Pool& pool, const Expr& e, Results& results) {
  Expr inner;
  Expr r;
  const Map* map = map_of_blocks(e, inner);
  const Aggregate* sum = map != nullptr ? over<Aggregate>(inner, r) : nullptr;
  if (sum != nullptr) results.push_back(pool.aggregate(r, sum->keep, sum->by, both(sum->then, map->by)));
}

void map_before_aggregation(Pool& pool, const Expr& e, Results& results) {
  Expr inner;
  Expr r;
  const Map* map = map_of_blocks(e, inner);
  const Aggregate* sum = map != nullptr ? over<Aggregate>(inner, r) : nullptr;
  if (sum != nullptr && sum->then.empty() && distributes(map->by, sum->by))
    results.push_back(pool.aggregate(pool.map(r, map->by), sum->keep, sum->by));
}

void filter_before_aggregation(Pool& pool, const Expr& e, Results& results) {
  Expr inner;
  Expr r;
  const Filter* filter = over<Filter>(e, inner);
  const Aggregate* sum = filter != nullptr ? over<Aggregate>(inner, r) : nullptr;
  if (sum == nullptr) return;
  const Predicate of_groups = filter->where.before(KeyFunction::select(sum->keep));
  results.push_back(pool.aggregate(pool.filter(r, of_groups), sum->keep, sum->by, sum->then));
}

void filter_before_join(Pool& pool, const Expr& e, Results& results) {
  Expr inner;
  const Filter* filter = over<Filter>(e, inner);
  const Join* join = filter != nullptr ? as<Join>(inner) : nullptr;
  if (join == nullptr || !join->keys.is_identity(e->type.keys.arity()) || !subset(filter->where.dims(), join->left))
    return;
  const Expr left = inner->operands[0];
  const Expr right = inner->operands[1];
  KeyFunction right_names = KeyFunction::identity(e->type.keys.arity());
  for (std::size_t k = 0; k < join->left.size(); ++k)
    right_names.values[static_cast<std::size_t>(join->left[k])] = key_value(join->right[k]);
  results.push_back(pool.make(*join, {pool.filter(left, filter->where),  //
                                      pool.filter(right, filter->where.before(right_names))}));
}

void map_after_join(Pool& pool, const Expr& e, Results& results) {
  Expr inner;
  const Map* map = over<Map>(e, inner);
  const Join* join = map != nullptr ? as<Join>(inner) : nullptr;
  if (join == nullptr) return;
  Join with_map = *join;
  with_map.keys = compose(map->keys, join->keys);
  with_map.then = both(join->then, map->by);
  results.push_back(pool.make(std::move(with_map), inner->operands));
}

void map_before_join(Pool& pool, const Expr& e, Results& results) {
  Expr inner;
  const Map* map = over<Map>(e, inner);
  const Join* join = map != nullptr ? as<Join>(inner) : nullptr;
  if (join == nullptr || map->by.empty() || !join->then.empty() || !distributes(map->by, join->by)) return;
  const Expr left = inner->operands[0];
  const Expr right = inner->operands[1];
  if (left->type.block != right->type.block) return;
  Join rekeyed = *join;
  rekeyed.keys = compose(map->keys, join->keys);
  results.push_back(pool.make(std::move(rekeyed), {pool.map(left, map->by), pool.map(right, map->by)}));
}

constexpr std::array kKernelRules = {
    Rule{"R1-1", "filter(filter(R, q), p)", "filter(R, p and q)", "", merge_filters},
    Rule{"R1-2", "map(map(R, f), g)", "map(R, f then g)", "one result per tuple (Map; not FlatMap)", merge_maps},
    Rule{"R1-3", "map(filter(R, p), f)", "filter(map(R, f), p), and back", "f leaves keys as they are",
         swap_map_and_filter},
    Rule{"R1-4", "map(aggregate(R, by), f)", "aggregate(R, by then f)", "f leaves keys as they are",
         map_after_aggregation},
    Rule{"R1-4 distributive", "map(aggregate(R, by), f)", "aggregate(map(R, f), by)",
         "f leaves keys as they are and distributes over by", map_before_aggregation},
    Rule{"R1-5", "filter(aggregate(R, keep), p)", "aggregate(filter(R, p of keep), keep)", "",
         filter_before_aggregation},
    Rule{"R1-6", "filter(join(L, R), p)", "join(filter(L, p), filter(R, p))", "p depends on joined dimensions only",
         filter_before_join},
    Rule{"R1-7", "map(join(L, R, by), f)", "join(L, R, by then f)", "one result per tuple", map_after_join},
    Rule{"R1-7 distributive", "map(join(L, R, by), f)", "join(map(L, f), map(R, f), by), rekeyed as f does",
         "f distributes over by; L and R have blocks of one type", map_before_join},
};

}  // namespace

std::span<const Rule> detail::kernel_rules() { return kKernelRules; }

}  // namespace tdsl::ir::algebra
