#pragma once

#include <string_view>

#include "ir/algebra/expr.h"

namespace tdsl::ir::algebra {

/// Parses the text form. Throws std::runtime_error("line:column: message"), also for expressions without a type.
[[nodiscard]] Program parse(Pool& pool, std::string_view text);
/// Parses a program with one result.
[[nodiscard]] Expr parse_one(Pool& pool, std::string_view text);

}  // namespace tdsl::ir::algebra
