#pragma once

#include <functional>
#include <optional>
#include <string>

#include "ir/graph/expr.h"

// Subscript checks not made by any read: those of expressions whose elements have been substituted. `x[2:4][e]` reads
// `x[e + 2]`, with 0 <= e < 2.

namespace tdsl::ir {

/// `subscript` if 0 <= subscript < `extent` (both i64); otherwise the run stops with `message` at `place`. A separate
/// procedure per message and line, opaque to other passes.
[[nodiscard]] Expr within(const Expr& subscript, const Expr& extent, const std::string& message, SourceRange place);

/// `value` if the check of `within` passes, as a condition that protects the subscripts in `value`.
[[nodiscard]] Expr where_within(const Expr& value, const Expr& subscript, const Expr& extent,
                                const std::string& message, SourceRange place);

/// The operands of a subscript check.
struct Within {
  Expr subscript;
  Expr extent;
};
/// The operands if the expression is `within`, or `where_within`; else nothing.
[[nodiscard]] std::optional<Within> within_of(const Expr& e);
/// The expression without its check, given that it is `within` or `where_within`.
[[nodiscard]] Expr without_check(const Expr& e);

/// The expression without the checks that `inside` proves redundant; the same handle if there are none.
[[nodiscard]] Expr without_checks(const Expr& e, const std::function<bool(const Within&)>& inside);

}  // namespace tdsl::ir
