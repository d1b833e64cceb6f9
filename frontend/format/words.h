#pragma once

#include <cstddef>
#include <vector>

#include "frontend/syntax/token.h"

namespace tdsl::frontend {

/// What the formatter knows of one token besides its text.
struct FormatWord {
  bool ends_value = false;    ///< an operand may end here: a sign behind it is binary
  bool unary = false;         ///< a sign that belongs to what follows
  bool tight_before = false;  ///< nothing stands between it and the token before
  bool tight_after = false;
  int break_penalty = -1;  ///< how bad a line break before it is; below 0: none may be made
};

/// One entry per token of a file without errors.
[[nodiscard]] std::vector<FormatWord> format_words(const std::vector<Token>& tokens);

}  // namespace tdsl::frontend
