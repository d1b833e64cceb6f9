#pragma once

#include <map>
#include <memory>
#include <set>
#include <utility>

#include "runtime/plan/space/index.h"

namespace tdsl::rt {

/// Which parts of a file are in use. What is given back is used again: the smallest gap that is large enough, and
/// neighbouring gaps are one.
class DiskSpace {
 public:
  /// Returned when it goes.
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
    plan::Index offset_, bytes_;  ///< of whole grains
  };

  /// Begins and ends at multiples of plan::kDiskGrain.
  [[nodiscard]] std::unique_ptr<Extent> take(plan::Index bytes);
  [[nodiscard]] plan::Index used_bytes() const { return used_; }
  [[nodiscard]] plan::Index peak_bytes() const { return peak_; }
  /// The file is never longer.
  [[nodiscard]] plan::Index end() const { return end_; }

 private:
  void give_back(plan::Index offset, plan::Index bytes);
  void drop_gap(std::map<plan::Index, plan::Index>::iterator gap);

  std::map<plan::Index, plan::Index> gaps_;                ///< bytes by offset
  std::set<std::pair<plan::Index, plan::Index>> by_size_;  ///< the same: bytes, offset
  plan::Index end_ = 0, used_ = 0, peak_ = 0;
};
using ExtentRef = std::unique_ptr<DiskSpace::Extent>;

}  // namespace tdsl::rt
