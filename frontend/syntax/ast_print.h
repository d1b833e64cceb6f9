#pragma once

#include <string>
#include <string_view>

#include "frontend/syntax/ast.h"

namespace tdsl::frontend {

struct PrintOptions {
  /// Parentheses around every composite expression: two programs are the same tree exactly when they print alike so.
  bool every_parenthesis = false;
};

/// The program as TDSL source: one statement per line, two spaces of indentation per block, only the parentheses that
/// precedence needs, no comments. Parsing the result gives the same tree.
[[nodiscard]] std::string print(const ast::Module& module, const PrintOptions& options = {});
[[nodiscard]] std::string print(const ast::Stmt& statement, const PrintOptions& options = {});
[[nodiscard]] std::string print(const ast::Expr& expr, const PrintOptions& options = {});
[[nodiscard]] std::string print(const ast::TypeExpr& type);
[[nodiscard]] std::string_view print(ast::ScalarType type);
/// The operator as written, for messages: "+", "**".
[[nodiscard]] std::string_view print(ast::BinaryOp op);
[[nodiscard]] std::string_view print(ast::UnaryOp op);

/// Whether two programs are the same tree: places, comments, superfluous parentheses and line breaks do not count.
[[nodiscard]] bool same_structure(const ast::Module& a, const ast::Module& b);

}  // namespace tdsl::frontend
