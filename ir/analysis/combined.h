#pragma once

#include "ir/graph/graph.h"

namespace tdsl::ir {

/// The expression for an element after `old op= value`: `combine` of the two. If `old` equals a user monoid's identity,
/// it is `value`: combine(identity, x) = x is assumed, never computed. combine(x, identity) may differ from x, so an
/// empty reduction by the same user monoid leaves the element unchanged. Not for argmin and argmax.
[[nodiscard]] Expr combined(const Monoid& m, const Expr& old, const Expr& value);

}  // namespace tdsl::ir
