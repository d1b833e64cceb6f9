#pragma once

#include <optional>

#include "ir/graph/scalar.h"

namespace tdsl::ir {

/// The type of `op` on an operand of type `a`; nothing if the operator is undefined there. Arithmetic on bools is
/// undefined: they are widened to i64 before they reach the IR. floor, ceil and round of integers are the identity.
[[nodiscard]] std::optional<Scalar> result_type(UnaryOp op, Scalar a);
/// The type of `op` on operands of types `a` and `b`. They must agree, except for kPow of a float and an i64.
[[nodiscard]] std::optional<Scalar> result_type(BinaryOp op, Scalar a, Scalar b);
/// True if `literal` holds the alternative that constants of type `s` use.
[[nodiscard]] bool holds(Scalar s, const Literal& literal);

}  // namespace tdsl::ir
