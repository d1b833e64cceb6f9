#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "runtime/check.h"
#include "runtime/types.h"

namespace tdsl::rt {

/// A run of elements contiguous in a file.
struct FileRow {
  std::int64_t file_index = 0;     ///< of its first element, in elements from the first in the file
  std::int64_t memory_offset = 0;  ///< of its first element, in elements
  std::int64_t count = 0;
  std::int64_t memory_stride = 1;  ///< between adjacent elements, in elements
};

/// The rows of a box of a dense file, in file order. A row runs along the file's fastest dimension, and over several
/// whole rows if they are also consecutive in memory.
class BoxRows {
 public:
  /// `shape`, `lo`, `hi` and `strides` (of memory) have one entry per dimension. Checks 0 <= lo <= hi <= shape.
  BoxRows(std::span<const std::int64_t> shape, bool fortran, std::span<const std::int64_t> lo,
          std::span<const std::int64_t> hi, std::span<const std::int64_t> strides)
      : rank_(shape.size()) {
    TDSL_CHECK(rank_ <= kMaxRank && lo.size() == rank_ && hi.size() == rank_ && strides.size() == rank_,
               "a box has one entry per dimension of its file");
    std::int64_t file_stride = 1;
    for (std::size_t position = 0; position < rank_; ++position) {
      const std::size_t d = fortran ? position : rank_ - 1 - position;  // fastest dimension first
      TDSL_CHECK(0 <= lo[d] && lo[d] <= hi[d] && hi[d] <= shape[d], "a box lies inside its file");
      extent_[position] = hi[d] - lo[d];
      file_stride_[position] = file_stride;
      memory_stride_[position] = strides[d];
      first_.file_index += lo[d] * file_stride;
      file_stride *= shape[d];
    }
    join_rows();
    for (std::size_t position = 1; position < rank_; ++position) rows_ *= extent_[position];
    first_.count = rank_ == 0 ? 1 : extent_[0];
    first_.memory_stride = rank_ == 0 ? 1 : memory_stride_[0];
    if (first_.count == 0) { rows_ = 0; }
  }

  /// Calls `f(FileRow)` for every non-empty row.
  template <class F>
  void for_each(F&& f) const {
    std::array<std::int64_t, kMaxRank> x{};
    FileRow row = first_;
    for (std::int64_t i = 0; i < rows_; ++i) {
      f(row);
      for (std::size_t d = 1; d < rank_; ++d) {
        row.file_index += file_stride_[d];
        row.memory_offset += memory_stride_[d];
        if (++x[d] < extent_[d]) { break; }
        row.file_index -= x[d] * file_stride_[d];
        row.memory_offset -= x[d] * memory_stride_[d];
        x[d] = 0;
      }
    }
  }

 private:
  /// Merges rows that are consecutive both in the file and in memory.
  void join_rows() {
    while (rank_ > 1 && extent_[0] == file_stride_[1] && memory_stride_[1] == extent_[0] * memory_stride_[0]) {
      extent_[0] *= extent_[1];
      for (std::size_t d = 2; d < rank_; ++d) {
        extent_[d - 1] = extent_[d];
        file_stride_[d - 1] = file_stride_[d];
        memory_stride_[d - 1] = memory_stride_[d];
      }
      --rank_;
    }
  }

  std::size_t rank_;
  std::int64_t rows_ = 1;
  FileRow first_;
  std::array<std::int64_t, kMaxRank> extent_{}, file_stride_{}, memory_stride_{};
};

}  // namespace tdsl::rt
