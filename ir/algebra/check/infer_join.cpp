#include <algorithm>
#include <map>

#include "ir/algebra/check/infer.h"
#include "ir/algebra/check/infer_support.h"

namespace tdsl::ir::algebra {

namespace {

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
    if (found == partners.end()) return;
    for (const Key& more : found->second) {
      keys.push_back(key);
      keys.back().insert(keys.back().end(), more.begin(), more.end());
    }
  });
  return KeySet::of(std::move(keys), left.arity() + rest.size());
}

/// True if holes in the joined keys are zero blocks.
bool joined_holes_are_zero(const Join& join, const KeySet& keys, const RelationType& left, const RelationType& right) {
  if (keys.full()) return true;
  if (!left.holes_are_zero || !right.holes_are_zero || !keeps_zero(join.then)) return false;
  if (zero_annihilates(join.by)) return true;
  if (!keeps_zero(join.by)) return false;
  // A block without a partner would be joined with a zero block, about which nothing is known here.
  const Dims right_at = right_positions(join, left.keys.arity(), right.keys.arity());
  bool zero = true;
  for_each_below(keys.frontier(), [&](const Key& key) {
    const Key left_key(key.begin(), key.begin() + static_cast<std::ptrdiff_t>(left.keys.arity()));
    if (!keys.contains(key) && (left.keys.contains(left_key) || right.keys.contains(values_at(key, right_at))))
      zero = false;
  });
  return zero;
}

}  // namespace

Inferred infer_join(const Join& join, const RelationType& left, const RelationType& right) {
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
    if (left.pieces || right.pieces) result.problems.emplace_back("partial results are joined");
    type.layout = joined_layout(join, left, right, result.problems).renamed(passed(join.keys, keys.arity()));
  }
  return result;
}

}  // namespace tdsl::ir::algebra
