#pragma once

#include "frontend/diagnostics/diagnostics.h"
#include "frontend/syntax/token.h"

namespace tdsl::frontend {

/// Reports multi-line or brace constructs of other languages (`def f(x):` with an indented body, `function … end`, `do
/// { … } while (c);`, a block or list in braces as a value) and removes each from the file, so that it yields one error
/// instead of one per line.
void report_foreign_blocks(TokenizedFile& file, DiagnosticSink& sink);

}  // namespace tdsl::frontend
