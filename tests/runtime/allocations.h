#pragma once

#include <cstddef>

namespace tdsl::tests {

/// The largest allocation of this process since the last call, as far as the program's `new` sees it; 0 where a
/// sanitizer has the allocator.
[[nodiscard]] std::size_t take_largest_allocation();

}  // namespace tdsl::tests
