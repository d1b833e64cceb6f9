#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/diagnostics/diagnostics.h"
#include "frontend/syntax/ast.h"

namespace tdsl::frontend {

/// Why a token stands in the stream.
enum class TokenOrigin : std::uint8_t {
  kSource,          ///< it was written
  kMissing,         ///< inserted where the grammar wants exactly it: reported as missing
  kMisspelt,        ///< read as the word that was meant (`kind`); `text` is what was written, which is reported
  kReservedName,    ///< a reserved word where something is named: read as a name and reported
  kReservedUse,     ///< a later use of such a name: reported nowhere
  kSynchronisation  ///< inserted after another error to end the broken statement: reported nowhere
};

/// One token. `kind` is a `GeneratedParser::token_kind_type`; `text` is the spelling (of strings: the value).
struct Token {
  int kind = 0;
  SourceRange range;
  std::string text;
  TokenOrigin origin = TokenOrigin::kSource;
  bool first_on_line = false;
};

/// A file as tokens; the last one is the end of the file.
struct TokenizedFile {
  std::vector<Token> tokens;
  std::vector<ast::Comment> comments;
  std::vector<std::uint32_t> error_lines;  ///< lines with a lexical error, ascending
};

/// Splits a file into tokens. Lexical errors go to `sink`; scanning continues after them.
[[nodiscard]] TokenizedFile tokenize(const SourceManager& sources, std::uint32_t file, DiagnosticSink& sink);

/// Whether the token is a reserved word (types included).
[[nodiscard]] bool is_reserved_word(const Token& token);
/// The word that was meant (`let`) by one that stands where a statement begins and is like one that does, or is another
/// language's for it (`const`, `def`); else empty.
[[nodiscard]] std::string statement_word_for(const std::string& word);
/// The message about such a word.
[[nodiscard]] std::string unknown_statement(const std::string& word, const std::string& meant);
/// The message about a reserved word that is declared like a name.
[[nodiscard]] std::string reserved_name(const std::string& word);
/// The kind of a reserved word; of other words that of names.
[[nodiscard]] int kind_of_word(std::string_view word);

}  // namespace tdsl::frontend
