#include "runtime/disk/disk.h"

#include <utility>

namespace tdsl::rt {

using plan::Index;

void for_each_run(const DiskBox& box, const std::function<void(Index, Index, Index)>& f) {
  if (box.part.empty()) return;
  // The part covers dimensions after `inner` completely, so dimensions from `inner` on form a single run.
  int inner = box.part.rank;
  Index elements = 1;
  while (inner > 0) {
    --inner;
    elements *= box.part[inner].size();
    if (!(box.part[inner] == box.whole[inner])) break;
  }
  const Index bytes = elements * box.element_bytes;
  plan::Coord at;
  for (int d = 0; d < box.part.rank; ++d) at[d] = box.part[d].lo;
  Index dense = 0;
  while (true) {
    Index element = 0;
    for (int d = 0; d < box.part.rank; ++d) element = element * box.whole[d].size() + at[d] - box.whole[d].lo;
    f(box.offset + element * box.element_bytes, bytes, dense);
    dense += bytes;
    int d = inner - 1;
    for (; d >= 0; --d) {
      if (++at[d] < box.part[d].hi) break;
      at[d] = box.part[d].lo;
    }
    if (d < 0) return;
  }
}

void Disk::write(Index offset, std::span<const std::byte> from, std::uint64_t cookie) {
  traffic_.written += static_cast<Index>(from.size());
  ++traffic_.requests;
  begin_write(offset, from, cookie);
}

void Disk::read(const DiskBox& box, std::byte* to, std::uint64_t cookie) {
  traffic_.read += box.part.volume() * box.element_bytes;
  ++traffic_.requests;
  begin_read(box, to, cookie);
}

void Disk::load(std::function<void()> read, Index bytes, std::uint64_t cookie) {
  traffic_.loaded += bytes;
  ++traffic_.requests;
  begin_load(std::move(read), cookie);
}

}  // namespace tdsl::rt
