#include "runtime/io/shown_word.h"

#include <cstddef>

namespace tdsl::rt {

namespace {

constexpr std::size_t kMostBytes = 40;

unsigned byte_at(std::string_view text, std::size_t at) { return static_cast<unsigned char>(text[at]); }

/// Bytes of the printable character at the beginning; 0 if there is none.
std::size_t character_bytes(std::string_view text) {
  const unsigned first = byte_at(text, 0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const std::size_t size = first >= 0xf0 && first < 0xf5   ? 4
                           : first >= 0xe0 && first < 0xf0 ? 3
                           : first >= 0xc2 && first < 0xe0 ? 2
                                                           : 0;
  if (size == 0 || text.size() < size) return 0;
  for (std::size_t k = 1; k < size; ++k) {
    if ((byte_at(text, k) & 0xc0U) != 0x80) return 0;
  }
  const unsigned second = byte_at(text, 1);
  if (first == 0xc2 && second < 0xa0) return 0;                                         // U+0080 to U+009F are controls
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0)) return 0;  // overlong; surrogates
  if ((first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90)) return 0;
  if (first == 0xe2) {  // zero-width characters, line separators and changes of text direction: U+200B to U+200F,
                        // U+2028 to U+202E, U+2060 to U+206F
    const unsigned third = byte_at(text, 2);
    if (second == 0x80 && ((third >= 0x8b && third <= 0x8f) || (third >= 0xa8 && third <= 0xae))) return 0;
    if (second == 0x81 && third >= 0xa0 && third <= 0xaf) return 0;
  }
  return size;
}

}  // namespace

std::string shown_word(std::string_view word) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "`";
  std::size_t at = 0;
  while (at < word.size() && at < kMostBytes) {
    const std::size_t size = character_bytes(word.substr(at));
    if (size > 0) {
      text += word.substr(at, size);
    } else {
      text += {'\\', 'x', kDigits[byte_at(word, at) >> 4U], kDigits[byte_at(word, at) & 15U]};
    }
    at += size > 0 ? size : 1;
  }
  return text + (at < word.size() ? "…`" : "`");
}

}  // namespace tdsl::rt
