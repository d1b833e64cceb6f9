#pragma once

#include "ir/algebra/expr.h"

namespace tdsl::ir::algebra {

/// The first plan of an expression without sites, by Table 1 of the tensor relational algebra paper: before an
/// aggregation its operand is shuffled by the dimensions kept, before a concatenation by all but the concatenated one,
/// and a join's left operand is broadcast; all other operators are local. `layout_of` gives the layouts of inputs, on
/// one axis. Opaque operators find their operands wherever they are, and leave their results on one site.
[[nodiscard]] Expr compile(Pool& pool, const Expr& e, const std::function<Layout(const Input&)>& layout_of);

}  // namespace tdsl::ir::algebra
