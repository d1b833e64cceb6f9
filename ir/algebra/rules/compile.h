#pragma once

#include <functional>

#include "ir/algebra/expr.h"

namespace tdsl::ir::algebra {

/// The initial plan of an expression without sites, by Table 1 of the tensor relational algebra paper: the operand of
/// an aggregation is shuffled by the kept dimensions, that of a concatenation by all but the concatenated one, and a
/// join's left operand is broadcast; all other operators are local. `layout_of` gives the layouts of inputs, on one
/// axis. Opaque operators fetch their operands from any site and leave their results on one site.
[[nodiscard]] Expr compile(Pool& pool, const Expr& e, const std::function<Layout(const Input&)>& layout_of);

/// All results of a program as one expression, for rules, which replace nodes of one: an opaque operator on them if
/// there are several.
[[nodiscard]] Expr single_root(Pool& pool, const Program& program);
/// The program again, with the results' names, from a plan of `single_root(program)`.
[[nodiscard]] Program results_of(const Expr& root, const Program& program);

}  // namespace tdsl::ir::algebra
