#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "ir/graph/scalar.h"

namespace tdsl::ir {

/// Reads the tokens of the text form. White space, including line ends, only separates tokens. Every failed expectation
/// throws std::runtime_error("line:column: message").
class TextCursor {
 public:
  explicit TextCursor(std::string_view text) : text_(text) {}

  [[noreturn]] void fail(const std::string& message) const;
  /// The line of the next token, from 1.
  [[nodiscard]] std::size_t line();
  [[nodiscard]] bool at_end();
  /// The next character after blanks, 0 at the end.
  [[nodiscard]] char peek();
  /// Consumes `token` if it is next (a word only as a whole word).
  bool accept(std::string_view token);
  void expect(std::string_view token);
  /// True if an identifier is next.
  [[nodiscard]] bool at_word();
  [[nodiscard]] std::string word();
  [[nodiscard]] std::string string();
  /// An element type by name.
  [[nodiscard]] Scalar scalar();
  [[nodiscard]] std::int64_t integer();
  [[nodiscard]] std::uint64_t natural();
  /// A literal written without its type: `true`, `-3`, `2.5`, `-inf`, `nan`.
  [[nodiscard]] Literal literal();
  /// True if a number (with sign), `true`, `false`, `inf` or `nan` is next.
  [[nodiscard]] bool at_literal();

 private:
  void skip_blanks();
  [[nodiscard]] std::string_view number_text();

  std::string_view text_;
  std::size_t position_ = 0;
};

/// Reads the name of one of the kinds up to `last`; `what` names their family in the message if there is no such kind.
template <typename Kind>
Kind named_kind(TextCursor& cursor, Kind last, std::string_view what) {
  const std::string name = cursor.word();
  for (int k = 0; k <= static_cast<int>(last); ++k) {
    if (name == name_of(static_cast<Kind>(k))) return static_cast<Kind>(k);
  }
  cursor.fail(fmt::format("no {} is called `{}`", what, name));
}

}  // namespace tdsl::ir
