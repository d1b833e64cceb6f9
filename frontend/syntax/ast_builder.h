#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "frontend/diagnostics/diagnostics.h"
#include "frontend/syntax/ast.h"

namespace tdsl::frontend {

/// A subscript as parsed, or an item of a reduction's index list, since `sum[k in a..b](…)` and `A[k]` start alike.
/// `range` covers the whole item.
struct SubscriptDraft {
  std::variant<ast::IndexSubscript, ast::SliceSubscript, ast::EllipsisSubscript, ast::ReductionIndex> node;
  ast::ExprPtr guard;  ///< null if omitted
  SourceRange range;
};

/// A postfix expression whose last `[…]` may turn out to be a reduction's index list.
struct PostfixDraft {
  ast::ExprPtr expr;  ///< the base if `pending` is set
  std::optional<std::vector<SubscriptDraft>> pending = {};
  SourceRange range = {};
};

/// Parameters and results of a function.
struct SignatureDraft {
  ast::Identifier name;
  std::vector<ast::FunctionParameter> parameters;
  std::vector<ast::TypeExpr> results;
  std::vector<ast::TypeParameter> type_parameters = {};
};

/// `name` or `name: type` in the list of a `let (a, b: f64[m]) = …;`.
struct TypedName {
  ast::Identifier name;
  std::optional<ast::TypeExpr> type;
};

/// `name = value;` in a monoid; the value is null if the field was reported.
struct MonoidField {
  ast::Identifier name;
  ast::ExprPtr value;
};

/// `stored[…];` or `to[i, j] = …;` in a storage; has no left side if the field was reported.
struct StorageField {
  PostfixDraft left;
  ast::ExprPtr value;  ///< null without `=`
  ast::Suffixes suffixes;
  SourceRange range;
};

/// Builds AST nodes for the grammar's actions and reports errors that the grammar does not detect. Every function takes
/// the source range of its construct. After an error it returns a harmless node, so that parsing continues.
class AstBuilder {
 public:
  explicit AstBuilder(DiagnosticSink& sink) : sink_(sink) {}

  // Expressions
  ast::ExprPtr integer(std::string text, const SourceRange& range);
  ast::ExprPtr floating(std::string text, const SourceRange& range);
  ast::ExprPtr boolean(bool value, const SourceRange& range);
  ast::ExprPtr string(std::string value, const SourceRange& range);
  ast::ExprPtr name(ast::Identifier identifier);
  ast::ExprPtr unary(ast::UnaryOp op, ast::ExprPtr operand, const SourceRange& range);
  ast::ExprPtr binary(ast::BinaryOp op, ast::ExprPtr lhs, ast::ExprPtr rhs, const SourceRange& op_range);
  ast::ExprPtr comparison(ast::BinaryOp op, ast::ExprPtr lhs, ast::ExprPtr rhs, const SourceRange& op_range);
  ast::ExprPtr conditional(ast::ExprPtr condition, ast::ExprPtr then_value, ast::ExprPtr else_value,
                           const SourceRange& range);
  ast::ExprPtr parenthesised(const ast::ExprPtr& inner, const SourceRange& range);
  ast::ExprPtr tuple(std::vector<ast::ExprPtr> elements, const SourceRange& range);
  ast::ExprPtr array(std::vector<ast::ExprPtr> elements, const SourceRange& range);
  /// The named element type, f64 for a type parameter; reports types that are not supported.
  ir::Scalar scalar_type(const std::string& name);
  ast::TypeParameter type_parameter(ast::Identifier name, std::optional<ast::Identifier> bound);
  /// The list of a function: distinct names that are not types.
  std::vector<ast::TypeParameter> type_parameters(std::vector<ast::TypeParameter> list);
  ast::ExprPtr cast(const std::string& type, std::vector<ast::Argument> arguments, const SourceRange& range);
  ast::ExprPtr call(ast::Identifier callee, std::vector<ast::Argument> arguments, const SourceRange& range);
  ast::ExprPtr lambda(std::vector<ast::FunctionParameter> parameters, std::variant<ast::ExprPtr, ast::Block> body,
                      const SourceRange& word, const SourceRange& range);

  PostfixDraft postfix(ast::ExprPtr primary);
  PostfixDraft subscripted(PostfixDraft base, std::vector<SubscriptDraft> items, const SourceRange& range);
  PostfixDraft called(PostfixDraft base, std::vector<ast::Argument> arguments, const SourceRange& range);
  PostfixDraft transposed(PostfixDraft base, const SourceRange& range);
  /// Converts the draft to an expression: its last brackets are subscripts.
  ast::ExprPtr finish(PostfixDraft draft);
  std::vector<ast::SubscriptItem> subscripts(std::vector<SubscriptDraft> drafts);

  // Types and annotations
  ast::TypeExpr type(const std::string& scalar, bool sparse, std::vector<ast::Dimension> dimensions,
                     const SourceRange& range);
  /// Adds an `else if`.
  ast::If with_arm(ast::If chain, ast::IfArm arm, const SourceRange& range);
  ast::Annotations with_tile(ast::Annotations annotations, ast::TileAnnotation tile);
  ast::Annotations with_storage(ast::Annotations annotations, ast::StorageAnnotation storage);
  ast::Suffixes with_where(ast::Suffixes suffixes, ast::WhereSuffix where);
  ast::Suffixes with_for(ast::Suffixes suffixes, ast::ForSuffix loop);
  ast::AssignOp assign_op(ast::AssignKind kind, const SourceRange& range);
  ast::AssignOp monoid_assign(ast::Identifier monoid, const SourceRange& equals);
  ast::Definition definition(ast::AssignOp op, ast::ExprPtr value, ast::Suffixes suffixes);

  // Statements. Null after an error was reported.
  ast::StmtPtr statement(ast::StmtNode node, const SourceRange& range);
  ast::StmtPtr let(ast::Let node, const SourceRange& range);
  ast::StmtPtr tuple_let(bool is_mutable, std::vector<TypedName> names, ast::Definition definition,
                         const SourceRange& range);
  ast::StmtPtr output(ast::Output node, const SourceRange& range);
  ast::StmtPtr assign(PostfixDraft left, ast::Definition definition, const SourceRange& range);
  ast::StmtPtr tuple_assign(std::vector<ast::ExprPtr> targets, ast::Definition definition, const SourceRange& range);
  ast::StmtPtr expression_statement(PostfixDraft draft, const SourceRange& range);
  ast::StmtPtr monoid(SignatureDraft signature, std::vector<MonoidField> fields, const SourceRange& range);
  ast::StmtPtr storage(ast::Identifier name, std::vector<ast::Identifier> parameters, std::vector<StorageField> fields,
                       const SourceRange& range);
  ast::Target target(ast::Identifier name, std::optional<std::vector<SubscriptDraft>> items, const SourceRange& range);
  ast::Block block(std::vector<ast::StmtPtr> statements, const SourceRange& range);
  void top_level(std::vector<ast::StmtPtr> statements);
  /// A statement at top level, before it is known whether the rest of the file can be read.
  void reached(const ast::StmtPtr& statement);
  void bare_block(const SourceRange& range);
  void unmatched_brace(const SourceRange& range);

  std::vector<ast::StmtPtr> take_statements() { return std::move(statements_); }
  /// The statements at top level that were read, also if the file ended in an error.
  std::vector<ast::StmtPtr> take_reached() { return std::move(reached_); }

 private:
  ast::ExprPtr make(ast::ExprNode node, const SourceRange& range);
  ast::ExprPtr placeholder(const SourceRange& range);
  void report_depth(const SourceRange& range);
  void reject_tuple(const ast::ExprPtr& value);
  void check_arguments(const ast::Identifier& callee, const std::vector<ast::Argument>& arguments);
  PostfixDraft reduction(const PostfixDraft& base, std::vector<ast::Argument> arguments, const SourceRange& range);
  bool check_spacing(const ast::AssignOp& op, const ast::Identifier& before);
  ast::StmtPtr print(ast::Call call, const SourceRange& range);
  ast::StmtPtr assertion(ast::Call call, const SourceRange& range);
  std::optional<ast::IndexMap> index_map(StorageField field);

  DiagnosticSink& sink_;
  std::vector<ast::StmtPtr> statements_;
  std::vector<ast::StmtPtr> reached_;
  bool depth_reported_ = false;
};

}  // namespace tdsl::frontend
