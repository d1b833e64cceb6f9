#pragma once

#include <optional>

#include "ir/graph/graph.h"

namespace tdsl::ir {

/// The operations that read a matrix whose columns may be coded; one in a loop counts twice. Operators that share a
/// walk are one operation.
struct CodedReaders {
  int by_value = 0;                  ///< run once per distinct value, or walk over the elements once without codes
  int nests = 0;                     ///< those with several updates
  int counts = 0;                    ///< their updates by ByValue::kCounts,
  int totals = 0;                    ///< kTotals,
  int weights = 0;                   ///< and kWeights
  int by_rows = 0;                   ///< visit it row by row, and decode the rows
  std::optional<SourceRange> other;  ///< the first one of another kind
};

/// Precondition: `Compute::iteration` is set.
[[nodiscard]] CodedReaders coded_readers(const Program& program, ValueId matrix);

}  // namespace tdsl::ir
