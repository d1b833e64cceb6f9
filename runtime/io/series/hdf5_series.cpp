#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "runtime/check.h"
#include "runtime/io/file_bytes.h"
#include "runtime/io/file_kind.h"
#include "runtime/io/output_file.h"
#include "runtime/io/series/formats.h"
#include "runtime/io/tensor/hdf5.h"
#include "runtime/io/tensor/tile_parts.h"
#include "runtime/io/tensor/zarr.h"
#include "runtime/message_id.h"

// Note [Room for records] Chunks are allocated by the library, some records in advance, and written past it at their
// offsets (Note [Datasets are written past the library]). The first extent of the dataset, 8 bytes of its header, is
// then set to the number of complete records. Readers ignore chunks behind it, and the library keeps them.

namespace tdsl::rt {

namespace {

constexpr std::int64_t kFirstRoom = 32, kMostNewRoom = 256;  // records

/// A file with series of this process. The mutex serialises changes of its metadata.
struct SeriesFile {
  explicit SeriesFile(const std::string& path) : fd(::open(path.c_str(), O_RDWR | O_CLOEXEC)) {
    if (fd < 0) fail_file(path, "cannot write", errno);
  }
  ~SeriesFile() { ::close(fd); }
  SeriesFile(const SeriesFile&) = delete;
  SeriesFile& operator=(const SeriesFile&) = delete;
  int fd;
  std::mutex mutex;
};

/// The file if this process has begun or resumed a series in it, else empty.
std::weak_ptr<SeriesFile>& file_slot(const std::string& file) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<SeriesFile>>& files =
      *new std::map<std::string, std::weak_ptr<SeriesFile>>();
  const std::scoped_lock lock(mutex);
  return files[resolve_target(file)];
}

class Hdf5Records final : public RecordFile {
 public:
  Hdf5Records(SeriesLayout its_layout, const OpenSeries& how)
      : RecordFile(std::move(its_layout)),
        name_(hdf5_name(layout().path).value()),
        chunk_(zarr_tile(layout().type, layout().shape(0), kMostRecordChunkBytes)) {
    for (std::size_t d = 1; d < chunk_.size(); ++d)
      chunks_in_record_ *= (layout().record[d - 1] + chunk_[d] - 1) / chunk_[d];
    if (how.way == OpenSeries::Way::kJoin) {
      file_ = std::make_shared<SeriesFile>(name_.file);
      add(offsets_in(how.more));
    }
    if (how.way == OpenSeries::Way::kBegin) begin();
    if (how.way == OpenSeries::Way::kResume) resume(how.records);
  }

  [[nodiscard]] std::string more() const override { return text_of(offsets_); }

  void publish(std::int64_t records) override {
    const std::scoped_lock lock(file_->mutex);
    set_count(records);
  }
  void sync() const override {
    if (::fsync(file_->fd) != 0) fail_file(layout().path, "cannot write", errno);
  }
  void finish() override {
    if (chunks_in_record_ == 0) return;
    const std::scoped_lock lock(file_->mutex);
    static_cast<void>(with_room(published_));
  }

  [[nodiscard]] bool needs_room(std::int64_t record) const override { return record >= room(); }
  [[nodiscard]] std::string make_room(std::int64_t record) override {
    const std::scoped_lock lock(file_->mutex);
    const std::int64_t more = std::clamp(room(), kFirstRoom, kMostNewRoom);
    const Hdf5Series grown = with_room(std::max(room() + more, record + 1));
    add(grown.chunk_offsets);
    return text_of(grown.chunk_offsets);
  }
  void take_room(const std::string& text) override { add(offsets_in(text)); }

 private:
  static std::string text_of(const std::vector<std::int64_t>& offsets) {
    std::string text;
    for (const std::int64_t offset : offsets) text += std::to_string(offset) + " ";
    return text;
  }

  static std::vector<std::int64_t> offsets_in(const std::string& text) {
    std::istringstream words(text);
    std::vector<std::int64_t> offsets;
    for (std::int64_t offset = 0; words >> offset;) offsets.push_back(offset);
    return offsets;
  }

  /// Records that have chunks.
  [[nodiscard]] std::int64_t room() const {
    const std::scoped_lock lock(offsets_mutex_);
    return chunks_in_record_ == 0 ? std::numeric_limits<std::int64_t>::max()
                                  : static_cast<std::int64_t>(offsets_.size()) / chunks_in_record_;
  }
  void add(const std::vector<std::int64_t>& offsets) {
    const std::scoped_lock lock(offsets_mutex_);
    offsets_.insert(offsets_.end(), offsets.begin(), offsets.end());
  }
  void take_place(const Hdf5Series& series) { extent_offset_ = series.extent_offset; }
  void set_count(std::int64_t records) {
    published_ = records;
    write_extent(records);
  }
  void write_extent(std::int64_t records) const {
    write_at(file_->fd, std::as_bytes(std::span(&records, 1)), extent_offset_, layout().path);
  }

  /// Gives the dataset chunks for that number of records. The library finds the first extent with which it left the
  /// dataset: it allocates and frees the chunks between the two. Returns the new ones.
  Hdf5Series with_room(std::int64_t records) {
    write_extent(room());
    try {
      const Hdf5Series series = resized(-1, records, room());
      take_place(series);
      set_count(published_);
      return series;
    } catch (...) {
      write_extent(published_);
      throw;
    }
  }

  template <class Call>
  auto from_library(const Call& call) const {
    try {
      return call(hdf5_plugin(layout().path));
    } catch (const std::runtime_error& error) {
      throw RunError(with_id("cannot write `" + layout().path + "`: " + error.what(), "cannot-write"));
    }
  }
  [[nodiscard]] Hdf5Series resized(std::int64_t records, std::int64_t room, std::int64_t from) const {
    return from_library(
        [&](const Hdf5Plugin& plugin) { return plugin.resize_series(name_.file, name_.dataset, records, room, from); });
  }
  [[nodiscard]] Hdf5Series created(const std::string& file, bool first) const {
    const ElementInfo& element = element_info(layout().type);
    const std::int64_t room = chunks_in_record_ == 0 ? 0 : kFirstRoom;
    return from_library([&](const Hdf5Plugin& plugin) {
      return plugin.create_series(file, first, name_.dataset, element.kind,
                                  static_cast<int>(element_size(layout().type)), layout().shape(room), chunk_);
    });
  }

  /// The first series of a file replaces it.
  void begin() {
    file_ = file_slot(name_.file).lock();
    Hdf5Series series;
    if (file_ == nullptr) {
      OutputFile file = OutputFile::create(name_.file, Unfinished::kNamed);
      series = created("/proc/self/fd/" + std::to_string(file.fd()), true);
      extent_offset_ = series.extent_offset;
      const std::int64_t none = 0;
      file.write(std::as_bytes(std::span(&none, 1)), extent_offset_);
      file.commit();
      file_ = std::make_shared<SeriesFile>(name_.file);
      file_slot(name_.file) = file_;
    } else {
      const std::scoped_lock lock(file_->mutex);
      series = created(name_.file, false);
      take_place(series);
      set_count(0);
    }
    add(series.chunk_offsets);
  }

  void resume(std::int64_t records) {
    if (::access(name_.file.c_str(), F_OK) != 0) fail_resuming(layout(), "it is missing");
    file_ = file_slot(name_.file).lock();
    if (file_ == nullptr) file_slot(name_.file) = file_ = std::make_shared<SeriesFile>(name_.file);
    const std::scoped_lock lock(file_->mutex);
    const Hdf5Layout found =
        from_library([&](const Hdf5Plugin& plugin) { return plugin.open(name_.file, name_.dataset)->layout(); });
    const ElementInfo& element = element_info(layout().type);
    const bool same = !found.shape.empty() && found.kind == element.kind &&
                      found.bytes == static_cast<int>(element_size(layout().type)) && found.chunk == chunk_ &&
                      found.shape == layout().shape(found.shape.front());
    if (!same) fail_resuming(layout(), "it was not written by this program");
    if (found.shape.front() < records) fail_resuming(layout(), found.shape.front(), records);
    const Hdf5Series series = resized(records, chunks_in_record_ == 0 ? records : records + kFirstRoom, 0);
    take_place(series);
    set_count(records);
    add(series.chunk_offsets);
  }

  [[nodiscard]] std::int64_t offset_of(std::int64_t record, const TilePart& part) const {
    std::int64_t number = 0;
    for (std::size_t d = 1; d < chunk_.size(); ++d)
      number = number * ((layout().record[d - 1] + chunk_[d] - 1) / chunk_[d]) + part.tile[d];
    const std::scoped_lock lock(offsets_mutex_);
    return offsets_.at(static_cast<std::size_t>(record * chunks_in_record_ + number));
  }

  WriteCount write(std::int64_t record, ExtentSpan lo, ExtentSpan hi, const void* src,
                   ExtentSpan strides) const override {
    const std::size_t rank = chunk_.size();
    const auto bytes = static_cast<std::int64_t>(element_size(layout().type));
    const Extents all_strides = in_file(0, strides);
    WriteCount all;
    for_each_tile(chunk_, in_file(record, lo), in_file(record + 1, hi), all_strides, [&](const TilePart& part) {
      const WriteCount count = write_dense(file_->fd, chunk_, offset_of(record, part), layout().path, layout().type,
                                           ExtentSpan(part.lo).first(rank), ExtentSpan(part.hi).first(rank),
                                           static_cast<const std::byte*>(src) + part.offset * bytes, all_strides);
      all.calls += count.calls;
      all.bytes += count.bytes;
    });
    return all;
  }

  Hdf5Name name_;
  Extents chunk_;  ///< of one record at most
  std::int64_t chunks_in_record_ = 1;
  std::shared_ptr<SeriesFile> file_;
  std::int64_t extent_offset_ = 0, published_ = 0;  ///< on rank 0
  mutable std::mutex offsets_mutex_;
  std::vector<std::int64_t> offsets_;  ///< of the chunks of all records, in C order
};

}  // namespace

std::shared_ptr<RecordFile> open_hdf5_series(SeriesLayout layout, const OpenSeries& how) {
  return std::make_shared<Hdf5Records>(std::move(layout), how);
}

}  // namespace tdsl::rt
