#pragma once

#include "runtime/plan/op_plan.h"

namespace tdsl::plan {

/// In how many pieces a rank's tiles lie in a file in C order, each tile by itself. In closed form.
[[nodiscard]] double file_writes(const Distribution& tiles, Index rank);
/// Of the rank with the most, among those that stand for all.
[[nodiscard]] double most_file_writes(const Distribution& tiles, Index sample);

}  // namespace tdsl::plan
