#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/io/tensor/tensor_file.h"
#include "runtime/types.h"

// Note [Files of series] Records of one type and shape are appended to a file while the program runs. A record is
// complete once all ranks have written their parts; then rank 0 publishes the number of complete records. So the file
// is valid at any time, and holds all of them. What follows them in the file belongs to records that are being written.
//
//     rank 0: f = begin_records(…) or resume_records(…)    others: f = open_records(token broadcast by rank 0)
//     all:    f->write_box(record, …) any number of times
//     rank 0: f->publish(records)
//     all:    f->sync()

namespace tdsl::rt {

/// The file of a series, and its records.
struct SeriesLayout {
  std::string path;
  ElementType type = ElementType::kF64;
  Extents record;  ///< shape of a record

  /// Shape of that number of records.
  [[nodiscard]] Extents shape(std::int64_t records) const;
};

/// Positions, extents or strides of a file: `first` in its dimension of records, then those of a record.
[[nodiscard]] Extents in_file(std::int64_t first, ExtentSpan record);

/// A series open for appending. Errors are RunErrors that name the file.
class RecordFile {
 public:
  explicit RecordFile(SeriesLayout layout) : layout_(std::move(layout)) {}
  RecordFile(const RecordFile&) = delete;
  RecordFile& operator=(const RecordFile&) = delete;
  virtual ~RecordFile() = default;

  [[nodiscard]] const SeriesLayout& layout() const { return layout_; }
  /// The bytes another rank needs for `open_records`, to be broadcast.
  [[nodiscard]] std::string token() const;

  /// Writes the half-open box [lo, hi) of a record, as TensorWriter::write_box does. Thread-safe.
  template <Element T>
  void write_box(std::int64_t record, ExtentSpan lo, ExtentSpan hi, const T* src, ExtentSpan strides) const {
    count(write(record, lo, hi, src, strides));
  }
  /// On rank 0: the first `records` records are complete. Calls do not overlap, and numbers do not decrease.
  virtual void publish(std::int64_t records) = 0;
  /// Flushes this process's writes to disk.
  virtual void sync() const = 0;
  /// On rank 0, when all ranks have written everything: frees space that no record needs.
  virtual void finish() {}

  /// True if no part of the record can be written yet: rank 0 calls `make_room`, the others `take_room` with its text.
  /// The same on all ranks.
  [[nodiscard]] virtual bool needs_room(std::int64_t /*record*/) const { return false; }
  [[nodiscard]] virtual std::string make_room(std::int64_t /*record*/) { return {}; }
  virtual void take_room(const std::string& /*text*/) {}
  /// By this process so far.
  [[nodiscard]] WriteCount written() const { return {calls_.load(), bytes_.load()}; }

 protected:
  /// On rank 0: further data that other ranks need.
  [[nodiscard]] virtual std::string more() const { return {}; }
  /// `src` points to elements of the series' type.
  virtual WriteCount write(std::int64_t record, ExtentSpan lo, ExtentSpan hi, const void* src,
                           ExtentSpan strides) const = 0;

 private:
  void count(const WriteCount& more) const {
    calls_ += more.calls;
    bytes_ += more.bytes;
  }

  SeriesLayout layout_;
  mutable std::atomic<std::int64_t> calls_ = 0, bytes_ = 0;
};

/// A new file without records in the format given by the name; replaces an older one.
[[nodiscard]] std::shared_ptr<RecordFile> begin_records(SeriesLayout layout);
/// Continues a file of an earlier run, which is cut back to the first `records` records. A file that is missing, has
/// fewer of them, or records of another type or shape is an error.
[[nodiscard]] std::shared_ptr<RecordFile> resume_records(SeriesLayout layout, std::int64_t records);
/// Opens the file on another rank.
[[nodiscard]] std::shared_ptr<RecordFile> open_records(std::string_view token);

/// True if rank 0 writes whole records: lines of a text.
[[nodiscard]] bool takes_whole_records(const std::string& path);

}  // namespace tdsl::rt
