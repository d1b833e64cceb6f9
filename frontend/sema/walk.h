#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "frontend/syntax/ast.h"

namespace tdsl::frontend {

using ExprVisitor = std::function<void(const ast::Expr&)>;

/// Calls `f` on every direct subexpression, in the order of the text.
void for_each_child(const ast::Expr& e, const ExprVisitor& f);
/// Calls `f` on the expression and everything below it, parents first, in the order of the text.
void for_each_expr(const ast::Expr& e, const ExprVisitor& f);
/// The same for every expression of a statement and of the statements inside it. Bodies of functions are not entered.
void for_each_expr(const ast::Stmt& s, const ExprVisitor& f);
void for_each_expr(const ast::Block& b, const ExprVisitor& f);

/// The names that the block assigns without having declared them itself: candidates for loop-carried values, in the
/// order of first assignment.
[[nodiscard]] std::vector<std::string> assigned_names(const ast::Block& block);

/// The lone subscript names of `e` for which `in_scope` is false and that no `op[…]` around them binds, in the order of
/// first appearance: the dimensions of `return E[i, j] / s[i];`.
[[nodiscard]] std::vector<ast::Identifier> free_subscript_names(
    const ast::Expr& e, const std::function<bool(const std::string&)>& in_scope);

/// The bare names of `e` that no `op[…]` around them binds, in the order of the text.
[[nodiscard]] std::vector<ast::Identifier> unbound_names(const ast::Expr& e);

/// Every name that the function declares or binds somewhere: parameters, dimensions of types, variables, index
/// variables, free subscripts. No other name but a param can have a meaning in its body.
[[nodiscard]] std::set<std::string> names_of(const ast::Function& f);
/// Calls `f` on every expression of the function's body.
void for_each_expr(const ast::Function& function, const ExprVisitor& f);

/// The name when `e` is a bare name (parentheses do not matter), else null.
[[nodiscard]] const std::string* bare_name(const ast::Expr& e);

}  // namespace tdsl::frontend
