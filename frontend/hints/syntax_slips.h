#pragma once

#include <cstddef>
#include <string>
#include <vector>

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

}  // namespace tdsl::frontend
