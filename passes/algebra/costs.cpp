#include "passes/algebra/costs.h"

#include <algorithm>

namespace tdsl::passes {

using namespace ir;

std::optional<int> sign_of(const Extent& e, std::int64_t least) {
  if (const auto c = e.constant()) return *c < 0 ? -1 : (*c > 0 ? 1 : 0);
  const Extent shifted = e.substitute([least](ValueId v) { return std::optional(Extent::of(v) + Extent(least)); });
  bool positive = true;
  bool negative = true;
  for (const auto& [monomial, coefficient] : shifted.terms()) {
    const bool opaque =
        std::ranges::any_of(monomial, [](const Extent::AtomRef& a) { return a->kind != Extent::Atom::Kind::kValue; });
    if (opaque) return std::nullopt;
    positive = positive && coefficient > 0;
    negative = negative && coefficient < 0;
  }
  if (positive) return 1;
  if (negative) return -1;
  return std::nullopt;
}

std::optional<bool> cheaper(const Extent& a, const Extent& b) {
  constexpr std::int64_t kLeastSize = 2;
  if (const auto s = sign_of(a - b, kLeastSize)) return *s < 0;
  return std::nullopt;
}

}  // namespace tdsl::passes
