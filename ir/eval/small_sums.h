#pragma once

#include <algorithm>
#include <cstdint>

#include "ir/graph/extent.h"

namespace tdsl::ir {

/// A number that cannot overflow 64 bits in a sum with sizes.
[[nodiscard]] inline bool is_small_number(std::int64_t number) {
  constexpr std::int64_t kMost = std::int64_t{1} << 32;
  return -kMost <= number && number <= kMost;
}

/// True if `e` is a sum of a small number and of sizes, each once with either sign: neither it nor its difference to
/// another such sum wraps around. `is_size(product)`: for a product of values.
template <class IsSize>
[[nodiscard]] bool is_small_sum(const Extent& e, const IsSize& is_size) {
  return std::ranges::all_of(e.terms(), [&](const auto& term) {
    const auto& [monomial, number] = term;
    if (monomial.empty()) return is_small_number(number);
    if (number != 1 && number != -1) return false;
    Extent product(1);
    for (const Extent::AtomRef& atom : monomial) {
      if (atom->kind != Extent::Atom::Kind::kValue) return false;
      product = product * Extent::of(atom->value);
    }
    return static_cast<bool>(is_size(product));
  });
}

}  // namespace tdsl::ir
