#pragma once

#include "ir/graph/graph.h"

namespace tdsl::ir {

/// What `old op= value` makes of an element, as an expression: `combine` applied to the two. Where `old` equals a user
/// monoid's identity that is `value`: combine(identity, x) = x is assumed, never computed. combine(x, identity) need
/// not be x, so a reduction over nothing by the user monoid that combines leaves the element alone. Not for argmin and
/// argmax.
[[nodiscard]] Expr combined(const Monoid& m, const Expr& old, const Expr& value);

}  // namespace tdsl::ir
