#include "runtime/sparse/assembly.h"

#include "runtime/check.h"

namespace tdsl::rt::sparse {

BlockHead entry_block_head(const EntryForm& form, ElementType element, Index entries) {
  TDSL_CHECK(entries > 0 && form.rank > 0, "a block without entries is absent");
  BlockHead head;
  head.levels = static_cast<std::uint8_t>(form.rank);
  head.element = static_cast<std::uint8_t>(element);
  head.flags = BlockHead::kEntries;
  head.kind.fill(Level::kCompressed);
  for (std::size_t l = 0; l < head.levels; ++l) head.count[l] = entries;
  head.bytes = static_cast<Index>(sizeof(BlockHead)) + entries * static_cast<Index>(form.bytes());
  return head;
}

std::span<const std::byte> entries_in(const BlockHead& block, const EntryForm& form) {
  TDSL_CHECK(block.has(BlockHead::kEntries) && block.levels == form.rank, "a block of entries");
  return {reinterpret_cast<const std::byte*>(&block) + sizeof(BlockHead),
          static_cast<std::size_t>(block.stored()) * form.bytes()};
}

}  // namespace tdsl::rt::sparse
