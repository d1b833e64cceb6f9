#pragma once

#include <string>
#include <string_view>

#include "runtime/io/entries/entry_file.h"

namespace tdsl::rt {

/// `table.csv` or `table.csv:price`: a file and optionally, after a colon, one of its columns.
struct CsvName {
  std::string file;
  std::string column;  ///< empty: the whole file
};
/// Empty if the path does not name a `.csv` file.
[[nodiscard]] std::optional<CsvName> csv_name(const std::string& path);

/// Splits a line of comma-separated values into fields. Surrounding blanks are ignored; `"…"` may contain commas, and
/// quotes written twice.
class CsvFields {
 public:
  enum class Result : std::uint8_t { kField, kEnd, kOpenQuote, kAfterQuote };

  explicit CsvFields(std::string_view line) : rest_(line) {}
  /// The next field, valid until the next call. An unterminated quote, or text after a closing quote, is an error.
  [[nodiscard]] Result next(std::string_view& field);

 private:
  [[nodiscard]] Result quoted(std::string_view& field);

  std::string_view rest_;
  bool ended_ = false;
  std::string unescaped_;
};

/// A file of comma-separated values (`.csv`). One column is a vector; the whole file is a matrix (a vector if it has
/// one column). The first line is a header if a column is requested by name, or if not all of its fields are numbers.
/// Fields are parsed as the declared type; an empty field is nan. Every line is a row: quoted fields do not span lines,
/// so ranks can start at any line.
class CsvFile : public EntryFile {
 public:
  CsvFile(OpenFile file, std::string column);

  [[nodiscard]] int rank() const override { return column_ >= 0 || columns_ == 1 ? 1 : 2; }
  [[nodiscard]] std::optional<Extents> shape() const override { return std::nullopt; }
  /// Fields are checked against the type when they are read.
  void require_type(ElementType, std::string_view) const override {}
  [[nodiscard]] Part read(ElementType type, std::int64_t part, std::int64_t parts) const override;
  /// Rows are numbered after those of preceding parts.
  [[nodiscard]] Extents settle(std::span<const Tally> tallies, std::int64_t part, Part& mine) const override;

 private:
  void read_head(const std::string& column);

  std::int64_t columns_ = 0;
  std::int64_t column_ = -1;  ///< the selected column, -1: all
  std::int64_t data_offset_ = 0;
};

}  // namespace tdsl::rt
