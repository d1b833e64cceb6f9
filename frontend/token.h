#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "frontend/ast.h"
#include "frontend/diagnostics.h"

namespace tdsl::frontend {

/// Why a token stands in the stream.
enum class TokenOrigin : std::uint8_t {
  kSource,          ///< it was written
  kMissing,         ///< inserted where the grammar wants exactly it: reported as missing
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
/// "; did you mean 'let'?" for a word that stands where a statement begins and is like one that does, or is another
/// language's for it (`const`, `def`); else empty.
[[nodiscard]] std::string suggest_statement_word(const std::string& word);

}  // namespace tdsl::frontend
