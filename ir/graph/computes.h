#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph/expr_build.h"
#include "ir/graph/graph.h"

// Parts of a Compute, for code that reads and writes index graphs.

namespace tdsl::ir {

/// The label of this number: out labels first, then reduce labels.
[[nodiscard]] const Label& label_of(const Compute& c, std::int32_t label);
[[nodiscard]] Label& label_of(Compute& c, std::int32_t label);
/// Out labels, then reduce labels.
[[nodiscard]] std::vector<Label> all_labels(const Compute& c);

/// The labels, renamed where their names clash with those of `others`.
[[nodiscard]] std::vector<Label> renamed_apart(std::vector<Label> labels, std::vector<Label> others);

/// `[i in 0..n, j in 0..m]` for a shape; `numbered_labels` names them i0, i1, ….
[[nodiscard]] std::vector<Label> plain_labels(const std::vector<Extent>& shape);
[[nodiscard]] std::vector<Label> numbered_labels(const std::vector<Extent>& shape);
/// The index variables 0, 1, …, rank - 1: the subscripts of a tensor at `plain_labels` of its shape.
[[nodiscard]] std::vector<Expr> plain_subscripts(std::size_t rank);

/// True for argmin and argmax, whose value is a position.
[[nodiscard]] bool locates(const Monoid& m);
/// True for the operators of the language that combine values, which are associative and commutative up to rounding:
/// not argmin, argmax or an operator of the user.
[[nodiscard]] bool combines_freely(const Monoid& m);

/// Calls `f(const Expr&)` on the bodies, the guard, if there is one, and the store subscripts.
template <class F>
void for_each_expr(const Compute& c, const F& f) {
  for (const Expr& body : c.bodies) f(body);
  if (c.guard) f(c.guard);
  for (const Expr& subscript : c.left) f(subscript);
}
/// Calls `f(const Read&)` on every read in the expression, or in any expression of the Compute.
template <class F>
void for_each_read(const Expr& e, const F& f) {
  for_each_node(e, [&](const ExprNode& n) {
    if (const auto* r = std::get_if<Read>(&n.op)) f(*r);
  });
}
template <class F>
void for_each_read(const Compute& c, const F& f) {
  for_each_expr(c, [&](const Expr& e) { for_each_read(e, f); });
}
/// The Compute's sparse iteration if it has loops over stored elements, else null.
[[nodiscard]] const SparseIteration* stored_loops(const Compute& c);

}  // namespace tdsl::ir
