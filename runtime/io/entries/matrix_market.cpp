#include "runtime/io/entries/matrix_market.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <string>
#include <type_traits>

#include "runtime/check.h"
#include "runtime/io/entries/text_lines.h"
#include "runtime/io/entries/text_numbers.h"
#include "runtime/io/shown_word.h"

namespace tdsl::rt {

namespace {

using Header = MatrixMarketHeader;

/// The next word in lower case; "" at the end.
std::string take_word(Fields& fields) {
  std::string word(fields.word());
  std::ranges::transform(word, word.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  fields.skip_word();
  return word;
}

/// Parses `%%MatrixMarket matrix coordinate real general`.
void parse_banner(const TextLines& lines, std::string_view line, Header& header) {
  Fields fields(line);
  if (take_word(fields) != "%%matrixmarket")
    lines.fail("this is not a Matrix Market file: it does not begin with %%MatrixMarket");
  if (const std::string object = take_word(fields); object != "matrix")
    lines.fail("the object is " + shown_word(object) + "; only `matrix` is supported");
  const std::string format = take_word(fields);
  if (format != "coordinate" && format != "array")
    lines.fail("the format is " + shown_word(format) + ", not `coordinate` or `array`");
  header.coordinate = format == "coordinate";
  const std::string field = take_word(fields);
  if (field == "real" || field == "double") {
    header.field = Header::Field::kReal;
  } else if (field == "integer") {
    header.field = Header::Field::kInteger;
  } else if (field == "pattern") {
    header.field = Header::Field::kPattern;
    if (!header.coordinate) lines.fail("an array has values, so its field is not `pattern`");
  } else if (field == "complex") {
    header.field = Header::Field::kComplex;
  } else {
    lines.fail("the field is " + shown_word(field) + ", not `real`, `complex`, `integer` or `pattern`");
  }
  const std::string symmetry = take_word(fields);
  if (symmetry == "general") {
    header.symmetry = Header::Symmetry::kGeneral;
  } else if (symmetry == "symmetric") {
    header.symmetry = Header::Symmetry::kSymmetric;
  } else if (symmetry == "skew-symmetric" && header.field != Header::Field::kPattern) {
    header.symmetry = Header::Symmetry::kSkew;
  } else if (symmetry == "hermitian" && header.field == Header::Field::kComplex) {
    header.symmetry = Header::Symmetry::kHermitian;
  } else {
    lines.fail("the symmetry is " + shown_word(symmetry) + ", not `general`, `symmetric` or `skew-symmetric`" +
               (symmetry == "skew-symmetric" ? " of a matrix with values" : ""));
  }
  if (!fields.at_end()) lines.fail("text after the symmetry: " + shown_word(fields.word()));
}

bool is_comment(const Fields& fields) { return fields.at_end() || fields.front() == '%'; }

/// Number of values in an array; saturates.
std::int64_t array_values(const Header& header) {
  const __int128 n = header.rows;
  __int128 count = n * header.columns;
  if (header.symmetry == Header::Symmetry::kSymmetric || header.symmetry == Header::Symmetry::kHermitian)
    count = n * (n + 1) / 2;
  if (header.symmetry == Header::Symmetry::kSkew) count = n * (n - 1) / 2;
  return static_cast<std::int64_t>(std::min<__int128>(count, std::numeric_limits<std::int64_t>::max()));
}

void parse_sizes(const TextLines& lines, Fields fields, Header& header) {
  const bool good = fields.take_count(header.rows) && fields.take_count(header.columns) &&
                    (!header.coordinate || fields.take_count(header.lines)) && fields.at_end();
  if (!good) {
    lines.fail(header.coordinate ? "expected the numbers of rows, columns and entries"
                                 : "expected the numbers of rows and columns");
  }
  if (header.symmetry != Header::Symmetry::kGeneral && header.rows != header.columns) {
    lines.fail("a symmetric matrix is square, this one is " + std::to_string(header.rows) + " by " +
               std::to_string(header.columns));
  }
  if (!header.coordinate) header.lines = array_values(header);
}

Header read_header(const OpenFile& file) {
  TextLines lines(file, 0, file.bytes());
  std::string_view line;
  Header header;
  if (!lines.next(line)) throw RunError(file.path() + ":1: the file is empty [bad-file]");
  parse_banner(lines, line, header);
  while (lines.next(line)) {
    const Fields fields(line);
    if (is_comment(fields)) continue;
    parse_sizes(lines, fields, header);
    header.size_offset = lines.offset();
    header.data_offset = lines.next_offset();
    return header;
  }
  fail_in_line(file, file.bytes(), "the file ends before the line with its sizes");
}

/// Parses the lines of one part.
template <Element T>
class PartReader {
 public:
  PartReader(const OpenFile& file, const Header& header, std::int64_t first, std::int64_t last, Entries& entries)
      : header_(header), lines_(file, first, last), entries_(entries) {}

  /// Returns the number of lines with an entry.
  std::int64_t coordinates() {
    std::int64_t count = 0;
    std::string_view line;
    while (lines_.next(line)) {
      Fields fields(line);
      if (is_comment(fields)) continue;
      std::int64_t i = 0, j = 0;
      if (!fields.take_count(i) || !fields.take_count(j))
        lines_.fail("expected a row and a column, found " + shown_word(line));
      check(i, header_.rows, "row");
      check(j, header_.columns, "column");
      const T value = header_.field == Header::Field::kPattern ? T(1) : take_value(fields);
      if (!fields.at_end()) lines_.fail("text after the entry: " + shown_word(fields.word()));
      add(i - 1, j - 1, value);
      ++count;
    }
    return count;
  }

  /// Reads bare values. Their position in the file is not known yet, so entries are numbered from 0.
  std::int64_t values() {
    std::int64_t count = 0;
    std::string_view line;
    while (lines_.next(line)) {
      Fields fields(line);
      if (is_comment(fields)) continue;
      if (count == header_.lines)
        lines_.fail("a matrix of this shape has " + std::to_string(header_.lines) + " values, this is one more");
      const T value = take_value(fields);
      if (!fields.at_end()) lines_.fail("text after the value: " + shown_word(fields.word()));
      entries_.form().set_value(entries_.append(), value);
      ++count;
    }
    return count;
  }

 private:
  void check(std::int64_t x, std::int64_t extent, const char* what) const {
    if (x >= 1 && x <= extent) return;
    lines_.fail(std::string(what) + " " + std::to_string(x) + " is not one of 1 to " + std::to_string(extent));
  }

  T take_value(Fields& fields) const {
    using Number = Fields::Number;
    std::string_view word = fields.word();
    T value{};
    Number result = Number::kMalformed;
    if constexpr (std::is_same_v<T, bool> || kIsHalf<T>) {
      TDSL_CHECK(false, "only patterns are read as bool and floats of two bytes");
    } else if constexpr (kIsComplex<T>) {
      result = fields.take_number(value.re);
      value.im = 0;
      if (result == Number::kGood && header_.field == Header::Field::kComplex) {
        word = fields.word();
        result = fields.take_number(value.im);
      }
    } else if (header_.field == Header::Field::kInteger && std::is_floating_point_v<T>) {
      std::int64_t integer = 0;
      result = fields.take_number(integer);
      value = static_cast<T>(integer);
    } else {
      result = fields.take_number(value);
    }
    if (result == Number::kGood) return value;
    const bool integer = header_.field == Header::Field::kInteger;
    const std::string_view type =
        element_name(integer && std::is_floating_point_v<T> ? ElementType::kI64 : element_type_of<T>);
    if (result == Number::kTooLarge) lines_.fail(shown_word(word) + " does not fit into " + std::string(type));
    lines_.fail("expected " + std::string(integer ? "an integer" : "a number") +
                (word.empty() ? ", the line ends" : ", found " + shown_word(word)));
  }

  void add(std::int64_t i, std::int64_t j, T value) {
    const bool skew = header_.symmetry == Header::Symmetry::kSkew;
    if constexpr (kIsComplex<T>) {
      if (header_.symmetry == Header::Symmetry::kHermitian && i == j && value.im != 0)
        lines_.fail("a Hermitian matrix has real numbers on its diagonal");
    }
    if (skew && i == j && value != T(0)) lines_.fail("a skew-symmetric matrix has zeros on its diagonal");
    entries_.append(std::array{i, j}, value);
    if (header_.symmetry == Header::Symmetry::kGeneral || i == j) return;
    entries_.append(std::array{j, i}, mirrored(header_, value));
  }

 public:
  /// The value at (j, i); negation maps the least integer and 0 to themselves.
  static T mirrored(const Header& header, T value) {
    if constexpr (kIsComplex<T>) {
      if (header.symmetry == Header::Symmetry::kHermitian) return T(value.re, -value.im);
    }
    if (header.symmetry != Header::Symmetry::kSkew) return value;
    if constexpr (std::is_same_v<T, bool>) {
      return value;
    } else if constexpr (std::is_integral_v<T>) {
      using U = std::make_unsigned_t<T>;
      return static_cast<T>(U{0} - static_cast<U>(value));
    } else {
      return T(0) - value;
    }
  }

 private:
  const Header& header_;
  TextLines lines_;
  Entries& entries_;
};

/// Position of an array's values: value k of the file is at (i, j), and the next one is a row below.
struct ArrayPlace {
  const Header& header;
  std::int64_t i = 0;
  std::int64_t j = 0;

  ArrayPlace(const Header& h, std::int64_t k) : header(h) {
    if (h.symmetry == Header::Symmetry::kGeneral) {
      j = h.rows == 0 ? 0 : k / h.rows;
      i = h.rows == 0 ? 0 : k % h.rows;
      return;
    }
    while (j < header.columns && k >= height()) {  // cheap: the file has about columns^2 / 2 values
      k -= height();
      ++j;
    }
    i = top() + k;
  }
  /// First row of column j stored in the file.
  [[nodiscard]] std::int64_t top() const {
    if (header.symmetry == Header::Symmetry::kGeneral) return 0;
    return header.symmetry == Header::Symmetry::kSkew ? j + 1 : j;
  }
  [[nodiscard]] std::int64_t height() const { return header.rows - top(); }
  void advance() {
    if (++i < header.rows) return;
    ++j;
    i = top();
  }
};

template <Element T>
Entries placed(const Header& header, std::int64_t first, Entries values) {
  const EntryForm form = values.form();
  Entries result(form);
  ArrayPlace at(header, first);
  for (Entries::Chunk& chunk : values.chunks()) {
    for (std::int64_t k = 0; k < chunk.count; ++k, at.advance()) {
      const T value = form.value<T>(chunk.data.get() + static_cast<std::size_t>(k) * form.bytes());
      result.append(std::array{at.i, at.j}, value);
      if (header.symmetry == Header::Symmetry::kGeneral || at.i == at.j) continue;
      result.append(std::array{at.j, at.i}, PartReader<T>::mirrored(header, value));
    }
    chunk.data.reset();
  }
  return result;
}

}  // namespace

MatrixMarketFile::MatrixMarketFile(OpenFile opened) : EntryFile(std::move(opened)), header_(read_header(file())) {}

void MatrixMarketFile::require_type(ElementType to, std::string_view name) const {
  const bool real = header_.field == Header::Field::kReal;
  const bool complex = header_.field == Header::Field::kComplex;
  if (is_unsigned(to) && header_.symmetry == Header::Symmetry::kSkew)
    throw RunError("input " + std::string(name) + " is declared " + std::string(element_name(to)) + ", but `" + path() +
                   "` is skew-symmetric and so has negative elements; declare a signed type [wrong-type]");
  const bool widens = is_complex(to) || (!complex && (is_real(to) || (is_integer(to) && !real)));
  if (header_.field == Header::Field::kPattern || widens) return;
  throw RunError("input " + std::string(name) + " is declared " + std::string(element_name(to)) + ", but `" + path() +
                 "` holds " +
                 (complex ? "complex numbers"
                  : real  ? "real numbers"
                          : "integers") +
                 ", which do not widen to it; convert the file or declare a wider type [wrong-type]");
}

EntryFile::Part MatrixMarketFile::read(ElementType type, std::int64_t part, std::int64_t parts) const {
  const Range range = range_of(header_.data_offset, file().bytes(), part, parts);
  const Extents extents{header_.rows, header_.columns};
  Part result{entries_to_read({2, type, EntryForm::needs_wide(extents)}), {}};
  visit_element_type(type, [&](auto tag) {
    PartReader<typename decltype(tag)::type> reader(file(), header_, range.first, range.last, result.entries);
    result.tally.lines = header_.coordinate ? reader.coordinates() : reader.values();
  });
  file().require_unchanged();
  return result;
}

void MatrixMarketFile::check_count(std::int64_t found) const {
  if (found == header_.lines) return;
  const std::string things = header_.coordinate ? " entries" : " values";
  fail_in_line(file(), header_.size_offset,
               std::string(header_.coordinate ? "the header announces " : "a matrix of this shape has ") +
                   std::to_string(header_.lines) + things + ", the file has " + std::to_string(found));
}

EntryFile::Extents MatrixMarketFile::settle(std::span<const Tally> tallies, std::int64_t part, Part& mine) const {
  const auto [before, total] = lines_of(tallies, part);
  check_count(total);
  if (!header_.coordinate) {
    visit_element_type(mine.entries.form().type, [&](auto tag) {
      mine.entries = placed<typename decltype(tag)::type>(header_, before, std::move(mine.entries));
      mine.entries.set_whole(true);
    });
  }
  return {header_.rows, header_.columns};
}

}  // namespace tdsl::rt
