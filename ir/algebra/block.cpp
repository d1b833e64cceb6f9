#include "ir/algebra/block.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/algebra/error.h"

namespace tdsl::ir::algebra {

namespace {

void require_rank(const Bounds& bounds, const Key& frontier) {
  if (bounds.size() != frontier.size())
    throw AlgebraError(
        fmt::format("blocks {} of keys {} are no parts of one array", key_text(bounds), key_text(frontier)));
}

/// Calls f(offset in the whole, offset in the block) for every element of a block.
void for_each_element(const Bounds& whole, const Bounds& block, const Key& key,
                      const std::function<void(std::size_t, std::size_t)>& f) {
  std::size_t in_block = 0;
  for_each_below(block, [&](const Key& at) {
    Index in_whole = 0;
    for (std::size_t d = 0; d < at.size(); ++d) in_whole = in_whole * whole[d] + key[d] * block[d] + at[d];
    f(static_cast<std::size_t>(in_whole), in_block++);
  });
}

}  // namespace

Block zero_block(const BlockType& type) {
  Block block;
  std::ranges::transform(type, std::back_inserter(block), [](const Bounds& bounds) {
    return Array{bounds, std::vector<double>(static_cast<std::size_t>(volume(bounds)))};
  });
  return block;
}

Block whole_of(const Tuples& tuples, const Key& frontier, const BlockType& block) {
  BlockType type = block;
  for (Bounds& bounds : type) {
    require_rank(bounds, frontier);
    for (std::size_t d = 0; d < bounds.size(); ++d) bounds[d] *= frontier[d];
  }
  Block whole = zero_block(type);
  for (const auto& [key, parts] : tuples) {
    for (std::size_t k = 0; k < parts.size(); ++k) {
      for_each_element(type[k], block[k], key,
                       [&, part = &parts[k], array = &whole[k]](std::size_t to, std::size_t from) {
                         array->elements[to] = part->elements[from];
                       });
    }
  }
  return whole;
}

Tuples tuples_of(const Block& whole, const Key& frontier) {
  BlockType block;
  for (const Array& array : whole) {
    require_rank(array.bounds, frontier);
    block.push_back(array.bounds);
    for (std::size_t d = 0; d < frontier.size(); ++d) {
      if (frontier[d] == 0 || array.bounds[d] % frontier[d] != 0)
        throw AlgebraError(fmt::format("{} elements are not cut into {} equal blocks", array.bounds[d], frontier[d]));
      block.back()[d] /= frontier[d];
    }
  }
  Tuples tuples;
  for_each_below(frontier, [&](const Key& key) {
    Block parts = zero_block(block);
    for (std::size_t k = 0; k < parts.size(); ++k) {
      for_each_element(whole[k].bounds, block[k], key,
                       [&](std::size_t from, std::size_t to) { parts[k].elements[to] = whole[k].elements[from]; });
    }
    tuples.emplace(key, std::move(parts));
  });
  return tuples;
}

}  // namespace tdsl::ir::algebra
