#include "runtime/io/entries/text_entry_writer.h"

#include <array>
#include <charconv>
#include <utility>

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
      } else {
        append_number(text, form.value<T>(entry));
      }
    }
    text += '\n';
  });
}

}  // namespace

EntryWriter::Numbers TextEntryWriter::take(const Entries& entries, Rows) {
  count_ = entries.count();
  const bool pattern = matrix_market_ && type() == ElementType::kBool;
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
  text += type() == ElementType::kBool ? "pattern" : is_integer(type()) ? "integer" : "real";
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

void TextEntryWriter::finish(std::span<const Numbers>) {}

}  // namespace tdsl::rt
