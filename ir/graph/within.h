#pragma once

#include <functional>
#include <optional>
#include <string>

#include "ir/graph/expr.h"

// Checks of subscripts that no read makes: those of expressions in whose place their elements stand. `x[2:4][e]` reads
// `x[e + 2]`, and 0 <= e < 2.

namespace tdsl::ir {

/// `subscript` where it is at least 0 and less than `extent` (both i64); elsewhere the run stops with `message` at
/// `place`. A procedure of its own per message and line, which no other pass needs to know.
[[nodiscard]] Expr within(const Expr& subscript, const Expr& extent, const std::string& message, SourceRange place);

/// `value` where `within` gives a value, by a condition that the subscripts in `value` are protected by.
[[nodiscard]] Expr where_within(const Expr& value, const Expr& subscript, const Expr& extent,
                                const std::string& message, SourceRange place);

/// What a subscript is compared with.
struct Within {
  Expr subscript;
  Expr extent;
};
/// The operands if the expression is `within`, or `where_within`; else nothing.
[[nodiscard]] std::optional<Within> within_of(const Expr& e);
/// The expression without its check, given that it is `within` or `where_within`.
[[nodiscard]] Expr without_check(const Expr& e);

/// The expression without the checks that `inside` says cannot fail; the same handle if there are none.
[[nodiscard]] Expr without_checks(const Expr& e, const std::function<bool(const Within&)>& inside);

}  // namespace tdsl::ir
