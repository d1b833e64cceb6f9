#pragma once

#include <cstdint>
#include <optional>

#include "frontend/diagnostics/diagnostics.h"
#include "frontend/syntax/ast.h"

namespace tdsl::frontend {

/// Parses one file of `sources`. Lexical and syntax errors go to `sink`; the result is then empty, so later phases see
/// complete programs only. Does not load imports. With `place`, everything in the file has this range.
[[nodiscard]] std::optional<ast::Module> parse_file(const SourceManager& sources, std::uint32_t file,
                                                    DiagnosticSink& sink, const SourceRange* place = nullptr);

/// A module, and whether its file has no error.
struct ParsedFile {
  ast::Module module;
  bool complete = false;
};

/// The same for editors: after errors, the statements that could be parsed.
[[nodiscard]] ParsedFile parse_partly(const SourceManager& sources, std::uint32_t file, DiagnosticSink& sink,
                                      const SourceRange* place = nullptr);

}  // namespace tdsl::frontend
