#pragma once

#include <cstddef>

namespace tdsl::tests {

/// The largest allocation through `new` in this process since the last call; 0 if a sanitizer replaces the allocator.
[[nodiscard]] std::size_t take_largest_allocation();

/// The number of allocations through `new` in this process so far; 0 if a sanitizer replaces the allocator.
[[nodiscard]] std::size_t allocations();

}  // namespace tdsl::tests
