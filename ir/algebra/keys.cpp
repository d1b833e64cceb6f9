#include "ir/algebra/keys.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

namespace tdsl::ir::algebra {

std::string key_text(const Key& key) { return fmt::format("[{}]", fmt::join(key, ", ")); }
std::string dims_text(const Dims& dims) { return fmt::format("[{}]", fmt::join(dims, ", ")); }

Dims all_dims(std::size_t n) {
  Dims dims(n);
  std::iota(dims.begin(), dims.end(), 0);
  return dims;
}

std::optional<int> position_of(const Dims& dims, int dim) {
  const auto found = std::ranges::find(dims, dim);
  if (found == dims.end()) return std::nullopt;
  return static_cast<int>(found - dims.begin());
}

bool subset(const Dims& inner, const Dims& outer) {
  return std::ranges::all_of(inner, [&](int dim) { return position_of(outer, dim).has_value(); });
}

Key values_at(const Key& key, const Dims& dims) {
  Key values;
  values.reserve(dims.size());
  for (const int dim : dims) values.push_back(key[static_cast<std::size_t>(dim)]);
  return values;
}

Index volume(const std::vector<Index>& extents) {
  return std::accumulate(extents.begin(), extents.end(), Index{1}, std::multiplies<>());
}

void for_each_below(const Key& frontier, const std::function<void(const Key&)>& f) {
  if (volume(frontier) == 0) return;
  Key key(frontier.size(), 0);
  for (;;) {
    f(key);
    std::size_t dim = frontier.size();
    while (dim > 0 && ++key[dim - 1] == frontier[dim - 1]) key[--dim] = 0;
    if (dim == 0) return;
  }
}

KeySet KeySet::below(Key frontier) {
  // The frontier of an empty set is all zeros.
  if (volume(frontier) == 0) std::ranges::fill(frontier, 0);
  KeySet set;
  set.frontier_ = std::move(frontier);
  return set;
}

KeySet KeySet::of(std::vector<Key> keys, std::size_t arity) {
  std::ranges::sort(keys);
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  KeySet set;
  set.frontier_.assign(arity, 0);
  for (const Key& key : keys) {
    for (std::size_t dim = 0; dim < arity; ++dim) set.frontier_[dim] = std::max(set.frontier_[dim], key[dim] + 1);
  }
  if (static_cast<Index>(keys.size()) != volume(set.frontier_))
    set.some_ = std::make_shared<const std::vector<Key>>(std::move(keys));
  return set;
}

Index KeySet::count() const { return full() ? volume(frontier_) : static_cast<Index>(some_->size()); }

bool KeySet::contains(const Key& key) const {
  if (!full()) return std::ranges::binary_search(*some_, key);
  return std::ranges::equal(key, frontier_, std::ranges::less());
}

void KeySet::for_each(const std::function<void(const Key&)>& f) const {
  if (full()) {
    for_each_below(frontier_, f);
  } else {
    std::ranges::for_each(*some_, f);
  }
}

bool operator==(const KeySet& a, const KeySet& b) {
  if (a.frontier_ != b.frontier_ || a.full() != b.full()) return false;
  return a.full() || a.some_ == b.some_ || *a.some_ == *b.some_;
}

}  // namespace tdsl::ir::algebra
