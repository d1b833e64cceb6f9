#include "runtime/io/entries/entry_file.h"

namespace tdsl::rt {

std::pair<EntryFile::Extents, Entries> read_whole(const EntryFile& file, ElementType type) {
  EntryFile::Part part = file.read(type, 0, 1);
  const EntryFile::Tally tally = part.tally;
  EntryFile::Extents shape = file.settle({&tally, 1}, 0, part);
  return {std::move(shape), std::move(part.entries)};
}

EntryFile::Range EntryFile::range_of(std::int64_t begin, std::int64_t end, std::int64_t part, std::int64_t parts) {
  const __int128 all = end - begin;
  return {begin + static_cast<std::int64_t>(all * part / parts),
          begin + static_cast<std::int64_t>(all * (part + 1) / parts)};
}

std::pair<std::int64_t, std::int64_t> EntryFile::lines_of(std::span<const Tally> tallies, std::int64_t part) {
  std::int64_t before = 0, all = 0;
  for (std::size_t p = 0; p < tallies.size(); ++p) {
    if (static_cast<std::int64_t>(p) < part) before += tallies[p].lines;
    all += tallies[p].lines;
  }
  return {before, all};
}

EntryFile::Extents find_shape(const EntryFile& file, ElementType type) {
  if (std::optional<EntryFile::Extents> shape = file.shape()) return *shape;
  return read_whole(file, type).first;
}

}  // namespace tdsl::rt
