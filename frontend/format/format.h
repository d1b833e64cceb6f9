#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "frontend/diagnostics/diagnostics.h"

namespace tdsl::frontend {

/// Formats the file in canonical layout. Changes white space only: tokens, comments and their order are kept.
///
/// - One statement per line, two spaces per block; a statement with a block stays on one line if it was written on one
///   and fits.
/// - Line breaks inside a statement stay, continued four spaces deeper; lines over 120 columns are broken.
/// - One space around operators and after commas, none inside brackets, none around `:` in slices, `=` of named
///   arguments and `..`.
/// - At most one empty line in a row; trailing comments of neighbouring lines are aligned.
///
/// Idempotent. Lexical and syntax errors go to `sink`; the result is then empty.
[[nodiscard]] std::optional<std::string> format(SourceManager& sources, std::uint32_t file, DiagnosticSink& sink);

}  // namespace tdsl::frontend
