#include "ir/algebra/check/infer.h"

#include <fmt/format.h>

#include <map>

#include "ir/algebra/check/infer_support.h"

namespace tdsl::ir::algebra {

namespace {

Inferred infer_op(const Input& input) {
  RelationType type;
  require_predicate(input.where, input.frontier.size());
  type.keys = KeySet::below(input.frontier);
  if (!input.where.always()) {
    std::vector<Key> keys;
    type.keys.for_each([&](const Key& key) {
      if (input.where(key)) keys.push_back(key);
    });
    type.keys = KeySet::of(std::move(keys), input.frontier.size());
  }
  type.block = input.block;
  type.layout = input.layout;
  if (type.layout) require_layout(*type.layout, input.frontier.size());
  return {std::move(type), {}};
}

Inferred infer_op(const Map& map, const RelationType& operand) {
  Inferred result{operand, {}};
  result.type.block = result_of(map.by, operand.block);
  result.type.keys = rekeyed(operand.keys, map.keys, result.problems);
  result.type.holes_are_zero = holes_stay_zero(result.type.keys, operand.keys, operand.holes_are_zero, map.by);
  if (operand.layout) result.type.layout = operand.layout->renamed(passed(map.keys, operand.keys.arity()));
  require_pieces(operand, map.by, result.problems);
  return result;
}

Inferred infer_op(const Filter& filter, const RelationType& operand) {
  Inferred result{operand, {}};
  require_predicate(filter.where, operand.keys.arity());
  std::vector<Key> kept;
  operand.keys.for_each([&](const Key& key) {
    if (filter.where(key)) kept.push_back(key);
  });
  result.type.keys = KeySet::of(std::move(kept), operand.keys.arity());
  result.type.holes_are_zero = holes_stay_zero(result.type.keys, operand.keys, operand.holes_are_zero, {});
  return result;
}

Bounds& array_to_cut(BlockType& block, int dim) {
  require(block.size() == 1, "tile and concat take relations of one array");
  require(dim >= 0 && dim < static_cast<int>(block[0].size()),
          fmt::format("blocks {} have no dimension {}", block_text(block), dim));
  return block[0];
}

/// The type of a piece. `operand` is the whole block's.
BlockType sliced(BlockType block, int dim, Index size, Index count) {
  Bounds& bounds = array_to_cut(block, dim);
  Index& extent = bounds[static_cast<std::size_t>(dim)];
  require(size > 0 && extent % size == 0 && count <= extent / size,
          fmt::format("blocks {} cannot be cut into {} pieces of {} along dimension {}", block_text(block), count, size,
                      dim));
  extent = size;
  return block;
}

Inferred infer_op(const FlatMap& f, const RelationType& operand) {
  Inferred result{operand, {}};
  RelationType& type = result.type;
  const std::size_t arity = operand.keys.arity();
  require(f.count >= 1, "a flatMap's count is at least 1");
  require_keys(f.keys, arity + 1);
  require_predicate(f.where, arity + 1);
  if (f.slice) type.block = sliced(type.block, f.slice->dim, f.slice->size, f.count);
  type.block = result_of(f.by, type.block);
  NewKeys keys(f.keys.values.size());
  operand.keys.for_each([&](Key key) {
    key.push_back(0);
    for (; key.back() < f.count; ++key.back()) {
      if (f.where(key)) keys.add(f.keys(key), key, result.problems);
    }
  });
  type.keys = keys.set();
  type.holes_are_zero = holes_stay_zero(type.keys, operand.keys, operand.holes_are_zero, f.by);
  if (operand.layout) type.layout = operand.layout->renamed(passed(f.keys, arity));
  require_pieces(operand, f.by, result.problems);
  return result;
}

Inferred infer_op(const Tile& tile, const RelationType& operand) {
  RelationType whole = operand;
  require(tile.size > 0, "a tile's size is at least 1");
  const Index count = array_to_cut(whole.block, tile.dim)[static_cast<std::size_t>(tile.dim)] / tile.size;
  FlatMap pieces{count, {}, KeyFunction::identity(operand.keys.arity() + 1), FlatMap::Slice{tile.dim, tile.size}, {}};
  return infer_op(pieces, operand);
}

Inferred infer_op(const Concat& concat, const RelationType& operand) {
  Inferred result{operand, {}};
  RelationType& type = result.type;
  const std::size_t arity = operand.keys.arity();
  require_dims({concat.key}, arity, "concat key");
  const Index count = operand.keys.frontier()[static_cast<std::size_t>(concat.key)];
  array_to_cut(type.block, concat.dim)[static_cast<std::size_t>(concat.dim)] *= count;
  const Dims keep = without(arity, {concat.key});
  std::map<Key, Index> groups;
  operand.keys.for_each([&](const Key& key) { ++groups[values_at(key, keep)]; });
  std::vector<Key> keys;
  for (const auto& [key, found] : groups) {
    keys.push_back(key);
    if (found < count && !operand.holes_are_zero && result.problems.empty())
      result.problems.push_back(
          fmt::format("absent blocks of unknown value are concatenated for key {}", key_text(key)));
  }
  type.keys = KeySet::of(std::move(keys), keep.size());
  type.holes_are_zero = holes_stay_zero(type.keys, operand.keys, operand.holes_are_zero, {});
  if (operand.layout) {
    if (most_pieces(operand, keep) > 1) result.problems.emplace_back("blocks on different sites are concatenated");
    type.layout = operand.layout->renamed(passed(KeyFunction::select(keep), arity));
  }
  if (operand.pieces) result.problems.emplace_back("partial results are concatenated");
  type.pieces.reset();
  return result;
}

Inferred infer_op(const Redistribute& redistribute, const RelationType& operand) {
  require(operand.layout.has_value(), "bcast and shuf take relations that lie on sites");
  require(redistribute.to.axes() == operand.layout->axes(), "the layouts are of different meshes");
  require(redistribute.to.loose_axes().empty(), "a shuffle says where tuples go");
  require_layout(redistribute.to, operand.keys.arity());
  Inferred result{operand, {}};
  result.type.layout = redistribute.to;
  return result;
}

/// Finds groups of tuples with missing members; keyed by group.
struct Groups {
  std::vector<Key> keys;
  std::optional<std::string> lacking;  ///< the first such group, as text
};
Groups groups_of(const KeySet& keys, const Dims& keep) {
  const Index whole = volume(values_at(keys.frontier(), without(keys.arity(), keep)));
  std::map<Key, Index> sizes;
  keys.for_each([&](const Key& key) { ++sizes[values_at(key, keep)]; });
  Groups groups;
  for (const auto& [key, size] : sizes) {
    groups.keys.push_back(key);
    if (size < whole && !groups.lacking)
      groups.lacking = fmt::format("the group of key {} has {} of {} blocks", key_text(key), size, whole);
  }
  return groups;
}

Inferred infer_op(const Aggregate& aggregate, const RelationType& operand) {
  Inferred result{operand, {}};
  RelationType& type = result.type;
  const Dims& keep = aggregate.keep;
  const std::size_t arity = operand.keys.arity();
  require_dims(keep, arity, "keep");
  BlockType two = operand.block;
  two.insert(two.end(), operand.block.begin(), operand.block.end());
  require(aggregates(aggregate.by) && result_of(aggregate.by, two) == operand.block,
          fmt::format("{} cannot aggregate blocks {}", kernel_text(aggregate.by), block_text(operand.block)));
  type.block = result_of(aggregate.then, operand.block);

  if (operand.keys.full()) {
    type.keys = KeySet::below(values_at(operand.keys.frontier(), keep));
    if (operand.keys.count() == 0) type.keys = KeySet::of({}, keep.size());
  } else {
    Groups groups = groups_of(operand.keys, keep);
    type.keys = KeySet::of(std::move(groups.keys), keep.size());
    if (groups.lacking && !(operand.holes_are_zero && zero_is_identity(aggregate.by)))
      result.problems.push_back(fmt::format("absent blocks are left out of an aggregation by {}: {}",
                                            kernel_text(aggregate.by), *groups.lacking));
  }
  type.holes_are_zero =
      holes_stay_zero(type.keys, operand.keys, operand.holes_are_zero && keeps_zero(aggregate.by), aggregate.then);

  if (!operand.layout) return result;
  type.layout = operand.layout->renamed(passed(KeyFunction::select(keep), arity));
  type.pieces.reset();
  if (operand.pieces && operand.pieces->by != aggregate.by)
    result.problems.push_back(fmt::format("partial results of {} are aggregated by {}", kernel_text(operand.pieces->by),
                                          kernel_text(aggregate.by)));
  if (const Index most = most_pieces(operand, keep); most > 1) {
    type.pieces = Pieces{aggregate.by, most};
    require_pieces(type, aggregate.then, result.problems);
  }
  return result;
}

Inferred infer_op(const Opaque& opaque, std::span<const RelationType* const> operands) {
  Inferred result;
  result.type.keys = KeySet::below(opaque.frontier);
  result.type.block = opaque.block;
  result.type.layout = opaque.layout;
  if (opaque.layout) require_layout(*opaque.layout, opaque.frontier.size());
  for (const RelationType* operand : operands) {
    require(operand->layout.has_value() == opaque.layout.has_value(),
            "an opaque operator on sites has operands on sites, and one without has none");
    if (operand->pieces) result.problems.emplace_back("partial results are read by an opaque operator");
    if (!operand->holes_are_zero)
      result.problems.emplace_back("absent blocks of unknown value are read by an opaque operator");
  }
  return result;
}

}  // namespace

Inferred infer(const Op& op, std::span<const RelationType* const> operands) {
  const auto one = [&](const auto& o) { return infer_op(o, *operands[0]); };
  return match(
      op, [&](const Input& o) { return infer_op(o); },
      [&](const Join& o) { return infer_join(o, *operands[0], *operands[1]); },
      [&](const Aggregate& o) { return one(o); }, [&](const Map& o) { return one(o); },
      [&](const Filter& o) { return one(o); }, [&](const Tile& o) { return one(o); },
      [&](const Concat& o) { return one(o); }, [&](const FlatMap& o) { return one(o); },
      [&](const Redistribute& o) { return one(o); }, [&](const Opaque& o) { return infer_op(o, operands); });
}

}  // namespace tdsl::ir::algebra
