#include "runtime/io/entries/csv_writer.h"

#include <array>
#include <charconv>
#include <utility>

#include "runtime/real_types.h"

namespace tdsl::rt {

namespace {

template <Element T>
void append_element(std::string& text, T value) {
  if constexpr (std::same_as<T, bool>) {
    text += value ? '1' : '0';
  } else {
    std::array<char, 64> digits;
    text.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
  }
}

/// Adds the elements of rows one by one, with zeros for missing entries.
template <Element T>
class DenseRows {
 public:
  DenseRows(std::string& text, std::int64_t first, std::int64_t columns)
      : text_(text), row_(first), columns_(columns) {}

  void put(std::int64_t row, std::int64_t column, T value) {
    zeros_until(row, column);
    one(value);
  }
  void zeros_until(std::int64_t row, std::int64_t column) {
    while (row_ < row || (row_ == row && column_ < column)) columns_ == 0 ? end_row() : one(T(0));
  }

 private:
  void one(T value) {
    if (column_ > 0) text_ += ',';
    append_element(text_, value);
    if (++column_ == columns_) end_row();
  }
  void end_row() {
    text_ += '\n';
    ++row_;
    column_ = 0;
  }

  std::string& text_;
  std::int64_t row_;
  std::int64_t column_ = 0;
  std::int64_t columns_;
};

}  // namespace

EntryWriter::Numbers CsvWriter::take(const Entries& entries, Rows rows) {
  const EntryForm form = entries.form();
  visit_real_type(type(), file().path(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    DenseRows<T> lines(text_, rows.first, shape().size() == 1 ? 1 : shape()[1]);
    entries.for_each([&](const std::byte* entry) {
      lines.put(form.coordinate(entry, 0), form.rank == 1 ? 0 : form.coordinate(entry, 1), form.value<T>(entry));
    });
    lines.zeros_until(rows.last, 0);
  });
  return {static_cast<std::int64_t>(text_.size())};
}

EntryWriter::Numbers CsvWriter::write(std::span<const Numbers> all, std::int64_t rank) {
  std::int64_t offset = 0;
  for (std::size_t r = 0; static_cast<std::int64_t>(r) < rank; ++r) offset += all[r][0];
  file().write(std::as_bytes(std::span(text_)), offset);
  text_ = {};
  return {};
}

}  // namespace tdsl::rt
