#include "frontend/diagnostics/diagnostics.h"

namespace tdsl::frontend {

namespace {

bool is_control(unsigned char c) { return c < 0x20 || c == 0x7F; }

/// U+0080 to U+009F: in UTF-8, the second of two bytes.
bool is_high_control(unsigned char before, unsigned char c) { return before == 0xC2 && c >= 0x80 && c <= 0x9F; }

std::string escaped(unsigned char c) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  if (c == '\n') return "\\n";
  return {'\\', 'x', kDigits[c / 16], kDigits[c % 16]};
}

}  // namespace

std::optional<std::string> objection_to_name(std::string_view path) {
  std::string shown;
  bool found = false;
  unsigned char before = 0;
  for (const char character : path) {
    const auto c = static_cast<unsigned char>(character);
    const bool high = is_high_control(before, c);
    if (high) shown.pop_back();
    if (high || is_control(c)) {
      shown += escaped(c);
      found = true;
    } else {
      shown += character;
    }
    before = c;
  }
  if (!found) return std::nullopt;
  return "`" + shown + "` has control characters in its name; rename the file";
}

}  // namespace tdsl::frontend
