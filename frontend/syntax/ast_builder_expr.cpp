#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <set>

#include "frontend/hints/foreign_words.h"
#include "frontend/syntax/ast_builder.h"
#include "frontend/syntax/ast_parts.h"
#include "frontend/syntax/token.h"

namespace tdsl::frontend {

namespace {

/// `x > 0`, `a && b`.
bool is_condition(const ast::Expr& e) {
  const auto* binary = std::get_if<ast::Binary>(&e.node);
  return binary != nullptr && binary->op >= ast::BinaryOp::kEq;
}

bool is_comparison(const ast::Expr& expr) {
  const auto* binary = std::get_if<ast::Binary>(&expr.node);
  return binary != nullptr && binary->op >= ast::BinaryOp::kEq && binary->op <= ast::BinaryOp::kGe &&
         expr.parentheses == 0;
}

}  // namespace

void AstBuilder::report_depth(const SourceRange& range) {
  if (!depth_reported_) {
    sink_.error(DiagnosticId::kNestingTooDeep, range,
                "this nests more than " + std::to_string(ast::kMaxDepth) + " deep; name a part of it with `let`");
    depth_reported_ = true;
  }
}

ast::ExprPtr AstBuilder::placeholder(const SourceRange& range) {
  return std::make_shared<const ast::Expr>(ast::Expr{range, ast::BoolLiteral{false}});
}

ast::ExprPtr AstBuilder::make(ast::ExprNode node, const SourceRange& range) {
  const std::uint32_t depth = depth_of(node);
  if (depth > ast::kMaxDepth) {
    report_depth(range);
    return placeholder(range);
  }
  return std::make_shared<const ast::Expr>(ast::Expr{range, std::move(node), 0, depth});
}

void AstBuilder::reject_tuple(const ast::ExprPtr& value) {
  if (value != nullptr && std::holds_alternative<ast::Tuple>(value->node)) {
    sink_.error(DiagnosticId::kMisplacedTuple, value->range,
                "a tuple can stand only after `return`, in `let (a, b) = …` and in `(a, b) = …`");
  }
}

ast::ExprPtr AstBuilder::integer(std::string text, const SourceRange& range) {
  const std::uint64_t value = integer_value(text).value_or(0);  // the lexer reported others
  const bool beyond = value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return make(ast::IntegerLiteral{static_cast<std::int64_t>(value), std::move(text), beyond}, range);
}

ast::ExprPtr AstBuilder::floating(std::string text, const SourceRange& range) {
  std::string digits = text;
  std::erase(digits, '_');
  double value = 0;
  const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (status == std::errc::result_out_of_range) {
    value = std::strtod(digits.c_str(), nullptr);  // underflow; the lexer reported overflow
  }
  const bool imaginary = text.back() == 'i';
  return make(ast::FloatLiteral{value, std::move(text), imaginary}, range);
}

ast::ExprPtr AstBuilder::boolean(bool value, const SourceRange& range) { return make(ast::BoolLiteral{value}, range); }

ast::ExprPtr AstBuilder::string(std::string value, const SourceRange& range) {
  return make(ast::StringLiteral{std::move(value)}, range);
}

ast::ExprPtr AstBuilder::name(ast::Identifier identifier) {
  return make(ast::Name{std::move(identifier.name)}, identifier.range);
}

ast::ExprPtr AstBuilder::unary(ast::UnaryOp op, ast::ExprPtr operand, const SourceRange& range) {
  const auto* literal = std::get_if<ast::IntegerLiteral>(&operand->node);
  if (op == ast::UnaryOp::kNegate && literal != nullptr && literal->beyond_i64) {
    if (literal->value != std::numeric_limits<std::int64_t>::min())
      sink_.error(DiagnosticId::kIntegerOverflow, range, "the integer -" + literal->text + " does not fit 64 bits");
    ast::IntegerLiteral least = *literal;
    least.beyond_i64 = false;
    operand = make(std::move(least), operand->range);
  }
  return make(ast::Unary{op, std::move(operand)}, range);
}

ast::ExprPtr AstBuilder::binary(ast::BinaryOp op, ast::ExprPtr lhs, ast::ExprPtr rhs, const SourceRange& op_range) {
  const SourceRange range = lhs->range.to(rhs->range);
  return make(ast::Binary{op, std::move(lhs), std::move(rhs), op_range}, range);
}

ast::ExprPtr AstBuilder::comparison(ast::BinaryOp op, ast::ExprPtr lhs, ast::ExprPtr rhs, const SourceRange& op_range) {
  if (is_comparison(*lhs)) {
    sink_.error(DiagnosticId::kChainedComparison, op_range,
                "comparisons do not chain; write `a < b && b < c`, or parentheses to compare truth values");
  }
  return binary(op, std::move(lhs), std::move(rhs), op_range);
}

ast::ExprPtr AstBuilder::conditional(ast::ExprPtr condition, ast::ExprPtr then_value, ast::ExprPtr else_value,
                                     const SourceRange& range) {
  return make(ast::Conditional{std::move(condition), std::move(then_value), std::move(else_value)}, range);
}

ast::ExprPtr AstBuilder::parenthesised(const ast::ExprPtr& inner, const SourceRange& range) {
  ast::Expr copy = *inner;
  copy.range = range;
  ++copy.parentheses;
  return std::make_shared<const ast::Expr>(std::move(copy));
}

ast::ExprPtr AstBuilder::tuple(std::vector<ast::ExprPtr> elements, const SourceRange& range) {
  return make(ast::Tuple{std::move(elements)}, range);
}

ast::ExprPtr AstBuilder::array(std::vector<ast::ExprPtr> elements, const SourceRange& range) {
  constexpr std::size_t kMostElements = 65'536;
  if (elements.empty() || elements.size() > kMostElements) {
    sink_.error(DiagnosticId::kBadArgument, range,
                elements.empty() ? "an array literal has at least one element; write zeros(0)"
                                 : "an array literal has at most 65536 elements; read longer tensors from a file");
    return placeholder(range);
  }
  return make(ast::ArrayLiteral{std::move(elements)}, range);
}

namespace {

/// The word if it is a type parameter, which the scanner marks as a type; empty for an element type.
std::string type_parameter_named(const std::string& word) { return rt::element_type_named(word) ? "" : word; }

}  // namespace

ir::Scalar AstBuilder::scalar_type(const std::string& name) {
  return rt::element_type_named(name).value_or(ir::Scalar::kF64);
}

ast::ExprPtr AstBuilder::cast(const std::string& type, std::vector<ast::Argument> arguments, const SourceRange& range) {
  const ir::Scalar scalar = scalar_type(type);
  if (arguments.size() == 2 && ir::is_complex(scalar)) return call({type, range}, std::move(arguments), range);
  if (arguments.size() != 1 || arguments.front().name) {
    sink_.error(DiagnosticId::kNotCallable, range, "a cast takes exactly one value: `" + type + "(x)`");
    return placeholder(range);
  }
  check_arguments({type, range}, arguments);
  return make(ast::Cast{scalar, arguments.front().value, type_parameter_named(type)}, range);
}

void AstBuilder::check_arguments(const ast::Identifier& callee, const std::vector<ast::Argument>& arguments) {
  // Strings are legal here, or one message about them suffices.
  bool strings_told =
      callee.name == "einsum" || callee.name == "print" || callee.name == "assert" || callee.name == "pad";
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const ast::Argument& argument = arguments[i];
    if (!strings_told && std::holds_alternative<ast::StringLiteral>(argument.value->node)) {
      static const std::vector<std::string> takers = {"print", "assert", "einsum"};
      const std::string foreign = function_hint(callee.name);
      sink_.error(DiagnosticId::kMisplacedString, argument.range,
                  "a string can stand only in print, assert, einsum, import and extern" +
                      (foreign.empty() ? did_you_mean(callee.name, takers) : foreign));
      strings_told = true;
    }
    const auto same_name = [&](const ast::Argument& other) {
      return argument.name && other.name && other.name->name == argument.name->name;
    };
    const auto before = arguments.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::any_of(arguments.begin(), before, same_name)) {
      sink_.error(DiagnosticId::kBadNamedArgument, argument.name->range,
                  "the argument `" + argument.name->name + "=` is given twice");
    }
    if (!argument.name && i > 0 && arguments[i - 1].name) {
      sink_.error(DiagnosticId::kBadNamedArgument, argument.range, "named arguments come after the others");
    }
  }
}

ast::ExprPtr AstBuilder::call(ast::Identifier callee, std::vector<ast::Argument> arguments, const SourceRange& range) {
  check_arguments(callee, arguments);
  return make(ast::Call{std::move(callee), std::move(arguments)}, range);
}

ast::ExprPtr AstBuilder::lambda(std::vector<ast::FunctionParameter> parameters,
                                std::variant<ast::ExprPtr, ast::Block> body, const SourceRange& word,
                                const SourceRange& range) {
  ast::Function function{{"fn", word}, std::move(parameters), {}, std::move(body)};
  return make(ast::Lambda{std::make_shared<const ast::Function>(std::move(function))}, range);
}

ast::TypeParameter AstBuilder::type_parameter(ast::Identifier name, std::optional<ast::Identifier> bound) {
  if (bound && bound->name != "float" && bound->name != "real" && bound->name != "number")
    sink_.error(DiagnosticId::kBadArgument, bound->range,
                "`" + bound->name + "` bounds no type parameter; the bounds are `float`, `real` and `number`");
  return {std::move(name), std::move(bound)};
}

std::vector<ast::TypeParameter> AstBuilder::type_parameters(std::vector<ast::TypeParameter> list) {
  std::set<std::string> names;
  for (const ast::TypeParameter& t : list) {
    if (type_parameter_named(t.name.name).empty())
      sink_.error(DiagnosticId::kBadArgument, t.name.range,
                  "`" + t.name.name + "` is a type; the name of a type parameter must be new");
    if (!names.insert(t.name.name).second)
      sink_.error(DiagnosticId::kRedeclaration, t.name.range, "`" + t.name.name + "` is declared twice");
  }
  return list;
}

PostfixDraft AstBuilder::postfix(ast::ExprPtr primary) {
  const SourceRange range = primary->range;
  return {std::move(primary), {}, range};
}

PostfixDraft AstBuilder::subscripted(PostfixDraft base, std::vector<SubscriptDraft> items, const SourceRange& range) {
  return {finish(std::move(base)), std::move(items), range};
}

PostfixDraft AstBuilder::transposed(PostfixDraft base, const SourceRange& range) {
  return postfix(make(ast::Transpose{finish(std::move(base))}, range));
}

PostfixDraft AstBuilder::called(PostfixDraft base, std::vector<ast::Argument> arguments, const SourceRange& range) {
  const auto* callee = std::get_if<ast::Name>(&base.expr->node);
  if (callee == nullptr || base.expr->parentheses > 0) {
    sink_.error(DiagnosticId::kNotCallable, base.range, "this cannot be called: only a name can; a product needs `*`");
    return postfix(placeholder(range));
  }
  if (base.pending) { return reduction(base, std::move(arguments), range); }
  return postfix(call({callee->name, base.range}, std::move(arguments), range));
}

PostfixDraft AstBuilder::reduction(const PostfixDraft& base, std::vector<ast::Argument> arguments,
                                   const SourceRange& range) {
  const ast::Identifier op{std::get<ast::Name>(base.expr->node).name, base.expr->range};
  ast::Reduction result{op, {}, nullptr, nullptr};
  for (std::size_t i = 0; i < base.pending->size(); ++i) {
    const SubscriptDraft& item = (*base.pending)[i];
    if (item.guard != nullptr && i + 1 < base.pending->size()) {
      sink_.error(DiagnosticId::kBadReduction, item.guard->range, "the guard follows the last index");
    }
    result.guard = item.guard;
    if (const auto* index = std::get_if<ast::ReductionIndex>(&item.node)) {
      result.indices.push_back(*index);
      continue;
    }
    const auto* plain = std::get_if<ast::IndexSubscript>(&item.node);
    const auto* index_name = plain == nullptr ? nullptr : std::get_if<ast::Name>(&plain->value->node);
    if (plain != nullptr && i > 0 && is_condition(*plain->value)) {
      sink_.error(DiagnosticId::kBadReduction, item.range,
                  "a condition is a guard behind the last index: `" + op.name + "[i in a..b where c](…)`");
      return postfix(placeholder(range));
    }
    if (index_name == nullptr || plain->value->parentheses > 0) {
      sink_.error(
          DiagnosticId::kBadReduction, item.range,
          "an index of `" + op.name +
              "[…]` is a name or `name in a..b`; the result of a subscript cannot be called: a product needs `*`");
      return postfix(placeholder(range));
    }
    result.indices.push_back({{index_name->name, item.range}, nullptr, nullptr, nullptr, item.range});
  }
  check_arguments(op, arguments);
  if (arguments.size() != 1 || arguments.front().name) {
    sink_.error(DiagnosticId::kBadReduction, range, "`" + op.name + "[…](…)` takes exactly one expression");
    return postfix(placeholder(range));
  }
  result.body = arguments.front().value;
  return postfix(make(std::move(result), range));
}

ast::ExprPtr AstBuilder::finish(PostfixDraft draft) {
  if (!draft.pending) { return std::move(draft.expr); }
  return make(ast::Subscript{std::move(draft.expr), subscripts(std::move(*draft.pending))}, draft.range);
}

std::vector<ast::SubscriptItem> AstBuilder::subscripts(std::vector<SubscriptDraft> drafts) {
  std::vector<ast::SubscriptItem> items;
  for (SubscriptDraft& draft : drafts) {
    if (const auto* index = std::get_if<ast::ReductionIndex>(&draft.node)) {
      const std::string& name = index->name.name;
      if (draft.guard != nullptr) {
        sink_.error(DiagnosticId::kMisplacedRange, draft.range,
                    "a guard in brackets belongs to a reduction such as `max[" + name + " where …](…)`",
                    {{{}, "the guard of a statement follows its expression: `… where …`"}});
      } else {
        sink_.error(DiagnosticId::kMisplacedRange, draft.range,
                    "a range in brackets belongs to a reduction such as `sum[" + name + " in a..b](…)`",
                    {{{},
                      "a slice is written `a:b`; a range of a statement follows its expression: `… for " + name +
                          " in a..b`"}});
      }
      items.push_back({draft.range, ast::IndexSubscript{placeholder(draft.range)}});
    } else if (auto* slice = std::get_if<ast::SliceSubscript>(&draft.node)) {
      items.push_back({draft.range, std::move(*slice)});
    } else if (std::holds_alternative<ast::EllipsisSubscript>(draft.node)) {
      items.push_back({draft.range, ast::EllipsisSubscript{}});
    } else {
      items.push_back({draft.range, std::move(std::get<ast::IndexSubscript>(draft.node))});
    }
  }
  return items;
}

ast::TypeExpr AstBuilder::type(const std::string& scalar, bool sparse, std::vector<ast::Dimension> dimensions,
                               const SourceRange& range) {
  return {scalar_type(scalar), type_parameter_named(scalar), sparse, std::move(dimensions), range};
}

}  // namespace tdsl::frontend
