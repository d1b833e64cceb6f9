#include "runtime/sparse/block.h"

#include "runtime/check.h"

namespace tdsl::rt::sparse {

BlockArrays arrays_of(const BlockHead& head) {
  TDSL_CHECK(!head.has(BlockHead::kEntries), "entries are assembled before they are read");
  TDSL_CHECK(!head.is_coded(), "coded columns are read as such or decoded");
  constexpr Index kAlignment = 64;
  BlockArrays arrays;
  arrays.bytes = sizeof(BlockHead);
  const auto place = [&](Index bytes) {
    const Index at = arrays.bytes;
    arrays.bytes += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return at;
  };
  for (std::size_t l = 0; l < head.levels; ++l) {
    const bool listed = head.kind[l] == Level::kCompressed;
    arrays.position[l] = listed && l > 0 ? place((head.count[l - 1] + 1) * static_cast<Index>(sizeof(Index))) : -1;
    arrays.coordinate[l] = listed ? place(head.count[l] * static_cast<Index>(sizeof(std::uint32_t))) : -1;
  }
  if (head.has(BlockHead::kValues))
    arrays.values = place(head.stored() * static_cast<Index>(element_size(head.type())));
  return arrays;
}

}  // namespace tdsl::rt::sparse
