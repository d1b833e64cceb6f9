#pragma once

#include <map>
#include <memory>
#include <set>
#include <utility>

#include "runtime/plan/space/index.h"

namespace tdsl::rt {

/// Allocator for ranges of a file: best fit, merging adjacent gaps.
class DiskSpace {
 public:
  /// An allocated range, released by the destructor.
  class Extent {
   public:
    Extent(DiskSpace& extents, plan::Index offset, plan::Index bytes)
        : extents_(extents), offset_(offset), bytes_(bytes) {}
    ~Extent() { extents_.give_back(offset_, bytes_); }
    Extent(const Extent&) = delete;
    Extent& operator=(const Extent&) = delete;
    [[nodiscard]] plan::Index offset() const { return offset_; }

   private:
    DiskSpace& extents_;
    plan::Index offset_, bytes_;  ///< multiples of the grain size
  };

  /// Allocates a range aligned to plan::kDiskGrain at both ends.
  [[nodiscard]] std::unique_ptr<Extent> take(plan::Index bytes);
  [[nodiscard]] plan::Index used_bytes() const { return used_; }
  [[nodiscard]] plan::Index peak_bytes() const { return peak_; }
  /// Upper bound of the file's size.
  [[nodiscard]] plan::Index end() const { return end_; }

 private:
  void give_back(plan::Index offset, plan::Index bytes);
  void drop_gap(std::map<plan::Index, plan::Index>::iterator gap);

  std::map<plan::Index, plan::Index> gaps_;                ///< offset to bytes
  std::set<std::pair<plan::Index, plan::Index>> by_size_;  ///< the same, sorted by (bytes, offset)
  plan::Index end_ = 0, used_ = 0, peak_ = 0;
};
using ExtentRef = std::unique_ptr<DiskSpace::Extent>;

}  // namespace tdsl::rt
