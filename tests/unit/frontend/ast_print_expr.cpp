#include <array>
#include <charconv>

#include "frontend/syntax/token.h"
#include "tests/unit/frontend/ast_printer.h"

namespace tdsl::frontend {

namespace {

Precedence precedence(ast::BinaryOp op) {
  switch (op) {
    case ast::BinaryOp::kAdd:
    case ast::BinaryOp::kSub: return Precedence::kSum;
    case ast::BinaryOp::kMul:
    case ast::BinaryOp::kDiv:
    case ast::BinaryOp::kMod:
    case ast::BinaryOp::kMatMul: return Precedence::kProduct;
    case ast::BinaryOp::kPow: return Precedence::kPower;
    case ast::BinaryOp::kBitOr: return Precedence::kBitOr;
    case ast::BinaryOp::kBitXor: return Precedence::kBitXor;
    case ast::BinaryOp::kBitAnd: return Precedence::kBitAnd;
    case ast::BinaryOp::kShiftLeft:
    case ast::BinaryOp::kShiftRight: return Precedence::kShift;
    case ast::BinaryOp::kEq:
    case ast::BinaryOp::kNe:
    case ast::BinaryOp::kLt:
    case ast::BinaryOp::kLe:
    case ast::BinaryOp::kGt:
    case ast::BinaryOp::kGe: return Precedence::kComparison;
    case ast::BinaryOp::kAnd: return Precedence::kAnd;
    case ast::BinaryOp::kOr: return Precedence::kOr;
  }
  return Precedence::kPostfix;
}

struct PrecedenceOf {
  Precedence operator()(const ast::IntegerLiteral&) const { return Precedence::kPostfix; }
  Precedence operator()(const ast::FloatLiteral&) const { return Precedence::kPostfix; }
  Precedence operator()(const ast::BoolLiteral&) const { return Precedence::kPostfix; }
  Precedence operator()(const ast::StringLiteral&) const { return Precedence::kPostfix; }
  Precedence operator()(const ast::Name&) const { return Precedence::kPostfix; }
  Precedence operator()(const ast::Unary&) const { return Precedence::kUnary; }
  Precedence operator()(const ast::Binary& node) const { return precedence(node.op); }
  Precedence operator()(const ast::Transpose&) const { return Precedence::kPostfix; }
  Precedence operator()(const ast::Conditional&) const { return Precedence::kConditional; }
  Precedence operator()(const ast::Cast&) const { return Precedence::kPostfix; }
  Precedence operator()(const ast::Call&) const { return Precedence::kPostfix; }
  Precedence operator()(const ast::Tuple&) const { return Precedence::kPostfix; }
  Precedence operator()(const ast::Subscript&) const { return Precedence::kPostfix; }
  Precedence operator()(const ast::Reduction&) const { return Precedence::kPostfix; }
  Precedence operator()(const ast::ArrayLiteral&) const { return Precedence::kPostfix; }
  Precedence operator()(const ast::Lambda&) const { return Precedence::kPostfix; }
};

Precedence tighter(Precedence level) { return static_cast<Precedence>(static_cast<int>(level) + 1); }

bool is_composite(const ast::Expr& expr) {
  return std::holds_alternative<ast::Unary>(expr.node) || std::holds_alternative<ast::Binary>(expr.node) ||
         std::holds_alternative<ast::Conditional>(expr.node) || std::holds_alternative<ast::Transpose>(expr.node) ||
         std::holds_alternative<ast::Subscript>(expr.node);
}

}  // namespace

std::string_view print(ast::BinaryOp op) {
  switch (op) {
    case ast::BinaryOp::kAdd: return "+";
    case ast::BinaryOp::kSub: return "-";
    case ast::BinaryOp::kMul: return "*";
    case ast::BinaryOp::kDiv: return "/";
    case ast::BinaryOp::kMod: return "%";
    case ast::BinaryOp::kPow: return "**";
    case ast::BinaryOp::kMatMul: return "@";
    case ast::BinaryOp::kBitAnd: return "&";
    case ast::BinaryOp::kBitOr: return "|";
    case ast::BinaryOp::kBitXor: return "^";
    case ast::BinaryOp::kShiftLeft: return "<<";
    case ast::BinaryOp::kShiftRight: return ">>";
    case ast::BinaryOp::kEq: return "==";
    case ast::BinaryOp::kNe: return "!=";
    case ast::BinaryOp::kLt: return "<";
    case ast::BinaryOp::kLe: return "<=";
    case ast::BinaryOp::kGt: return ">";
    case ast::BinaryOp::kGe: return ">=";
    case ast::BinaryOp::kAnd: return "&&";
    case ast::BinaryOp::kOr: return "||";
  }
  return "";
}

std::string_view print(ast::UnaryOp op) {
  return op == ast::UnaryOp::kNegate ? "-" : op == ast::UnaryOp::kNot ? "!" : "~";
}

std::string ExprPrinter::text(const ast::ExprPtr& expr, Precedence place) const {
  return expr ? text(*expr, place) : "";
}

std::string ExprPrinter::text(const ast::Expr& expr, Precedence place) const {
  std::string result = std::visit(*this, expr.node);
  const bool needed = std::visit(PrecedenceOf(), expr.node) < place;
  return needed || (options_.every_parenthesis && is_composite(expr)) ? "(" + result + ")" : result;
}

std::string ExprPrinter::list(const std::vector<ast::ExprPtr>& exprs) const {
  std::string result;
  for (const ast::ExprPtr& expr : exprs) { result += (result.empty() ? "" : ", ") + text(expr); }
  return result;
}

std::string ExprPrinter::subscripts(const std::vector<ast::SubscriptItem>& items) const {
  std::string result;
  for (const ast::SubscriptItem& item : items) {
    result += (result.empty() ? "" : ", ") + std::visit(*this, item.node);
  }
  return "[" + result + "]";
}

std::string ExprPrinter::range(const ast::IndexRange& range) const {
  const std::string step = range.step ? " by " + text(range.step) : "";
  return range.name.name + " in " + text(range.lower) + ".." + text(range.upper) + step;
}

std::string ExprPrinter::type(const ast::TypeExpr& type) const {
  std::string result = type.sparse ? "sparse " : "";
  result += ir::name_of(type.scalar);
  if (type.dimensions.empty()) { return result; }
  std::string dimensions;
  for (const ast::Dimension& dimension : type.dimensions) {
    dimensions +=
        (dimensions.empty() ? "" : ", ") + std::string(dimension.sparse ? "sparse " : "") + text(dimension.extent);
  }
  return result + "[" + dimensions + "]";
}

std::string ExprPrinter::operator()(const ast::IntegerLiteral& node) const {
  return node.text.empty() ? std::to_string(node.value) : node.text;
}

std::string ExprPrinter::operator()(const ast::FloatLiteral& node) const {
  if (!node.text.empty()) { return node.text; }
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), node.value).ptr;
  std::string result(buffer.data(), end);
  return result.find_first_of(".en") == std::string::npos ? result + ".0" : result;
}

std::string ExprPrinter::operator()(const ast::BoolLiteral& node) const { return node.value ? "true" : "false"; }

std::string ExprPrinter::operator()(const ast::StringLiteral& node) const { return quoted_string(node.value); }

std::string ExprPrinter::operator()(const ast::Name& node) const { return node.name; }

std::string ExprPrinter::operator()(const ast::Unary& node) const {
  return std::string(print(node.op)) + text(node.operand, Precedence::kUnary);
}

std::string ExprPrinter::exponent(const ast::ExprPtr& expr) const {
  const auto* unary = std::get_if<ast::Unary>(&expr->node);
  if (unary != nullptr && unary->op == ast::UnaryOp::kNegate && !options_.every_parenthesis) {
    return "-" + exponent(unary->operand);
  }
  return text(expr, Precedence::kPower);
}

std::string ExprPrinter::operator()(const ast::Binary& node) const {
  const std::string op = " " + std::string(print(node.op)) + " ";
  const Precedence level = precedence(node.op);
  if (node.op == ast::BinaryOp::kPow) { return text(node.lhs, Precedence::kPostfix) + op + exponent(node.rhs); }
  const Precedence left = level == Precedence::kComparison ? tighter(level) : level;
  return text(node.lhs, left) + op + text(node.rhs, tighter(level));
}

std::string ExprPrinter::operator()(const ast::Transpose& node) const {
  return text(node.operand, Precedence::kPostfix) + "'";
}

std::string ExprPrinter::operator()(const ast::Conditional& node) const {
  return "if " + text(node.condition) + " then " + text(node.then_value) + " else " + text(node.else_value);
}

std::string ExprPrinter::operator()(const ast::Cast& node) const {
  return std::string(ir::name_of(node.type)) + "(" + text(node.operand) + ")";
}

std::string ExprPrinter::operator()(const ast::Call& node) const {
  std::string arguments;
  for (const ast::Argument& argument : node.arguments) {
    arguments +=
        (arguments.empty() ? "" : ", ") + (argument.name ? argument.name->name + "=" : "") + text(argument.value);
  }
  return node.callee.name + "(" + arguments + ")";
}

std::string ExprPrinter::operator()(const ast::ArrayLiteral& node) const { return "[" + list(node.elements) + "]"; }

/// The function as a statement, without the line end.
std::string ExprPrinter::operator()(const ast::Lambda& node) const {
  ast::Stmt statement;
  statement.node = *node.function;
  std::string result = print(statement, options_);
  result.erase(result.find_last_not_of(";\n") + 1);
  return result.replace(0, std::string("fn fn").size(), "fn");
}

std::string ExprPrinter::operator()(const ast::EllipsisSubscript&) const { return "..."; }

std::string ExprPrinter::operator()(const ast::Tuple& node) const { return "(" + list(node.elements) + ")"; }

std::string ExprPrinter::operator()(const ast::Subscript& node) const {
  return text(node.base, Precedence::kPostfix) + subscripts(node.items);
}

std::string ExprPrinter::operator()(const ast::Reduction& node) const {
  std::string indices;
  for (const ast::ReductionIndex& index : node.indices) {
    indices += indices.empty() ? "" : ", ";
    indices +=
        index.has_range() ? range({index.name, index.lower, index.upper, index.step, index.range}) : index.name.name;
  }
  const std::string guard = node.guard ? " where " + text(node.guard) : "";
  return node.op.name + "[" + indices + guard + "](" + text(node.body) + ")";
}

std::string ExprPrinter::operator()(const ast::IndexSubscript& node) const { return text(node.value); }

std::string ExprPrinter::operator()(const ast::SliceSubscript& node) const {
  return text(node.start) + ":" + text(node.stop) + (node.step ? ":" + text(node.step) : "");
}

std::string print(const ast::Expr& expr, const PrintOptions& options) { return ExprPrinter(options).text(expr); }

std::string print(const ast::TypeExpr& type) { return ExprPrinter({}).type(type); }

}  // namespace tdsl::frontend
