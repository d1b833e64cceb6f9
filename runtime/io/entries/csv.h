#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/io/entries/entry_file.h"

namespace tdsl::rt {

/// `table.csv` or `table.csv:price`: a file and, behind a colon, one of its columns.
struct CsvName {
  std::string file;
  std::string column;  ///< empty: the whole file
};
/// Nothing if the path names no `.csv` file.
[[nodiscard]] std::optional<CsvName> csv_name(const std::string& path);

/// Takes fields off a line of comma-separated values: blanks around them do not count, `"…"` may hold commas, and
/// quotes written twice.
class CsvFields {
 public:
  enum class Result : std::uint8_t { kField, kEnd, kOpenQuote, kAfterQuote };

  explicit CsvFields(std::string_view line) : rest_(line) {}
  /// The next field, valid until the next call. A quote that is not closed, or that something follows, is an error.
  [[nodiscard]] Result next(std::string_view& field);

 private:
  [[nodiscard]] Result quoted(std::string_view& field);

  std::string_view rest_;
  bool ended_ = false;
  std::string unescaped_;
};

/// A file of comma-separated values (`.csv`). One column is a vector, the whole file a matrix (a vector, if it has one
/// column). The first line names the columns if one is asked for, or if not all of its fields are numbers. Fields are
/// read as the declared type; an empty one is nan. A line is a row: quotes do not reach beyond it, so that ranks can
/// begin anywhere.
class CsvFile : public EntryFile {
 public:
  CsvFile(OpenFile file, std::string column);

  [[nodiscard]] int rank() const override { return column_ >= 0 || columns_ == 1 ? 1 : 2; }
  [[nodiscard]] std::optional<Extents> shape() const override { return std::nullopt; }
  /// Whether a text is a number of the type is known when it is read.
  void require_type(ElementType, std::string_view) const override {}
  [[nodiscard]] Part read(ElementType type, std::int64_t part, std::int64_t parts) const override;
  /// Rows are numbered from those of the parts before.
  [[nodiscard]] Extents settle(std::span<const Tally> tallies, std::int64_t part, Part& mine) const override;

 private:
  void read_head(const std::string& column);

  std::int64_t columns_ = 0;
  std::int64_t column_ = -1;  ///< the one that is read, -1: all
  std::int64_t data_offset_ = 0;
};

}  // namespace tdsl::rt
