#pragma once

#include <algorithm>
#include <cstdint>

#include "ir/graph/extent.h"

namespace tdsl::ir {

/// A number that no sum with sizes takes out of 64 bits.
[[nodiscard]] inline bool is_small_number(std::int64_t number) {
  constexpr std::int64_t kMost = std::int64_t{1} << 32;
  return -kMost <= number && number <= kMost;
}

/// Whether `e` is a sum of a small number and of sizes, each once with either sign: it and the difference with another
/// one do not wrap around. `is_size(product)`: of a product of values.
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
