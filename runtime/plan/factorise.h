#pragma once

#include "runtime/plan/index.h"

namespace tdsl::plan {

/// `--factorise`: which form of a factorisation or solver runs.
enum class Factorise : std::uint8_t { kAuto, kLocal, kDistributed };

/// Operands of at most so many bytes may be gathered on one rank.
inline constexpr Index kGatheredBytes = Index{1} << 20;

/// Whether a routine with that many bytes of operands runs in its distributed form.
[[nodiscard]] inline bool distributes(Factorise choice, Index ranks, Index bytes) {
  if (choice == Factorise::kAuto) return ranks > 1 && bytes > kGatheredBytes;
  return choice == Factorise::kDistributed;
}

}  // namespace tdsl::plan
