#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "ir/graph/expr.h"

namespace tdsl::ir {

/// The two index variables, in ascending order, of an expression that is 0 off a diagonal: `select(eq(i, j), v[i],
/// 0.0)` is 0 unless i = j, `select(eq(add(i, 2), j), x, 0.0)` unless j = i + 2. Each of the two determines the other
/// up to a constant. Nothing for any other expression.
[[nodiscard]] std::optional<std::array<std::int32_t, 2>> diagonal_of(const Expr& e);

/// The part of such an expression that is its value on the diagonal.
[[nodiscard]] const Expr& value_on_diagonal(const Expr& e);

}  // namespace tdsl::ir
