#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/diagnostics/diagnostics.h"
#include "frontend/syntax/ast.h"

namespace tdsl::frontend {

/// Origin of a token.
enum class TokenOrigin : std::uint8_t {
  kSource,          ///< part of the source
  kMissing,         ///< inserted where the grammar requires exactly this token: reported as missing
  kMisspelt,        ///< a misspelt word, parsed as the intended one (`kind`) and reported; `text` is the spelling
  kReservedName,    ///< a reserved word declared as a name: parsed as a name and reported
  kReservedUse,     ///< a later use of such a name: not reported
  kSynchronisation  ///< inserted after another error to end the broken statement: not reported
};

/// One token. `kind` is a `GeneratedParser::token_kind_type`; `text` is the spelling (of strings: the value).
struct Token {
  int kind = 0;
  SourceRange range;
  std::string text;
  TokenOrigin origin = TokenOrigin::kSource;
  bool first_on_line = false;
};

/// A tokenised file; the last token is the end of the file.
struct TokenizedFile {
  std::vector<Token> tokens;
  std::vector<ast::Comment> comments;
  std::vector<std::uint32_t> error_lines;  ///< lines with a lexical error, ascending
};

/// Splits a file into tokens. Reports lexical errors to `sink` and continues after them.
[[nodiscard]] TokenizedFile tokenize(const SourceManager& sources, std::uint32_t file, DiagnosticSink& sink);

/// True for reserved words, type names included.
[[nodiscard]] bool is_reserved_word(const Token& token);
/// All words of the grammar, in alphabetical order.
[[nodiscard]] std::vector<std::string> words_of_grammar();
/// The intended keyword (`let`) for a misspelt or foreign (`const`, `def`) word at the start of a statement, else
/// empty.
[[nodiscard]] std::string statement_word_for(const std::string& word);
/// The message for such a word.
[[nodiscard]] std::string unknown_statement(const std::string& word, const std::string& meant);
/// The message for a reserved word declared as a name.
[[nodiscard]] std::string reserved_name(const std::string& word);
/// The token kind of a reserved word, or that of names for other words.
[[nodiscard]] int kind_of_word(std::string_view word);
/// The value of an integer as written, in decimal, hexadecimal or binary; nothing from 2^64 on.
[[nodiscard]] std::optional<std::uint64_t> integer_value(std::string_view text);
/// The string literal with this value: in double quotes, escaped.
[[nodiscard]] std::string quoted_string(const std::string& value);

}  // namespace tdsl::frontend
