#include "runtime/io/entries/entries.h"

#include <algorithm>
#include <utility>

namespace tdsl::rt {

void Entries::grow() {
  const auto bytes = static_cast<std::int64_t>(form_.bytes());
  room_ = kChunkBytes / bytes;
  if (count_ >= most_) {  // only counting: one piece is reused as scratch memory
    chunks_.clear();
  } else {
    room_ = std::min(room_, most_ - count_);
  }
  chunks_.push_back({std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(room_ * bytes)), 0});
}

void Entries::widen() {
  if (form_.wide) return;
  EntryForm wide = form_;
  wide.wide = true;
  Entries result(wide);
  // Adjusts the limit from narrow to wide entries, rounding up.
  if (most_ != kAnyNumber)
    result.most_ =
        ((most_ + 1) * static_cast<std::int64_t>(form_.bytes()) - 1) / static_cast<std::int64_t>(wide.bytes());
  if (!complete()) {
    result.count_ = count_;
    *this = std::move(result);
    return;
  }
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
