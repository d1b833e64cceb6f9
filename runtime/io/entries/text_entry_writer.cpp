#include "runtime/io/entries/text_entry_writer.h"

#include <array>
#include <charconv>

#include "runtime/io/entries/frostt.h"
#include "runtime/real_types.h"

namespace tdsl::rt {

namespace {

template <class T>
void append_number(std::string& text, T value) {
  std::array<char, 64> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  text.append(digits.data(), end);
}

template <Element T>
void append_lines(std::string& text, const Entries& entries, bool pattern) {
  const EntryForm form = entries.form();
  entries.for_each([&](const std::byte* entry) {
    for (int d = 0; d < form.rank; ++d) {
      if (d > 0) text += ' ';
      append_number(text, form.coordinate(entry, d) + 1);
    }
    if (!pattern) {
      text += ' ';
      if constexpr (std::same_as<T, bool>) {
        text += '1';
      } else if constexpr (kIsComplex<T>) {
        const T value = form.value<T>(entry);
        append_number(text, value.re);
        text += ' ';
        append_number(text, value.im);
      } else {
        append_number(text, form.value<T>(entry));
      }
    }
    text += '\n';
  });
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
    if constexpr (std::same_as<T, bool>) {
      text_ += value ? '1' : '0';
    } else {
      append_number(text_, value);
    }
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

EntryWriter::Numbers TextEntryWriter::take(const Entries& entries, Rows) {
  count_ = entries.count();
  const bool pattern = matrix_market_ && type() == ElementType::kBool;
  if (matrix_market_ && type() == ElementType::kC64) append_lines<Complex<float>>(text_, entries, false);
  if (matrix_market_ && type() == ElementType::kC128) append_lines<Complex<double>>(text_, entries, false);
  if (matrix_market_ && is_complex(type())) return {count_, static_cast<std::int64_t>(text_.size())};
  visit_real_type(type(), file().path(),
                  [&](auto tag) { append_lines<typename decltype(tag)::type>(text_, entries, pattern); });
  return {count_, static_cast<std::int64_t>(text_.size())};
}

std::string TextEntryWriter::header(std::int64_t entries) const {
  if (!matrix_market_) {
    std::string text(kFrosttShape);
    for (const std::int64_t extent : shape()) text += " " + std::to_string(extent);
    return text + "\n";
  }
  std::string text = "%%MatrixMarket matrix coordinate ";
  text += type() == ElementType::kBool ? "pattern"
          : is_integer(type())         ? "integer"
          : is_complex(type())         ? "complex"
                                       : "real";
  return text + " general\n" + std::to_string(shape()[0]) + " " + std::to_string(shape()[1]) + " " +
         std::to_string(entries) + "\n";
}

EntryWriter::Numbers TextEntryWriter::write(std::span<const Numbers> all, std::int64_t rank) {
  std::int64_t total = 0;
  std::int64_t offset = 0;
  for (std::size_t r = 0; r < all.size(); ++r) {
    total += all[r][0];
    if (static_cast<std::int64_t>(r) < rank) offset += all[r][1];
  }
  const std::string head = header(total);
  if (rank == 0) file().write(std::as_bytes(std::span(head)), 0);
  file().write(std::as_bytes(std::span(text_)), static_cast<std::int64_t>(head.size()) + offset);
  text_ = {};
  return {};
}

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
