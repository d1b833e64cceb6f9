#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "runtime/check.h"
#include "runtime/io/file_bytes.h"
#include "runtime/io/npy/npy.h"
#include "runtime/io/series/formats.h"

namespace tdsl::rt {

namespace {

class NpySeries final : public RecordFile {
 public:
  NpySeries(SeriesLayout its_layout, const OpenSeries& how)
      : RecordFile(std::move(its_layout)), header_bytes_(npy_series_header(layout().type, layout().shape(0)).size()) {
    for (const std::int64_t extent : layout().record) record_bytes_ *= extent;
    record_bytes_ *= static_cast<std::int64_t>(element_size(layout().type));
    if (how.way == OpenSeries::Way::kBegin) begin();
    fd_ = ::open(path().c_str(), O_RDWR | O_CLOEXEC);
    if (fd_ < 0 && how.way == OpenSeries::Way::kResume && errno == ENOENT) fail_resuming(layout(), "it is missing");
    if (fd_ < 0) fail_file(path(), "cannot write", errno);
    if (how.way == OpenSeries::Way::kResume) cut(how.records);
  }
  ~NpySeries() override {
    if (fd_ >= 0) ::close(fd_);
  }

  void publish(std::int64_t records) override {
    const std::string header = npy_series_header(layout().type, layout().shape(records));
    write_at(fd_, std::as_bytes(std::span(header)), 0, path());
  }
  void sync() const override {
    if (::fsync(fd_) != 0) fail_file(path(), "cannot write", errno);
  }

 private:
  [[nodiscard]] const std::string& path() const { return layout().path; }

  void begin() const {
    OutputFile file = OutputFile::create(path(), Unfinished::kUnnamed);
    const std::string header = npy_series_header(layout().type, layout().shape(0));
    file.write(std::as_bytes(std::span(header)), 0);
    file.commit();
  }

  /// Checks the header, publishes the records and removes what follows them.
  void cut(std::int64_t records) {
    const OpenFile file(path());
    const NpyHeader found = read_npy_header(file);
    Extents record = found.shape;
    if (!record.empty()) record.erase(record.begin());
    const bool same = !found.shape.empty() && !found.fortran && record == layout().record &&
                      npy_descriptor(layout().type) == npy_descriptor(type_of(found)) &&
                      found.data_offset == static_cast<std::int64_t>(header_bytes_);
    if (!same) fail_resuming(layout(), "it was not written by this program");
    const std::int64_t whole =
        record_bytes_ == 0 ? records : std::max<std::int64_t>(file.bytes() - found.data_offset, 0) / record_bytes_;
    if (std::min(found.shape.front(), whole) < records)
      fail_resuming(layout(), std::min(found.shape.front(), whole), records);
    publish(records);
    if (::ftruncate(fd_, found.data_offset + records * record_bytes_) != 0) fail_file(path(), "cannot write", errno);
  }

  WriteCount write(std::int64_t record, ExtentSpan lo, ExtentSpan hi, const void* src,
                   ExtentSpan strides) const override {
    return write_dense(fd_, layout().record, static_cast<std::int64_t>(header_bytes_) + record * record_bytes_, path(),
                       layout().type, lo, hi, src, strides);
  }

  std::size_t header_bytes_;
  std::int64_t record_bytes_ = 1;
  int fd_ = -1;
};

}  // namespace

std::shared_ptr<RecordFile> open_npy_series(SeriesLayout layout, const OpenSeries& how) {
  return std::make_shared<NpySeries>(std::move(layout), how);
}

}  // namespace tdsl::rt
