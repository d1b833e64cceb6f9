#pragma once

#include <string>
#include <string_view>

#include "frontend/syntax/ast.h"

namespace tdsl::frontend {

struct PrintOptions {
  /// Parenthesises every composite expression: two programs print alike if and only if their trees are equal.
  bool every_parenthesis = false;
};

/// The program as TDSL source: one statement per line, two spaces of indentation per block, only parentheses required
/// by precedence, no comments. Parses to the same tree.
[[nodiscard]] std::string print(const ast::Module& module, const PrintOptions& options = {});
[[nodiscard]] std::string print(const ast::Stmt& statement, const PrintOptions& options = {});
[[nodiscard]] std::string print(const ast::Expr& expr, const PrintOptions& options = {});
[[nodiscard]] std::string print(const ast::TypeExpr& type);
/// The operator as written, for messages: "+", "**".
[[nodiscard]] std::string_view print(ast::BinaryOp op);
[[nodiscard]] std::string_view print(ast::UnaryOp op);

/// True if two programs have the same tree, ignoring locations, comments, redundant parentheses and line breaks.
[[nodiscard]] bool same_structure(const ast::Module& a, const ast::Module& b);

}  // namespace tdsl::frontend
