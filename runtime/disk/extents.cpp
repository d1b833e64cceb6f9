#include "runtime/disk/extents.h"

#include <algorithm>
#include <iterator>

#include "runtime/plan/home.h"

namespace tdsl::rt {

using plan::Index;

ExtentRef DiskSpace::take(Index wanted) {
  const Index bytes = (wanted + plan::kDiskGrain - 1) / plan::kDiskGrain * plan::kDiskGrain;
  Index offset = end_;
  if (const auto fitting = by_size_.lower_bound({bytes, 0}); fitting != by_size_.end()) {
    offset = fitting->second;
    const Index rest = fitting->first - bytes;
    drop_gap(gaps_.find(offset));
    if (rest > 0) {
      gaps_.emplace(offset + bytes, rest);
      by_size_.emplace(rest, offset + bytes);
    }
  } else {
    // Extends a gap at the end of the file.
    if (!gaps_.empty() && std::prev(gaps_.end())->first + std::prev(gaps_.end())->second == end_) {
      offset = std::prev(gaps_.end())->first;
      drop_gap(std::prev(gaps_.end()));
    }
    end_ = offset + bytes;
  }
  used_ += bytes;
  peak_ = std::max(peak_, used_);
  return std::make_unique<Extent>(*this, offset, bytes);
}

void DiskSpace::drop_gap(std::map<Index, Index>::iterator gap) {
  by_size_.erase({gap->second, gap->first});
  gaps_.erase(gap);
}

void DiskSpace::give_back(Index offset, Index bytes) {
  if (bytes == 0) return;
  used_ -= bytes;
  auto after = gaps_.lower_bound(offset);
  if (after != gaps_.end() && after->first == offset + bytes) {
    bytes += after->second;
    drop_gap(after);
    after = gaps_.lower_bound(offset);
  }
  if (after != gaps_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == offset) {
      offset = before->first;
      bytes += before->second;
      drop_gap(before);
    }
  }
  gaps_.emplace(offset, bytes);
  by_size_.emplace(bytes, offset);
}

}  // namespace tdsl::rt
