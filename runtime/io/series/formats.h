#pragma once

#include <memory>

#include "runtime/io/series/record_file.h"

// The formats of series. `how` distinguishes a new file, a file that is continued after a number of records, and one
// prepared by rank 0.

namespace tdsl::rt {

struct OpenSeries {
  enum class Way : std::uint8_t { kBegin, kResume, kJoin } way = Way::kBegin;
  std::int64_t records = 0;  ///< kResume
  std::string more{};        ///< kJoin: RecordFile::more of rank 0
};

/// `.npy`: a header with room for any number of records, which numpy.load reads, and the records behind it.
[[nodiscard]] std::shared_ptr<RecordFile> open_npy_series(SeriesLayout layout, const OpenSeries& how);
/// `.zarr`: the chunks of a record are files; `.zarray` is replaced when a record is complete.
[[nodiscard]] std::shared_ptr<RecordFile> open_zarr_series(SeriesLayout layout, const OpenSeries& how);
/// A dataset of an `.h5` file with an unlimited first dimension; a record is one chunk of at most 16 MiB, or several.
/// The series of a run that name one file are in it.
[[nodiscard]] std::shared_ptr<RecordFile> open_hdf5_series(SeriesLayout layout, const OpenSeries& how);
/// `.csv`: a line per record, a scalar or a vector. On rank 0 only.
[[nodiscard]] std::shared_ptr<RecordFile> open_csv_series(SeriesLayout layout, const OpenSeries& how);

/// Throws RunError: the series cannot be continued, because of `reason`.
[[noreturn]] void fail_resuming(const SeriesLayout& layout, const std::string& reason);
/// The same for a file of `found` records.
[[noreturn]] void fail_resuming(const SeriesLayout& layout, std::int64_t found, std::int64_t records);

}  // namespace tdsl::rt
