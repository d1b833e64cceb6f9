#pragma once

#include <vector>

#include "frontend/lower/state/values.h"

namespace tdsl::frontend {

/// An enclosing loop, as a source of iteration numbers.
struct EnclosingLoop {
  ir::ValueId index;  ///< invalid in the condition of a `while`, which has no iteration number
  ir::ValueId begin;  ///< invalid: `index` is the iteration number itself
  std::int64_t step = 1;
};

/// The enclosing loops of the current statement, outermost first.
class Loops {
 public:
  Loops(Reports& reports, Values& values) : reports_(reports), values_(values) {}
  /// Enters loops until the end of the scope.
  [[nodiscard]] Restored<std::vector<EnclosingLoop>> enter(const std::vector<EnclosingLoop>& inner);
  /// The iteration number of each loop.
  [[nodiscard]] std::vector<ir::ValueId> iteration_numbers(const ir::SourceRange& range);

 private:
  Reports& reports_;
  Values& values_;
  std::vector<EnclosingLoop> loops_;
};

}  // namespace tdsl::frontend
