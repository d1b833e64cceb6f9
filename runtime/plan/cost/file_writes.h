#pragma once

#include "runtime/plan/space/distribution.h"

namespace tdsl::plan {

/// Number of contiguous pieces that a rank's tiles occupy in a file in C order, each tile counted separately. In closed
/// form.
[[nodiscard]] double file_writes(const Distribution& tiles, Index rank);
/// The largest such number over the sampled ranks.
[[nodiscard]] double most_file_writes(const Distribution& tiles, Index sample);

}  // namespace tdsl::plan
