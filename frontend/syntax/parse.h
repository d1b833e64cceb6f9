#pragma once

#include <cstdint>
#include <optional>

#include "frontend/diagnostics/diagnostics.h"
#include "frontend/syntax/ast.h"

namespace tdsl::frontend {

/// Parses one file of `sources`. All lexical and syntax errors found go to `sink`; with any of them the result is
/// empty, so a later phase sees only whole programs. Imports are not followed.
[[nodiscard]] std::optional<ast::Module> parse_file(const SourceManager& sources, std::uint32_t file,
                                                    DiagnosticSink& sink);

}  // namespace tdsl::frontend
