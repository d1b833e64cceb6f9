#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "frontend/diagnostics/diagnostics.h"
#include "frontend/syntax/token.h"

namespace tdsl::frontend {

/// A syntax error: `tokens[at]` is unexpected; `expected` holds the names of the tokens that are possible there, as in
/// parser.y.
struct SyntaxProblem {
  const std::vector<Token>& tokens;
  std::size_t at;
  const std::vector<std::string>& expected;
};

/// The message for a known mistake, such as syntax of another language, with the TDSL equivalent; empty if it is
/// unknown.
[[nodiscard]] std::string known_slip(const SyntaxProblem& problem);

/// Reports multi-line or brace constructs of other languages (`def f(x):` with an indented body, `function … end`, `do
/// { … } while (c);`, a block or list in braces as a value) and removes each from the file, so that it yields one error
/// instead of one per line.
void report_foreign_blocks(TokenizedFile& file, DiagnosticSink& sink);

}  // namespace tdsl::frontend
