#pragma once

#include <memory>
#include <vector>

#include "runtime/io/entries/entries.h"
#include "runtime/plan/storage.h"

namespace tdsl::rt {

/// Entries of a matrix, or of a part of its file, by the bins of RowCounts.
[[nodiscard]] std::vector<plan::Index> entries_by_bin(const Entries& entries, plan::Index rows);
/// Those of all parts together.
[[nodiscard]] std::shared_ptr<const plan::RowCounts> row_counts_of(plan::Index rows,
                                                                   const std::vector<plan::Index>& by_bin);
/// How many elements are stored where `entries` are listed: some may be 0, or of one element.
[[nodiscard]] plan::Estimate stored_of(plan::Index entries, const std::vector<plan::Index>& shape);

}  // namespace tdsl::rt
