#include "ir/algebra/check/infer_support.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/algebra/error.h"

namespace tdsl::ir::algebra {

void require(bool condition, const std::string& message) {
  if (!condition) throw AlgebraError(message);
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
  for (const Cut& cut : layout.cuts()) require_dims(cut.dims, arity, "part");
}

void NewKeys::add(Key key, const Key& from, std::vector<std::string>& problems) {
  require(std::ranges::none_of(key, [](Index k) { return k < 0; }),
          fmt::format("key {} becomes {}, which is negative", key_text(from), key_text(key)));
  const auto [place, first] = source_.try_emplace(std::move(key), from);
  if (!first && !twice_) {
    twice_ = true;
    problems.push_back(fmt::format("keys are not unique: {} and {} both become {}", key_text(place->second),
                                   key_text(from), key_text(place->first)));
  }
}

KeySet NewKeys::set() const {
  std::vector<Key> keys;
  keys.reserve(source_.size());
  for (const auto& [key, from] : source_) keys.push_back(key);
  return KeySet::of(std::move(keys), arity_);
}

KeySet rekeyed(const KeySet& keys, const KeyFunction& f, std::vector<std::string>& problems) {
  require_keys(f, keys.arity());
  if (f.is_identity(keys.arity())) return keys;
  NewKeys result(f.values.size());
  keys.for_each([&](const Key& key) { result.add(f(key), key, problems); });
  return result.set();
}

std::vector<std::optional<int>> passed(const KeyFunction& f, std::size_t arity) {
  std::vector<std::optional<int>> after;
  for (const int dim : all_dims(arity)) after.push_back(f.passes(dim));
  return after;
}

bool holes_stay_zero(const KeySet& result, const KeySet& operand, bool before, const Kernels& by) {
  return result.full() || operand.full() || (before && keeps_zero(by));
}

void require_pieces(const RelationType& type, const Kernels& by, std::vector<std::string>& problems) {
  if (type.pieces && !distributes(by, type.pieces->by)) {
    problems.push_back(fmt::format("{} is applied to partial results: it does not distribute over {}", kernels_text(by),
                                   kernel_text(type.pieces->by)));
  }
}

}  // namespace tdsl::ir::algebra
