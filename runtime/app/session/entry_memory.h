#pragma once

#include <algorithm>

#include "runtime/app/run/program_info.h"
#include "runtime/plan/space/index.h"

namespace tdsl::rt {

/// What a rank's shares of files of entries take under `--memory`: all of them are read before the first is brought to
/// its tiles, and then the entries of one are there twice (Note [Entries find their tiles]).
class EntryMemory {
 public:
  /// 0: as much as there is.
  explicit EntryMemory(plan::Index memory) : memory_(memory) {}

  /// Bytes for the entries of one more file; 0: any number.
  [[nodiscard]] plan::Index room() const {
    if (memory_ == 0) return 0;
    return std::max<plan::Index>(1, std::min(memory_ - held_ - largest_, (memory_ - held_) / 2));
  }
  /// They have been read, or counted.
  void add(plan::Index bytes, bool fit) {
    held_ += bytes;
    largest_ = std::max(largest_, bytes);
    if (!fit) memory_ = 1;
  }
  /// The least that this rank needs.
  [[nodiscard]] plan::Index least() const { return held_ + largest_; }

  void refuse(const InputDeclaration& input) {
    if (refused_ == nullptr) refused_ = &input;
  }
  /// The first input whose entries do not fit on some rank.
  [[nodiscard]] const InputDeclaration* refused() const { return refused_; }

 private:
  plan::Index memory_;
  plan::Index held_ = 0;
  plan::Index largest_ = 0;
  const InputDeclaration* refused_ = nullptr;
};

/// Bytes of entries on a rank at the peak, of a file with `entries`, evenly shared and placed.
[[nodiscard]] inline double entry_peak_bytes(double entries, double bytes_each, double ranks) {
  return 2.0 * entries * bytes_each / ranks;
}

}  // namespace tdsl::rt
