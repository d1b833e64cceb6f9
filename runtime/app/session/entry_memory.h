#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "runtime/app/run/program_info.h"
#include "runtime/io/entries/entries.h"
#include "runtime/plan/space/index.h"
#include "runtime/plan/storage.h"

namespace tdsl::rt {

/// Memory budget for files of entries under `--memory`: each rank reads its shares of all files before the first is
/// redistributed to tiles, and during redistribution one file's entries exist twice (Note [Entries find their tiles]).
class EntryMemory {
 public:
  /// `memory` 0: unlimited.
  explicit EntryMemory(plan::Index memory) : memory_(memory) {}

  /// Bytes available for the entries of one more file; 0: unlimited.
  [[nodiscard]] plan::Index room() const {
    if (memory_ == 0) return 0;
    return std::max<plan::Index>(1, std::min(memory_ - held_ - largest_, (memory_ - held_) / 2));
  }
  /// Adds a file whose entries have been read, or only counted.
  void add(plan::Index bytes, bool fit) {
    held_ += bytes;
    largest_ = std::max(largest_, bytes);
    if (!fit) memory_ = 1;
  }
  /// The least memory that this rank needs.
  [[nodiscard]] plan::Index least() const { return held_ + largest_; }

  void refuse(const InputDeclaration& input) {
    if (refused_ == nullptr) refused_ = &input;
  }
  /// The first input whose entries do not fit on some rank; null if all fit.
  [[nodiscard]] const InputDeclaration* refused() const { return refused_; }

 private:
  plan::Index memory_;
  plan::Index held_ = 0;
  plan::Index largest_ = 0;
  const InputDeclaration* refused_ = nullptr;
};

/// Peak bytes of entries per rank for a file with `entries`, evenly divided before and after redistribution.
[[nodiscard]] inline double entry_peak_bytes(double entries, double bytes_each, double ranks) {
  return 2.0 * entries * bytes_each / ranks;
}

/// Counts the entries of a matrix, or of a share of its file, by bins of rows or columns, as many as RowCounts has.
[[nodiscard]] std::vector<plan::Index> entries_by_bin(const Entries& entries, plan::Index extent, int dimension = 0);
/// Counts summed over all shares.
[[nodiscard]] std::shared_ptr<const plan::RowCounts> row_counts_of(plan::Index rows,
                                                                   const std::vector<plan::Index>& by_rows,
                                                                   const std::vector<plan::Index>& by_columns);
/// Estimated number of stored elements for `entries` listed entries: some may be 0 or duplicates.
[[nodiscard]] plan::Estimate stored_of(plan::Index entries, const std::vector<plan::Index>& shape);

}  // namespace tdsl::rt
