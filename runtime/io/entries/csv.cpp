#include "runtime/io/entries/csv.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "runtime/io/entries/text_lines.h"
#include "runtime/io/entries/text_numbers.h"
#include "runtime/io/shown_word.h"
#include "runtime/real_types.h"

namespace tdsl::rt {

namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

/// Strips a UTF-8 byte order mark.
std::string_view without_mark(const TextLines& lines, std::string_view line) {
  if (lines.offset() == 0 && line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
  return line;
}

/// The fields of a line; throws an error for that line if it is malformed.
std::vector<std::string> fields_of(const TextLines& lines, std::string_view line) {
  CsvFields fields(line);
  std::vector<std::string> found;
  std::string_view field;
  for (auto result = fields.next(field); result != CsvFields::Result::kEnd; result = fields.next(field)) {
    if (result == CsvFields::Result::kOpenQuote)
      lines.fail("a quote is not closed in this line; fields with line ends are not supported");
    if (result == CsvFields::Result::kAfterQuote) lines.fail("text after a closing quote");
    found.emplace_back(field);
  }
  return found;
}

using CsvNumber = Fields::Number;

/// Parses a field as a number of type T.
template <Element T>
CsvNumber parse_field(std::string_view field, T& value) {
  if constexpr (std::same_as<T, bool>) {
    value = field == "1" || field == "true" || field == "True" || field == "TRUE";
    return value || field == "0" || field == "false" || field == "False" || field == "FALSE" ? CsvNumber::kGood
                                                                                             : CsvNumber::kMalformed;
  } else {
    if (std::floating_point<T> && field.empty()) {
      value = std::numeric_limits<T>::quiet_NaN();
      return CsvNumber::kGood;
    }
    Fields words(field);
    const CsvNumber result = words.take_number(value);
    return result == CsvNumber::kGood && !words.at_end() ? CsvNumber::kMalformed : result;
  }
}

bool is_number(const std::string& field) {
  double ignored = 0;
  bool truth = false;
  return parse_field(std::string_view(field), ignored) != CsvNumber::kMalformed ||
         parse_field(std::string_view(field), truth) == CsvNumber::kGood;
}

std::string names(const std::vector<std::string>& columns) {
  std::string text;
  for (std::size_t k = 0; k < columns.size() && k < 10; ++k) text += (k == 0 ? "" : ", ") + shown_word(columns[k]);
  return text + (columns.size() > 10 ? ", …" : "");
}

/// Parses the lines of one part.
template <Element T>
class CsvRows {
 public:
  CsvRows(const OpenFile& file, std::int64_t first, std::int64_t last, Entries& entries, std::int64_t columns,
          std::int64_t column)
      : lines_(file, first, last), entries_(entries), columns_(columns), column_(column) {}

  /// Returns the number of rows; they are numbered from 0.
  std::int64_t read() {
    std::int64_t rows = 0;
    std::string_view line;
    while (lines_.next(line)) {
      line = without_mark(lines_, line);
      if (trimmed(line).empty()) continue;
      row(line, rows);
      ++rows;
    }
    return rows;
  }

 private:
  void row(std::string_view line, std::int64_t number) {
    CsvFields fields(line);
    std::string_view field;
    std::int64_t count = 0;
    for (auto result = fields.next(field); result != CsvFields::Result::kEnd; result = fields.next(field)) {
      if (result != CsvFields::Result::kField) static_cast<void>(fields_of(lines_, line));
      if (count < columns_ && (column_ < 0 || column_ == count)) put(number, count, field);
      ++count;
    }
    if (count == columns_) return;
    lines_.fail("the first line has " + std::to_string(columns_) + (columns_ == 1 ? " field" : " fields") +
                ", this one has " + std::to_string(count));
  }

  void put(std::int64_t number, std::int64_t column, std::string_view field) {
    T value{};
    const CsvNumber result = parse_field(field, value);
    if (result != CsvNumber::kGood) refuse(column, field, result);
    // For bools, only true elements are entries.
    if (std::same_as<T, bool> && !value) return;
    entries_.append(std::array{number, column}, value);
  }

  [[noreturn]] void refuse(std::int64_t column, std::string_view field, CsvNumber result) const {
    const std::string place = "field " + std::to_string(column + 1);
    if (result == CsvNumber::kTooLarge)
      lines_.fail(place + " is " + shown_word(field) + ", which does not fit into " +
                  std::string(element_name(element_type_of<T>)));
    const std::string_view wanted = std::same_as<T, bool>   ? "true, false, 1 or 0"
                                    : std::is_integral_v<T> ? "an integer"
                                                            : "a number";
    lines_.fail(place + " is " + (field.empty() ? "empty" : shown_word(field)) + ", not " + std::string(wanted));
  }

  TextLines lines_;
  Entries& entries_;
  std::int64_t columns_;
  std::int64_t column_;
};

}  // namespace

std::optional<CsvName> csv_name(const std::string& path) {
  constexpr std::string_view kExtension = ".csv";
  if (path.size() > kExtension.size() && path.ends_with(kExtension)) return CsvName{path, {}};
  const std::size_t at = path.rfind(".csv:");
  if (at == std::string::npos || at == 0 || at + kExtension.size() + 1 == path.size()) return std::nullopt;
  return CsvName{path.substr(0, at + kExtension.size()), path.substr(at + kExtension.size() + 1)};
}

CsvFields::Result CsvFields::next(std::string_view& field) {
  if (ended_) return Result::kEnd;
  while (!rest_.empty() && is_blank(rest_.front())) rest_.remove_prefix(1);
  if (!rest_.empty() && rest_.front() == '"') return quoted(field);
  const std::size_t comma = rest_.find(',');
  field = trimmed(rest_.substr(0, comma));
  ended_ = comma == std::string_view::npos;
  if (!ended_) rest_.remove_prefix(comma + 1);
  return Result::kField;
}

CsvFields::Result CsvFields::quoted(std::string_view& field) {
  unescaped_.clear();
  rest_.remove_prefix(1);
  for (std::size_t quote = rest_.find('"'); quote != std::string_view::npos; quote = rest_.find('"')) {
    unescaped_ += rest_.substr(0, quote);
    rest_.remove_prefix(quote + 1);
    if (!rest_.empty() && rest_.front() == '"') {
      unescaped_ += '"';
      rest_.remove_prefix(1);
      continue;
    }
    while (!rest_.empty() && is_blank(rest_.front())) rest_.remove_prefix(1);
    if (!rest_.empty() && rest_.front() != ',') return Result::kAfterQuote;
    ended_ = rest_.empty();
    if (!ended_) rest_.remove_prefix(1);
    field = trimmed(unescaped_);
    return Result::kField;
  }
  return Result::kOpenQuote;
}

CsvFile::CsvFile(OpenFile opened, std::string column) : EntryFile(std::move(opened)) { read_head(column); }

void CsvFile::read_head(const std::string& column) {
  TextLines lines(file(), 0, file().bytes());
  std::string_view line;
  do {
    if (!lines.next(line))
      throw RunError(path() + ":1: the file has no rows, so that nothing says how many columns it has [bad-file]");
    line = without_mark(lines, line);
  } while (trimmed(line).empty());
  const std::vector<std::string> head = fields_of(lines, line);
  columns_ = static_cast<std::int64_t>(head.size());
  const bool named = !column.empty() || !std::ranges::all_of(head, is_number);
  data_offset_ = named ? lines.next_offset() : lines.offset();
  if (column.empty()) return;
  const auto found = std::ranges::find(head, column);
  if (found == head.end())
    lines.fail("there is no column " + shown_word(column) + "; the first line names " + names(head));
  if (std::find(found + 1, head.end(), column) != head.end())
    lines.fail("more than one column is called " + shown_word(column));
  column_ = found - head.begin();
}

EntryFile::Part CsvFile::read(ElementType type, std::int64_t part, std::int64_t parts) const {
  const Range range = range_of(data_offset_, file().bytes(), part, parts);
  // A row takes at least two bytes.
  const Extents most = {file().bytes(), columns_};
  Part result{entries_to_read({rank(), type, EntryForm::needs_wide(most)}), {}};
  visit_real_type(type, path(), [&](auto tag) {
    CsvRows<typename decltype(tag)::type> reader(file(), range.first, range.last, result.entries, columns_, column_);
    result.tally.lines = reader.read();
  });
  file().require_unchanged();
  return result;
}

EntryFile::Extents CsvFile::settle(std::span<const Tally> tallies, std::int64_t part, Part& mine) const {
  const auto [before, rows] = lines_of(tallies, part);
  const EntryForm form = mine.entries.form();
  for (Entries::Chunk& chunk : mine.entries.chunks()) {
    for (std::int64_t k = 0; k < chunk.count; ++k) {
      std::byte* const entry = chunk.data.get() + static_cast<std::size_t>(k) * form.bytes();
      form.set_coordinate(entry, 0, form.coordinate(entry, 0) + before);
    }
  }
  mine.entries.set_whole(true);
  return rank() == 1 ? Extents{rows} : Extents{rows, columns_};
}

}  // namespace tdsl::rt
