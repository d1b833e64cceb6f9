#pragma once

#include <vector>

#include "frontend/syntax/token.h"

namespace tdsl::frontend {

/// Turns names that are types into type tokens: `T` within `fn f[T](…) …`, and `real(T)` there, as one token. `literal`
/// in `levels: literal i64` becomes a word of its own. Names of types that are no reserved words, as `u8`, become types
/// after `:` and `->` and in the types of functions. A misplaced list leaves the tokens unchanged: the grammar
/// reports it.
void mark_type_words(std::vector<Token>& tokens);

}  // namespace tdsl::frontend
