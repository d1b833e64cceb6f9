#pragma once

#include <vector>

#include "frontend/syntax/token.h"

namespace tdsl::frontend {

/// Formatting properties of one token.
struct FormatWord {
  bool ends_value = false;    ///< an operand may end here, so a following sign is binary
  bool unary = false;         ///< a prefix sign
  bool tight_before = false;  ///< no space before it
  bool tight_after = false;
  int break_penalty = -1;  ///< cost of a line break before it; negative: not allowed
};

/// One entry per token of a file without errors.
[[nodiscard]] std::vector<FormatWord> format_words(const std::vector<Token>& tokens);

}  // namespace tdsl::frontend
