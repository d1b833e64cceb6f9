#pragma once

#include <string>
#include <vector>

#include "frontend/syntax/ast.h"
#include "tests/unit/frontend/ast_print.h"

namespace tdsl::frontend {

/// Binding strength of expressions; a child that binds looser than its context needs parentheses.
enum class Precedence : int {
  kConditional,
  kOr,
  kAnd,
  kComparison,
  kBitOr,
  kBitXor,
  kBitAnd,
  kShift,
  kSum,
  kProduct,
  kUnary,
  kPower,
  kPostfix
};

/// Prints expressions; the implementation of `print(const ast::Expr&)`.
class ExprPrinter {
 public:
  explicit ExprPrinter(const PrintOptions& options) : options_(options) {}

  [[nodiscard]] std::string text(const ast::ExprPtr& expr, Precedence place = Precedence::kConditional) const;
  [[nodiscard]] std::string text(const ast::Expr& expr, Precedence place = Precedence::kConditional) const;
  [[nodiscard]] std::string list(const std::vector<ast::ExprPtr>& exprs) const;
  [[nodiscard]] std::string subscripts(const std::vector<ast::SubscriptItem>& items) const;
  [[nodiscard]] std::string range(const ast::IndexRange& range) const;
  [[nodiscard]] std::string type(const ast::TypeExpr& type) const;

  std::string operator()(const ast::IntegerLiteral& node) const;
  std::string operator()(const ast::FloatLiteral& node) const;
  std::string operator()(const ast::BoolLiteral& node) const;
  std::string operator()(const ast::StringLiteral& node) const;
  std::string operator()(const ast::Name& node) const;
  std::string operator()(const ast::Unary& node) const;
  std::string operator()(const ast::Binary& node) const;
  std::string operator()(const ast::Transpose& node) const;
  std::string operator()(const ast::Conditional& node) const;
  std::string operator()(const ast::Cast& node) const;
  std::string operator()(const ast::Call& node) const;
  std::string operator()(const ast::Tuple& node) const;
  std::string operator()(const ast::Subscript& node) const;
  std::string operator()(const ast::Reduction& node) const;
  std::string operator()(const ast::IndexSubscript& node) const;
  std::string operator()(const ast::SliceSubscript& node) const;
  std::string operator()(const ast::EllipsisSubscript& node) const;
  std::string operator()(const ast::ArrayLiteral& node) const;
  std::string operator()(const ast::Lambda& node) const;

 private:
  [[nodiscard]] std::string exponent(const ast::ExprPtr& expr) const;

  PrintOptions options_;
};

}  // namespace tdsl::frontend
