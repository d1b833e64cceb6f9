#include "runtime/io/entries/entry_file.h"

namespace tdsl::rt {

std::pair<EntryFile::Extents, Entries> read_whole(const EntryFile& file, ElementType type) {
  EntryFile::Part part = file.read(type, 0, 1);
  const EntryFile::Tally tally = part.tally;
  EntryFile::Extents shape = file.settle({&tally, 1}, 0, part);
  return {std::move(shape), std::move(part.entries)};
}

EntryFile::Extents find_shape(const EntryFile& file) {
  if (std::optional<EntryFile::Extents> shape = file.shape()) return *shape;
  return read_whole(file, ElementType::kF64).first;
}

}  // namespace tdsl::rt
