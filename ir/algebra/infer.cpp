#include "ir/algebra/infer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ir/algebra/error.h"

namespace tdsl::ir::algebra {

namespace {

void require(bool condition, const std::string& message) {
  if (!condition)
    throw AlgebraError(message);
}

void require_dims(const Dims& dims, std::size_t arity, std::string_view what) {
  for (const int dim : dims) {
    require(dim >= 0 && static_cast<std::size_t>(dim) < arity,
            fmt::format("{} {}: keys have {} dimensions", what, dims_text(dims), arity));
    require(std::ranges::count(dims, dim) == 1, fmt::format("{} {} names a dimension twice", what, dims_text(dims)));
  }
}

void require_keys(const KeyFunction& keys, std::size_t values) {
  require(keys.last_dim() < static_cast<int>(values),
          fmt::format("the new key mentions k{}: there are {} values", keys.last_dim(), values));
}

void require_predicate(const Predicate& where, std::size_t values) {
  const Dims dims = where.dims();
  require(dims.empty() || dims.back() < static_cast<int>(values),
          fmt::format("the condition mentions k{}: there are {} values", dims.empty() ? 0 : dims.back(), values));
}

void require_layout(const Layout& layout, std::size_t arity) {
  for (const Cut& cut : layout.cuts())
    require_dims(cut.dims, arity, "part");
}

/// Keys of results, with a problem for the first that comes twice.
class NewKeys {
 public:
  explicit NewKeys(std::size_t arity) : arity_(arity) {}

  void add(Key key, const Key& from, std::vector<std::string>& problems) {
    require(std::ranges::none_of(key, [](Index k) { return k < 0; }),
            fmt::format("key {} becomes {}, which is negative", key_text(from), key_text(key)));
    const auto [place, first] = source_.try_emplace(std::move(key), from);
    if (!first && !twice_) {
      twice_ = true;
      problems.push_back(fmt::format("keys are not unique: {} and {} both become {}", key_text(place->second),
                                     key_text(from), key_text(place->first)));
    }
  }
  [[nodiscard]] KeySet set() const {
    std::vector<Key> keys;
    keys.reserve(source_.size());
    for (const auto& [key, from] : source_)
      keys.push_back(key);
    return KeySet::of(std::move(keys), arity_);
  }

 private:
  std::size_t arity_;
  std::map<Key, Key> source_;
  bool twice_ = false;
};

KeySet rekeyed(const KeySet& keys, const KeyFunction& f, std::vector<std::string>& problems) {
  require_keys(f, keys.arity());
  if (f.is_identity(keys.arity()))
    return keys;
  NewKeys result(f.values.size());
  keys.for_each([&](const Key& key) { result.add(f(key), key, problems); });
  return result.set();
}

/// What dimension d of a key becomes in the result of `f`.
std::vector<std::optional<int>> passed(const KeyFunction& f, std::size_t arity) {
  std::vector<std::optional<int>> after;
  for (const int dim : all_dims(arity))
    after.push_back(f.passes(dim));
  return after;
}

/// The state of the result's holes, where `before` says whether the operand's are zero and `by` is applied to its blocks.
/// Holes that only the new keys make are zero blocks.
bool holes_stay_zero(const KeySet& result, const KeySet& operand, bool before, const Kernels& by) {
  return result.full() || operand.full() || (before && keeps_zero(by));
}

void require_pieces(const RelationType& type, const Kernels& by, std::vector<std::string>& problems) {
  if (type.pieces && !distributes(by, type.pieces->by)) {
    problems.push_back(fmt::format("{} is applied to partial results: it does not distribute over {}", kernels_text(by),
                                   kernel_text(type.pieces->by)));
  }
}

Inferred infer_op(const Input& input) {
  RelationType type;
  require_predicate(input.where, input.frontier.size());
  type.keys = KeySet::below(input.frontier);
  if (!input.where.always()) {
    std::vector<Key> keys;
    type.keys.for_each([&](const Key& key) {
      if (input.where(key))
        keys.push_back(key);
    });
    type.keys = KeySet::of(std::move(keys), input.frontier.size());
  }
  type.block = input.block;
  type.layout = input.layout;
  if (type.layout)
    require_layout(*type.layout, input.frontier.size());
  return {std::move(type), {}};
}

Inferred infer_op(const Map& map, const RelationType& operand) {
  Inferred result{operand, {}};
  result.type.block = result_of(map.by, operand.block);
  result.type.keys = rekeyed(operand.keys, map.keys, result.problems);
  result.type.holes_are_zero = holes_stay_zero(result.type.keys, operand.keys, operand.holes_are_zero, map.by);
  if (operand.layout)
    result.type.layout = operand.layout->renamed(passed(map.keys, operand.keys.arity()));
  require_pieces(operand, map.by, result.problems);
  return result;
}

Inferred infer_op(const Filter& filter, const RelationType& operand) {
  Inferred result{operand, {}};
  require_predicate(filter.where, operand.keys.arity());
  std::vector<Key> kept;
  operand.keys.for_each([&](const Key& key) {
    if (filter.where(key))
      kept.push_back(key);
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
  if (f.slice)
    type.block = sliced(type.block, f.slice->dim, f.slice->size, f.count);
  type.block = result_of(f.by, type.block);
  NewKeys keys(f.keys.values.size());
  operand.keys.for_each([&](Key key) {
    key.push_back(0);
    for (; key.back() < f.count; ++key.back()) {
      if (f.where(key))
        keys.add(f.keys(key), key, result.problems);
    }
  });
  type.keys = keys.set();
  type.holes_are_zero = holes_stay_zero(type.keys, operand.keys, operand.holes_are_zero, f.by);
  if (operand.layout)
    type.layout = operand.layout->renamed(passed(f.keys, arity));
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
      result.problems.push_back(fmt::format("absent blocks of unknown value are concatenated for key {}", key_text(key)));
  }
  type.keys = KeySet::of(std::move(keys), keep.size());
  type.holes_are_zero = holes_stay_zero(type.keys, operand.keys, operand.holes_are_zero, {});
  if (operand.layout) {
    if (most_pieces(operand, keep) > 1)
      result.problems.emplace_back("blocks on different sites are concatenated");
    type.layout = operand.layout->renamed(passed(KeyFunction::select(keep), arity));
  }
  if (operand.pieces)
    result.problems.emplace_back("partial results are concatenated");
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

/// Whether some group of tuples lacks members; the groups' keys.
struct Groups {
  std::vector<Key> keys;
  std::optional<std::string> lacking;  ///< the first such group, in words
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
    if (operand.keys.count() == 0)
      type.keys = KeySet::of({}, keep.size());
  } else {
    Groups groups = groups_of(operand.keys, keep);
    type.keys = KeySet::of(std::move(groups.keys), keep.size());
    if (groups.lacking && !(operand.holes_are_zero && zero_is_identity(aggregate.by)))
      result.problems.push_back(
          fmt::format("absent blocks are left out of an aggregation by {}: {}", kernel_text(aggregate.by), *groups.lacking));
  }
  type.holes_are_zero = holes_stay_zero(type.keys, operand.keys, operand.holes_are_zero && keeps_zero(aggregate.by),
                                        aggregate.then);

  if (!operand.layout)
    return result;
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

/// The keys of joined tuples, before Join::keys.
KeySet joined_keys(const Join& join, const KeySet& left, const KeySet& right) {
  const Dims rest = without(right.arity(), join.right);
  if (left.full() && right.full()) {
    Key frontier = left.frontier();
    for (std::size_t k = 0; k < join.left.size(); ++k) {
      Index& extent = frontier[static_cast<std::size_t>(join.left[k])];
      extent = std::min(extent, right.frontier()[static_cast<std::size_t>(join.right[k])]);
    }
    std::ranges::copy(values_at(right.frontier(), rest), std::back_inserter(frontier));
    return KeySet::below(std::move(frontier));
  }
  std::map<Key, std::vector<Key>> partners;
  right.for_each([&](const Key& key) { partners[values_at(key, join.right)].push_back(values_at(key, rest)); });
  std::vector<Key> keys;
  left.for_each([&](const Key& key) {
    const auto found = partners.find(values_at(key, join.left));
    if (found == partners.end())
      return;
    for (const Key& more : found->second) {
      keys.push_back(key);
      keys.back().insert(keys.back().end(), more.begin(), more.end());
    }
  });
  return KeySet::of(std::move(keys), left.arity() + rest.size());
}

/// Whether the holes of joined keys are zero blocks.
bool joined_holes_are_zero(const Join& join, const KeySet& keys, const RelationType& left, const RelationType& right) {
  if (keys.full())
    return true;
  if (!left.holes_are_zero || !right.holes_are_zero || !keeps_zero(join.then))
    return false;
  if (zero_annihilates(join.by))
    return true;
  if (!keeps_zero(join.by))
    return false;
  // A block without a partner would meet a zero block, of which nothing is known here.
  const Dims right_at = right_positions(join, left.keys.arity(), right.keys.arity());
  bool zero = true;
  for_each_below(keys.frontier(), [&](const Key& key) {
    const Key left_key(key.begin(), key.begin() + static_cast<std::ptrdiff_t>(left.keys.arity()));
    if (!keys.contains(key) && (left.keys.contains(left_key) || right.keys.contains(values_at(key, right_at))))
      zero = false;
  });
  return zero;
}

Inferred infer_op(const Join& join, const RelationType& left, const RelationType& right) {
  Inferred result;
  RelationType& type = result.type;
  require(join.left.size() == join.right.size(), "a join pairs as many dimensions on the left as on the right");
  require_dims(join.left, left.keys.arity(), "left dimensions");
  require_dims(join.right, right.keys.arity(), "right dimensions");
  require(left.layout.has_value() == right.layout.has_value(), "a relation on sites is joined with one without");
  BlockType both = left.block;
  both.insert(both.end(), right.block.begin(), right.block.end());
  type.block = result_of(join.then, result_of(join.by, both));
  const KeySet keys = joined_keys(join, left.keys, right.keys);
  type.keys = rekeyed(keys, join.keys, result.problems);
  type.holes_are_zero = holes_stay_zero(type.keys, keys, joined_holes_are_zero(join, keys, left, right), {});
  if (left.layout) {
    if (left.pieces || right.pieces)
      result.problems.emplace_back("partial results are joined");
    type.layout = joined_layout(join, left, right, result.problems).renamed(passed(join.keys, keys.arity()));
  }
  return result;
}

}  // namespace

Inferred infer(const Op& op, std::span<const RelationType* const> operands) {
  const auto one = [&](const auto& o) { return infer_op(o, *operands[0]); };
  return match(
      op, [&](const Input& o) { return infer_op(o); },
      [&](const Join& o) { return infer_op(o, *operands[0], *operands[1]); },
      [&](const Aggregate& o) { return one(o); }, [&](const Map& o) { return one(o); },
      [&](const Filter& o) { return one(o); }, [&](const Tile& o) { return one(o); },
      [&](const Concat& o) { return one(o); }, [&](const FlatMap& o) { return one(o); },
      [&](const Redistribute& o) { return one(o); });
}

}  // namespace tdsl::ir::algebra
