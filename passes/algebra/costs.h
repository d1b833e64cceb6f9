#pragma once

#include <cstdint>
#include <optional>

#include "ir/graph/extent.h"

// Comparison of operation counts that are polynomials in sizes.

namespace tdsl::passes {

/// The sign of a polynomial in sizes that are all >= `least`: -1, 0 or 1; nullopt if it depends on them.
[[nodiscard]] std::optional<int> sign_of(const ir::Extent& e, std::int64_t least);

/// True if cost `a` is smaller than `b` for all sizes >= 2 (both are small for smaller sizes); nullopt if it depends on
/// the sizes.
[[nodiscard]] std::optional<bool> cheaper(const ir::Extent& a, const ir::Extent& b);

/// Counts that differ for smaller sizes only are compared as if there were none: both are small.
inline constexpr std::int64_t kSmallSize = 4;
/// Where a rewrite reads operands several times, it must take at most one of kLeastGain operations for all sizes from
/// kLargeSize on.
inline constexpr std::int64_t kLeastGain = 4;
inline constexpr std::int64_t kLargeSize = 16;

}  // namespace tdsl::passes
