#include "tests/unit/algebra/oracle/evaluate.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/algebra/error.h"
#include "ir/graph/check.h"

namespace tdsl::ir::algebra {

namespace {

Tuples apply_op(const Join& join, const Tuples& left, const Tuples& right, const Calls& calls) {
  Tuples result;
  std::map<Key, std::vector<Tuples::const_iterator>> partners;
  for (auto r = right.begin(); r != right.end(); ++r) partners[values_at(r->first, join.right)].push_back(r);
  for (const auto& [left_key, left_block] : left) {
    const auto found = partners.find(values_at(left_key, join.left));
    if (found == partners.end()) continue;
    for (const auto& r : found->second) {
      Key key = left_key;
      std::ranges::copy(values_at(r->first, without(r->first.size(), join.right)), std::back_inserter(key));
      Block both = left_block;
      both.insert(both.end(), r->second.begin(), r->second.end());
      result.emplace(join.keys(key), apply(join.then, apply(join.by, both, calls), calls));
    }
  }
  return result;
}

Tuples apply_op(const Aggregate& aggregate, const Tuples& operand, const Calls& calls) {
  std::map<Key, Block> groups;
  for (const auto& [key, block] : operand) {
    const auto [group, first] = groups.try_emplace(values_at(key, aggregate.keep), block);
    if (first) continue;
    Block both = group->second;
    both.insert(both.end(), block.begin(), block.end());
    group->second = apply(aggregate.by, both, calls);
  }
  Tuples result;
  for (auto& [key, block] : groups) result.emplace(key, apply(aggregate.then, std::move(block), calls));
  return result;
}

Tuples apply_op(const FlatMap& f, const Tuples& operand, const Calls& calls) {
  Tuples result;
  for (const auto& [key, block] : operand) {
    Key with_count = key;
    with_count.push_back(0);
    for (Index t = 0; t < f.count; ++t) {
      with_count.back() = t;
      if (!f.where(with_count)) continue;
      Block piece = f.slice ? Block{piece_of(block[0], f.slice->dim, f.slice->size, t)} : block;
      result.emplace(f.keys(with_count), apply(f.by, std::move(piece), calls));
    }
  }
  return result;
}

Tuples apply_op(const Map& map, const Tuples& operand, const Calls& calls) {
  Tuples result;
  for (const auto& [key, block] : operand) result.emplace(map.keys(key), apply(map.by, block, calls));
  return result;
}

Tuples apply_op(const Filter& filter, const Tuples& operand) {
  Tuples result;
  std::ranges::copy_if(operand, std::inserter(result, result.end()),
                       [&](const auto& tuple) { return filter.where(tuple.first); });
  return result;
}

Tuples apply_op(const Tile& tile, const Tuples& operand) {
  Tuples result;
  for (const auto& [key, block] : operand) {
    Key with_piece = key;
    with_piece.push_back(0);
    const Index count = block[0].bounds[static_cast<std::size_t>(tile.dim)] / tile.size;
    for (Index t = 0; t < count; ++t) {
      with_piece.back() = t;
      result.emplace(with_piece, Block{piece_of(block[0], tile.dim, tile.size, t)});
    }
  }
  return result;
}

/// Absent blocks are zero blocks.
Tuples apply_op(const Concat& concat, const Tuples& operand, const BlockType& whole) {
  std::map<Key, Block> groups;
  for (const auto& [key, block] : operand) {
    const Dims keep = without(key.size(), {concat.key});
    Block& group = groups.try_emplace(values_at(key, keep), zero_block(whole)).first->second;
    const Index size = block[0].bounds[static_cast<std::size_t>(concat.dim)];
    put_piece(group[0], block[0], concat.dim, size * key[static_cast<std::size_t>(concat.key)]);
  }
  return {std::make_move_iterator(groups.begin()), std::make_move_iterator(groups.end())};
}

Tuples apply_op(const Opaque& opaque, const Node& node, std::span<const Tuples* const> operands, const Calls& calls) {
  const auto call = calls.find(opaque.name);
  if (call == calls.end()) throw AlgebraError(fmt::format("there is no opaque operator `{}` to call", opaque.name));
  Block whole;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const RelationType& type = node.operands[k]->type;
    const Block arrays = whole_of(*operands[k], type.keys.frontier(), type.block);
    whole.insert(whole.end(), arrays.begin(), arrays.end());
  }
  return tuples_of(call->second(whole), opaque.frontier);
}

}  // namespace

Tuples apply(const Node& node, std::span<const Tuples* const> operands, const Calls& calls) {
  return match(
      node.op,
      [&](const Input&) -> Tuples {
        TDSL_CHECK(false, "inputs are not computed");
        return {};
      },
      [&](const Join& o) { return apply_op(o, *operands[0], *operands[1], calls); },
      [&](const Aggregate& o) { return apply_op(o, *operands[0], calls); },
      [&](const Map& o) { return apply_op(o, *operands[0], calls); },
      [&](const Filter& o) { return apply_op(o, *operands[0]); },
      [&](const Tile& o) { return apply_op(o, *operands[0]); },
      [&](const Concat& o) { return apply_op(o, *operands[0], node.type.block); },
      [&](const FlatMap& o) { return apply_op(o, *operands[0], calls); },
      [&](const Redistribute&) { return *operands[0]; },
      [&](const Opaque& o) { return apply_op(o, node, operands, calls); });
}

const Tuples& input_of(const Node& node, const Data& data) {
  const std::string& name = std::get<Input>(node.op).name;
  const auto found = data.inputs.find(name);
  if (found == data.inputs.end()) throw AlgebraError(fmt::format("there is no data for the input `{}`", name));
  std::vector<Key> keys;
  for (const auto& [key, block] : found->second) keys.push_back(key);
  const bool twice = std::ranges::adjacent_find(keys) != keys.end();
  if (twice || KeySet::of(std::move(keys), node.type.keys.arity()) != node.type.keys)
    throw AlgebraError(fmt::format("the data of the input `{}` have other keys than its type", name));
  return found->second;
}

Tuples evaluate(const Expr& e, const Data& data) {
  std::map<int, Tuples> values;
  const std::vector<Expr> roots{e};
  for (const Expr& node : nodes_of(roots)) {
    std::vector<const Tuples*> operands;
    for (const Expr& operand : node->operands) operands.push_back(&values.at(operand->id));
    values.emplace(node->id, as<Input>(node) != nullptr ? input_of(*node, data) : apply(*node, operands, data.calls));
  }
  return std::move(values.at(e->id));
}

}  // namespace tdsl::ir::algebra
