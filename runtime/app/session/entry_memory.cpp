#include "runtime/app/session/entry_memory.h"

namespace tdsl::rt {

using plan::Index;

std::vector<Index> entries_by_bin(const Entries& entries, Index extent, int dimension) {
  const plan::Tiling bins = plan::Tiling::near_equal(extent, plan::RowCounts::bins_of(extent));
  std::vector<Index> counts(static_cast<std::size_t>(bins.tiles()), 0);
  const EntryForm form = entries.form();
  entries.for_each([&](const std::byte* entry) {
    ++counts[static_cast<std::size_t>(bins.tile_of(form.coordinate(entry, dimension)))];
  });
  return counts;
}

std::shared_ptr<const plan::RowCounts> row_counts_of(Index rows, const std::vector<Index>& by_rows,
                                                     const std::vector<Index>& by_columns) {
  if (by_rows.empty()) return nullptr;
  auto counts = std::make_shared<plan::RowCounts>();
  counts->rows = rows;
  counts->before = {0};
  for (const Index here : by_rows) counts->before.push_back(counts->before.back() + here);
  for (const Index here : by_columns) counts->fullest_column = std::max(counts->fullest_column, here);
  return counts;
}

plan::Estimate stored_of(Index entries, const std::vector<Index>& shape) {
  const double most = std::min(static_cast<double>(entries), plan::guessed_stored(shape).hi);
  return {0, most, most};
}

}  // namespace tdsl::rt
