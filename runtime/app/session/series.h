#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/check.h"
#include "runtime/checkpoint/manifest.h"
#include "runtime/io/series/record_file.h"
#include "runtime/kernels/task.h"
#include "runtime/record/tensor.h"

// Series of a run: records of an `output` in a loop. Every rank writes its part of a record in a kernel and notes its
// elements; rank 0 counts them, and publishes a record once it and all earlier ones are complete
// (io/series/record_file.h). Records are independent operations: several may be under way.

namespace tdsl::rt {

class Series {
 public:
  /// `place`: of its output statement. `file`: null in a dry run and for a series without a file, whose last record is
  /// kept as text. `saved`: the state at the checkpoint that the run resumes from.
  Series(std::string name, SourceLine place, SeriesLayout layout, std::shared_ptr<RecordFile> file,
         const checkpoint::SavedSeries* saved);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] SourceLine place() const { return place_; }
  [[nodiscard]] const SeriesLayout& layout() const { return layout_; }
  [[nodiscard]] const std::shared_ptr<RecordFile>& file() const { return file_; }
  /// The site that appends records; 0: none so far.
  [[nodiscard]] int site() const { return site_; }
  void appends(int site) { site_ = site; }

  /// On rank 0: the record is complete.
  void complete(Index record);
  /// On rank 0: the record as format_summary writes it; complete.
  void show(Index record, std::string text);

  /// On rank 0: the number of complete records, all of them in front of any other.
  [[nodiscard]] Index records() const;
  /// On rank 0, for a checkpoint: all records recorded so far are complete.
  [[nodiscard]] checkpoint::SavedSeries saved() const;
  /// On rank 0: the number of records and the last one.
  [[nodiscard]] std::string summary() const;

 private:
  void count(Index record);

  std::string name_;
  SourceLine place_;
  SeriesLayout layout_;
  std::shared_ptr<RecordFile> file_;
  int site_ = 0;
  mutable std::mutex mutex_;
  Index records_ = 0;
  std::set<Index> later_;  ///< complete records behind an incomplete one
  Index shown_ = -1;       ///< the record that `text_` shows
  std::string text_;
};

/// The series of a run, in the order in which they begin.
class SeriesList {
 public:
  void add(std::shared_ptr<Series> series);
  [[nodiscard]] std::vector<std::shared_ptr<Series>> all() const;
  /// Null if there is none of that name.
  [[nodiscard]] std::shared_ptr<Series> find(std::string_view name) const;
  /// On rank 0: a line per file with the number of its records, for a run that ends early.
  [[nodiscard]] std::string kept_records() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<Series>> all_;
};

/// A record as a TensorWriter, for write_tile.
struct RecordPart {
  std::shared_ptr<const RecordFile> file;
  Index record = 0;

  template <Element T>
  void write_box(ExtentSpan lo, ExtentSpan hi, const T* src, ExtentSpan strides) const {
    file->write_box(record, lo, hi, src, strides);
  }
};

}  // namespace tdsl::rt
