#pragma once

#include <optional>

#include "ir/graph/graph.h"

namespace tdsl::ir {

/// The operations that read a matrix whose columns may be coded; one in a loop counts twice. Operators that share a
/// walk are one operation.
struct CodedReaders {
  int by_value = 0;                  ///< run once per distinct value, or walk over the elements once without codes
  int totals = 0;                    ///< parts of these with a lookup per code (ByValue::kTotals),
  int weights = 0;                   ///< or an addition per code (ByValue::kWeights)
  int by_rows = 0;                   ///< visit it row by row, and decode the rows
  std::optional<SourceRange> other;  ///< the first one of another kind
};

/// Precondition: `Compute::iteration` is set.
[[nodiscard]] CodedReaders coded_readers(const Program& program, ValueId matrix);

}  // namespace tdsl::ir
