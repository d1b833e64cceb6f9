#pragma once

#include <cstdint>
#include <optional>

#include "frontend/diagnostics/diagnostics.h"
#include "frontend/syntax/ast.h"
#include "frontend/syntax/token.h"

namespace tdsl::frontend {

/// Parses one file of `sources`. Lexical and syntax errors go to `sink`; the result is then empty, so later phases see
/// complete programs only. Does not load imports. With `place`, everything in the file has this range.
[[nodiscard]] std::optional<ast::Module> parse_file(const SourceManager& sources, std::uint32_t file,
                                                    DiagnosticSink& sink, const SourceRange* place = nullptr);

/// A parsed text, and the messages about it.
struct ParsedText {
  TokenizedFile tokens;   ///< as written
  ast::Module module;     ///< after errors, the statements that could be parsed
  bool complete = false;  ///< there are no errors
  DiagnosticSink messages;
};

/// The same for editors, whose programs are broken most of the time.
[[nodiscard]] ParsedText parse_text(const SourceManager& sources, std::uint32_t file,
                                    const SourceRange* place = nullptr);

}  // namespace tdsl::frontend
