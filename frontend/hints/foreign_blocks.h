#pragma once

#include "frontend/diagnostics/diagnostics.h"
#include "frontend/syntax/token.h"

namespace tdsl::frontend {

/// Reports what other languages write in several lines or braces (`def f(x):` with an indented body, `function … end`,
/// `do { … } while (c);`, a block or a list in braces as a value) and takes it out of the file, so that it is one
/// error and not one per line.
void report_foreign_blocks(TokenizedFile& file, DiagnosticSink& sink);

}  // namespace tdsl::frontend
