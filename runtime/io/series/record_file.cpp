#include "runtime/io/series/record_file.h"

#include <utility>

#include "runtime/check.h"
#include "runtime/io/file_kind.h"
#include "runtime/io/output_file.h"
#include "runtime/io/series/formats.h"
#include "runtime/io/tensor/hdf5.h"
#include "runtime/shapes.h"

namespace tdsl::rt {

namespace {

std::shared_ptr<RecordFile> open_series(SeriesLayout layout, const OpenSeries& how) {
  require_series_file(layout.path, layout.record.size());
  if (!hdf5_name(layout.path)) layout.path = resolve_target(layout.path);
  switch (writable_kind(layout.path)) {
    case FileKind::kNpy: return open_npy_series(std::move(layout), how);
    case FileKind::kZarr: return open_zarr_series(std::move(layout), how);
    case FileKind::kHdf5: return open_hdf5_series(std::move(layout), how);
    case FileKind::kCsv: return open_csv_series(std::move(layout), how);
    default: TDSL_CHECK(false, "a format of series"); return nullptr;
  }
}

}  // namespace

Extents in_file(std::int64_t first, ExtentSpan record) {
  Extents all{first};
  all.insert(all.end(), record.begin(), record.end());
  return all;
}

Extents SeriesLayout::shape(std::int64_t records) const { return in_file(records, record); }

std::string RecordFile::token() const {
  std::string token;
  const auto put = [&token](std::string_view part) { token.append(part).push_back('\0'); };
  put(layout_.path);
  put(element_name(layout_.type));
  put(more());
  for (const std::int64_t extent : layout_.record) put(std::to_string(extent));
  return token;
}

std::shared_ptr<RecordFile> begin_records(SeriesLayout layout) {
  return open_series(std::move(layout), {OpenSeries::Way::kBegin, 0, {}});
}

std::shared_ptr<RecordFile> resume_records(SeriesLayout layout, std::int64_t records) {
  return open_series(std::move(layout), {OpenSeries::Way::kResume, records, {}});
}

std::shared_ptr<RecordFile> open_records(std::string_view token) {
  SeriesLayout layout;
  layout.path = take_token_part(token);
  layout.type = element_type_named(take_token_part(token)).value();
  std::string more = take_token_part(token);
  while (!token.empty()) layout.record.push_back(std::stoll(take_token_part(token)));
  return open_series(std::move(layout), {OpenSeries::Way::kJoin, 0, std::move(more)});
}

bool takes_whole_records(const std::string& path) { return writable_kind(path) == FileKind::kCsv; }

void fail_resuming(const SeriesLayout& layout, const std::string& reason) {
  throw RunError("cannot continue the series `" + layout.path + "`: " + reason + " [checkpoint]");
}

void fail_resuming(const SeriesLayout& layout, std::int64_t found, std::int64_t records) {
  fail_resuming(layout, "it has " + counted(static_cast<std::size_t>(found), "record") + ", and the checkpoint " +
                            std::to_string(records));
}

}  // namespace tdsl::rt
