#pragma once

#include <memory>
#include <vector>

#include "runtime/io/entries/entries.h"
#include "runtime/plan/storage.h"

namespace tdsl::rt {

/// Counts the entries of a matrix, or of a share of its file, by the bins of RowCounts.
[[nodiscard]] std::vector<plan::Index> entries_by_bin(const Entries& entries, plan::Index rows);
/// Row counts summed over all shares.
[[nodiscard]] std::shared_ptr<const plan::RowCounts> row_counts_of(plan::Index rows,
                                                                   const std::vector<plan::Index>& by_bin);
/// Estimated number of stored elements for `entries` listed entries: some may be 0 or duplicates.
[[nodiscard]] plan::Estimate stored_of(plan::Index entries, const std::vector<plan::Index>& shape);

}  // namespace tdsl::rt
