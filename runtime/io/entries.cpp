#include "runtime/io/entries.h"

#include <utility>

namespace tdsl::rt {

void Entries::widen() {
  if (form_.wide) return;
  EntryForm wide = form_;
  wide.wide = true;
  Entries result(wide);
  const std::size_t values = form_.bytes() - form_.value_offset();
  for (Chunk& chunk : chunks_) {
    for (std::int64_t k = 0; k < chunk.count; ++k) {
      const std::byte* const from = chunk.data.get() + static_cast<std::size_t>(k) * form_.bytes();
      std::byte* const to = result.append();
      for (int d = 0; d < form_.rank; ++d) wide.set_coordinate(to, d, form_.coordinate(from, d));
      std::memcpy(to + wide.value_offset(), from + form_.value_offset(), values);
    }
    chunk.data.reset();
  }
  *this = std::move(result);
}

}  // namespace tdsl::rt
