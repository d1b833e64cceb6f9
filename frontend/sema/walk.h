#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "frontend/syntax/ast.h"

namespace tdsl::frontend {

using ExprVisitor = std::function<void(const ast::Expr&)>;
using IsName = std::function<bool(const std::string&)>;

/// Calls `f` on every direct subexpression, in source order.
void for_each_child(const ast::Expr& e, const ExprVisitor& f);
/// Calls `f` on the expression and all subexpressions, parents first, in source order.
void for_each_expr(const ast::Expr& e, const ExprVisitor& f);
/// The same for every expression of a statement and its nested statements. Does not enter function bodies.
void for_each_expr(const ast::Stmt& s, const ExprVisitor& f);
void for_each_expr(const ast::Block& b, const ExprVisitor& f);

/// The names that the block assigns without declaring them: candidates for loop-carried values, in order of first
/// assignment.
[[nodiscard]] std::vector<std::string> assigned_names(const ast::Block& block);

/// The names that are bare subscripts in `e`, not `in_scope` and not bound by an enclosing `op[…]`, in order of first
/// appearance: the dimensions of `return E[i, j] / s[i];`.
[[nodiscard]] std::vector<ast::Identifier> free_subscript_names(
    const ast::Expr& e, const std::function<bool(const std::string&)>& in_scope);

/// The bare names of `e` not bound by an enclosing `op[…]`, in source order.
[[nodiscard]] std::vector<ast::Identifier> unbound_names(const ast::Expr& e);

/// Every name that the function declares or binds: parameters, dimensions of types, variables, index variables, free
/// subscripts. Apart from these, only params are visible in its body. In a lambda, subscripts `is_outside` are not
/// free.
[[nodiscard]] std::set<std::string> names_of(
    const ast::Function& f, const IsName& is_outside = [](const std::string&) { return false; });
/// Calls `f` on every expression of the function's body.
void for_each_expr(const ast::Function& function, const ExprVisitor& f);

/// True if the function has a parameter of function type with that name.
[[nodiscard]] bool has_function_parameter(const ast::Function& f, const std::string& name);

/// The name if `e` is a bare name, possibly in parentheses, else null.
[[nodiscard]] const std::string* bare_name(const ast::Expr& e);

}  // namespace tdsl::frontend
