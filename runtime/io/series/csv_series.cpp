#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <concepts>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/check.h"
#include "runtime/io/file_bytes.h"
#include "runtime/io/output_file.h"
#include "runtime/io/series/formats.h"
#include "runtime/real_types.h"

namespace tdsl::rt {

namespace {

/// As CsvWriter writes it.
template <class T>
std::string csv_field(T value) {
  if constexpr (std::same_as<T, bool>) {
    return value ? "1" : "0";
  } else {
    std::array<char, 64> digits;
    return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr};
  }
}

/// The lines of complete records are written by `publish`.
class CsvSeries final : public RecordFile {
 public:
  CsvSeries(SeriesLayout its_layout, const OpenSeries& how) : RecordFile(std::move(its_layout)) {
    if (how.way == OpenSeries::Way::kJoin) return;  // rank 0 writes
    if (how.way == OpenSeries::Way::kBegin) OutputFile::create(path(), Unfinished::kUnnamed).commit();
    fd_ = ::open(path().c_str(), O_RDWR | O_CLOEXEC);
    if (fd_ < 0 && how.way == OpenSeries::Way::kResume && errno == ENOENT) fail_resuming(layout(), "it is missing");
    if (fd_ < 0) fail_file(path(), "cannot write", errno);
    if (how.way == OpenSeries::Way::kResume) cut(how.records);
  }
  ~CsvSeries() override {
    if (fd_ >= 0) ::close(fd_);
  }

  void publish(std::int64_t records) override {
    std::string text;
    {
      const std::scoped_lock lock(mutex_);
      for (; records_ < records; ++records_) text += line_of(lines_.extract(records_).mapped());
    }
    try {
      write_at(fd_, std::as_bytes(std::span(text)), bytes_, path());
    } catch (...) {
      [[maybe_unused]] const int cut = ::ftruncate(fd_, bytes_);  // no part of a line stays
      throw;
    }
    bytes_ += static_cast<std::int64_t>(text.size());
  }
  void sync() const override {
    if (fd_ >= 0 && ::fsync(fd_) != 0) fail_file(path(), "cannot write", errno);
  }

 private:
  using Line = std::vector<std::string>;

  [[nodiscard]] const std::string& path() const { return layout().path; }

  static std::string line_of(const Line& fields) {
    std::string text;
    for (const std::string& field : fields) text += (&field == &fields.front() ? "" : ",") + field;
    return text + "\n";
  }

  /// Finds the end of the last line to keep, and removes what follows it.
  void cut(std::int64_t records) {
    constexpr std::int64_t kPiece = 1 << 20;
    struct stat status {};
    if (::fstat(fd_, &status) != 0) fail_file(path(), "cannot read", errno);
    std::string piece;
    for (std::int64_t at = 0; at < status.st_size && records_ < records; at += kPiece) {
      piece.resize(static_cast<std::size_t>(std::min<std::int64_t>(kPiece, status.st_size - at)));
      read_at(fd_, std::as_writable_bytes(std::span(piece)), at, path());
      for (std::size_t k = 0; k < piece.size() && records_ < records; ++k) {
        if (piece[k] != '\n') continue;
        ++records_;
        bytes_ = at + static_cast<std::int64_t>(k) + 1;
      }
    }
    if (records_ < records) fail_resuming(layout(), records_, records);
    if (::ftruncate(fd_, bytes_) != 0) fail_file(path(), "cannot write", errno);
  }

  WriteCount write(std::int64_t record, ExtentSpan lo, ExtentSpan hi, const void* src,
                   ExtentSpan strides) const override {
    const bool scalar = layout().record.empty();
    const std::int64_t first = scalar ? 0 : lo[0], end = scalar ? 1 : hi[0], stride = scalar ? 1 : strides[0];
    const std::scoped_lock lock(mutex_);
    Line& line = lines_[record];
    line.resize(static_cast<std::size_t>(scalar ? 1 : layout().record[0]));
    visit_real_type(layout().type, path(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (std::int64_t x = first; x < end; ++x)
        line[static_cast<std::size_t>(x)] = csv_field(static_cast<const T*>(src)[(x - first) * stride]);
    });
    return {};
  }

  int fd_ = -1;  ///< on rank 0
  std::int64_t records_ = 0, bytes_ = 0;
  mutable std::mutex mutex_;
  mutable std::map<std::int64_t, Line> lines_;  ///< of records that are not published
};

}  // namespace

std::shared_ptr<RecordFile> open_csv_series(SeriesLayout layout, const OpenSeries& how) {
  return std::make_shared<CsvSeries>(std::move(layout), how);
}

}  // namespace tdsl::rt
