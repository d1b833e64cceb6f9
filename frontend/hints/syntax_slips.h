#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "frontend/syntax/token.h"

namespace tdsl::frontend {

/// Where the grammar cannot go on: `tokens[at]` cannot stand where it does, any of `expected` (names of tokens as
/// parser.y gives them) could.
struct SyntaxProblem {
  const std::vector<Token>& tokens;
  std::size_t at;
  const std::vector<std::string>& expected;
};

/// The message about a usual slip, among them what other languages write: says how TDSL does. Empty when it is none of
/// them.
[[nodiscard]] std::string known_slip(const SyntaxProblem& problem);

}  // namespace tdsl::frontend
