#pragma once

#include <vector>

#include "frontend/lower/state/values.h"

namespace tdsl::frontend {

/// A loop around the place that is being lowered: what numbers its iterations.
struct EnclosingLoop {
  ir::ValueId index;  ///< invalid in the condition of a `while`, which has no number
  ir::ValueId begin;  ///< invalid: `index` is the iteration number itself
  std::int64_t step = 1;
};

/// The loops around the place that is being lowered, outermost first.
class Loops {
 public:
  Loops(Reports& reports, Values& values) : reports_(reports), values_(values) {}
  /// Enters loops for the rest of the scope.
  [[nodiscard]] Restored<std::vector<EnclosingLoop>> enter(const std::vector<EnclosingLoop>& inner);
  /// The number of the iteration of each loop.
  [[nodiscard]] std::vector<ir::ValueId> iteration_numbers(const ir::SourceRange& range);

 private:
  Reports& reports_;
  Values& values_;
  std::vector<EnclosingLoop> loops_;
};

}  // namespace tdsl::frontend
