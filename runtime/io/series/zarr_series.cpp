#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/io/file_bytes.h"
#include "runtime/io/series/formats.h"
#include "runtime/io/tensor/zarr.h"

namespace tdsl::rt {

namespace {

void sync_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool good = fd >= 0 && ::fsync(fd) == 0;
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (!good) fail_file(path, "cannot write", error);
}

class ZarrSeries final : public RecordFile {
 public:
  ZarrSeries(SeriesLayout its_layout, const OpenSeries& how)
      : RecordFile(std::move(its_layout)), tile_(zarr_tile(layout().type, layout().shape(0))) {
    if (how.way == OpenSeries::Way::kBegin)
      ZarrWriter::create(path(), layout().type, layout().shape(0))->commit();
    else if (how.way == OpenSeries::Way::kResume)
      cut(how.records);
    else if (::access(head().c_str(), F_OK) != 0)
      fail_file(path(), "cannot write from every rank (do all nodes see its directory?)", errno);
  }

  void publish(std::int64_t records) override {
    const std::string temporary = path() + "/.zarray.tmp", text = text_of(records);
    std::FILE* const file = std::fopen(temporary.c_str(), "we");
    bool good = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
    if (file != nullptr) good = std::fclose(file) == 0 && good;
    if (good && ::rename(temporary.c_str(), head().c_str()) == 0) return;
    const int error = errno;
    ::unlink(temporary.c_str());
    fail_file(path(), "cannot write", error);
  }

  void sync() const override {
    std::set<std::string> files;
    {
      const std::scoped_lock lock(mutex_);
      files.swap(written_);
    }
    for (const std::string& name : files) sync_file(path() + "/" + name);
    sync_file(head());
    sync_file(path());
  }

 private:
  [[nodiscard]] const std::string& path() const { return layout().path; }
  [[nodiscard]] std::string head() const { return path() + "/.zarray"; }
  [[nodiscard]] std::string text_of(std::int64_t records) const {
    return zarray_text(layout().type, layout().shape(records), tile_);
  }

  void cut(std::int64_t records) {
    if (::access(head().c_str(), F_OK) != 0) fail_resuming(layout(), "it is missing");
    const std::int64_t found = ZarrReader(path()).shape().empty() ? 0 : ZarrReader(path()).shape().front();
    if (read_head() != text_of(found)) fail_resuming(layout(), "it was not written by this program");
    if (found < records) fail_resuming(layout(), found, records);
    publish(records);
    remove_from(records);
  }

  [[nodiscard]] std::string read_head() const {
    const OpenFile file(head());
    std::string text(static_cast<std::size_t>(file.bytes()), '\0');
    read_at(file.fd(), std::as_writable_bytes(std::span(text)), 0, head());
    return text;
  }

  /// Removes the chunks of records from number `records` on.
  void remove_from(std::int64_t records) const {
    std::error_code error;
    std::vector<std::filesystem::path> later;
    for (std::filesystem::directory_iterator at(path(), error), end; !error && at != end; at.increment(error)) {
      const std::string name = at->path().filename().string();
      const std::size_t digits = name.find_first_not_of("0123456789");
      if (digits == 0 || (digits != std::string::npos && name[digits] != '.') || name.size() > 100) continue;
      if (std::stoll(name.substr(0, digits)) >= records) later.push_back(at->path());
    }
    for (const std::filesystem::path& file : later) std::filesystem::remove(file, error);
    if (error) fail_file(path(), "cannot write", error.value());
  }

  WriteCount write(std::int64_t record, ExtentSpan lo, ExtentSpan hi, const void* src,
                   ExtentSpan strides) const override {
    return write_zarr_tiles(path(), layout().type, tile_, in_file(record, lo), in_file(record + 1, hi), src,
                            in_file(0, strides), [this](const std::string& name) {
                              const std::scoped_lock lock(mutex_);
                              written_.insert(name);
                            });
  }

  Extents tile_;  ///< one record at most
  mutable std::mutex mutex_;
  mutable std::set<std::string> written_;  ///< since the last sync
};

}  // namespace

std::shared_ptr<RecordFile> open_zarr_series(SeriesLayout layout, const OpenSeries& how) {
  return std::make_shared<ZarrSeries>(std::move(layout), how);
}

}  // namespace tdsl::rt
