#include <algorithm>
#include <array>
#include <string_view>

#include "frontend/hints/foreign_words.h"
#include "frontend/syntax/ast_builder.h"
#include "frontend/syntax/ast_parts.h"
#include "frontend/syntax/token.h"

namespace tdsl::frontend {

namespace {

std::string quoted(const std::string& text) { return "`" + text + "`"; }

/// The keyword of a declaration that is legal at top level only, or empty.
struct TopLevelWord {
  std::string_view operator()(const ast::Import&) const { return "import"; }
  std::string_view operator()(const ast::Param&) const { return "param"; }
  std::string_view operator()(const ast::Input&) const { return "input"; }
  std::string_view operator()(const ast::Output&) const { return {}; }
  std::string_view operator()(const ast::Function&) const { return "fn"; }
  std::string_view operator()(const ast::Monoid&) const { return "monoid"; }
  std::string_view operator()(const ast::Extern&) const { return "extern"; }
  std::string_view operator()(const ast::Storage&) const { return "storage"; }
  std::string_view operator()(const ast::Let&) const { return {}; }
  std::string_view operator()(const ast::TupleLet&) const { return {}; }
  std::string_view operator()(const ast::Assign&) const { return {}; }
  std::string_view operator()(const ast::TupleAssign&) const { return {}; }
  std::string_view operator()(const ast::For&) const { return {}; }
  std::string_view operator()(const ast::While&) const { return {}; }
  std::string_view operator()(const ast::If&) const { return {}; }
  std::string_view operator()(const ast::Print&) const { return {}; }
  std::string_view operator()(const ast::Assert&) const { return {}; }
  std::string_view operator()(const ast::Return&) const { return {}; }
  std::string_view operator()(const ast::Leave&) const { return {}; }
};

bool touches(const SourceRange& left, const SourceRange& right) {
  return left.end_line == right.line && left.end_column == right.column;
}

}  // namespace

ast::If AstBuilder::with_arm(ast::If chain, ast::IfArm arm, const SourceRange& range) {
  if (chain.arms.size() < ast::kMaxBlocks) {
    chain.arms.push_back(std::move(arm));
  } else if (!depth_reported_) {
    sink_.error(DiagnosticId::kNestingTooDeep, range,
                "this `if` has more than " + std::to_string(ast::kMaxBlocks) +
                    " conditions; look the value up in a tensor, or split it");
    depth_reported_ = true;
  }
  return chain;
}

ast::Annotations AstBuilder::with_tile(ast::Annotations annotations, ast::TileAnnotation tile) {
  if (annotations.tile) {
    sink_.error(DiagnosticId::kRepeatedAnnotation, tile.range, "a declaration has one `tile` annotation",
                {{annotations.tile->range, "the first is here"}});
  }
  annotations.tile = std::move(tile);
  return annotations;
}

ast::Annotations AstBuilder::with_storage(ast::Annotations annotations, ast::StorageAnnotation storage) {
  if (annotations.storage) {
    sink_.error(DiagnosticId::kRepeatedAnnotation, storage.range, "a declaration has one `storage` annotation",
                {{annotations.storage->range, "the first is here"}});
  }
  annotations.storage = std::move(storage);
  return annotations;
}

ast::Suffixes AstBuilder::with_where(ast::Suffixes suffixes, ast::WhereSuffix where) {
  if (suffixes.where) {
    sink_.error(DiagnosticId::kRepeatedSuffix, where.range, "a statement has one guard; join conditions with `&&`",
                {{suffixes.where->range, "the first is here"}});
  }
  suffixes.where = std::move(where);
  return suffixes;
}

ast::Suffixes AstBuilder::with_for(ast::Suffixes suffixes, ast::ForSuffix loop) {
  if (suffixes.loop) {
    sink_.error(DiagnosticId::kRepeatedSuffix, loop.range, "a statement has one `for`; separate ranges with `,`",
                {{suffixes.loop->range, "the first is here"}});
  }
  suffixes.for_first = !suffixes.where;
  suffixes.loop = std::move(loop);
  return suffixes;
}

ast::AssignOp AstBuilder::assign_op(ast::AssignKind kind, const SourceRange& range) { return {kind, {}, range}; }

ast::AssignOp AstBuilder::monoid_assign(ast::Identifier monoid, const SourceRange& equals) {
  const SourceRange range = monoid.range.to(equals);
  if (!touches(monoid.range, equals)) {
    return {ast::AssignKind::kMonoid, std::move(monoid.name), range};  // check_spacing reports it
  }
  if (monoid.name == "min") { return {ast::AssignKind::kMin, {}, range}; }
  if (monoid.name == "max") { return {ast::AssignKind::kMax, {}, range}; }
  return {ast::AssignKind::kMonoid, std::move(monoid.name), range};
}

/// `monoid=` is one word. With a space, the name is usually a misspelt keyword's, as in `lett x = 1;`.
bool AstBuilder::check_spacing(const ast::AssignOp& op, const ast::Identifier& before) {
  const bool one_word =
      op.range.line == op.range.end_line && op.range.column + op.monoid.size() + 1 == op.range.end_column;
  if (op.kind != ast::AssignKind::kMonoid || one_word) { return true; }
  if (const std::string type = foreign_type(before.name); !type.empty()) {
    sink_.error(DiagnosticId::kSyntaxError, before.range,
                "a type follows the name: `let " + op.monoid + ": " + type + " = …`");
    return false;
  }
  const std::string meant = statement_word_for(before.name);
  if (!meant.empty()) {
    sink_.error(DiagnosticId::kSyntaxError, before.range, unknown_statement(before.name, meant));
    return false;
  }
  sink_.error(DiagnosticId::kSyntaxError, op.range, "unexpected name " + quoted(op.monoid) + " before `=`",
              {{{}, "a combining assignment is written without a space: " + quoted(op.monoid + "=")}});
  return false;
}

ast::Definition AstBuilder::definition(ast::AssignOp op, ast::ExprPtr value, ast::Suffixes suffixes) {
  reject_tuple(value);
  return {std::move(op), std::move(value), std::move(suffixes)};
}

ast::StmtPtr AstBuilder::statement(ast::StmtNode node, const SourceRange& range) {
  const std::uint32_t depth = depth_of(node);
  if (depth > ast::kMaxDepth) {
    report_depth(range);
    return nullptr;
  }
  return std::make_shared<const ast::Stmt>(ast::Stmt{range, std::move(node), depth});
}

ast::StmtPtr AstBuilder::let(ast::Let node, const SourceRange& range) {
  check_spacing(node.definition.op, node.target.name);
  return statement(std::move(node), range);
}

ast::StmtPtr AstBuilder::tuple_let(bool is_mutable, std::vector<TypedName> names, ast::Definition definition,
                                   const SourceRange& range) {
  ast::TupleLet let{is_mutable, {}, {}, std::move(definition)};
  for (TypedName& declared : names) {
    let.names.push_back(std::move(declared.name));
    let.types.push_back(std::move(declared.type));
  }
  return statement(std::move(let), range);
}

ast::StmtPtr AstBuilder::output(ast::Output node, const SourceRange& range) {
  if (node.definition) { check_spacing(node.definition->op, node.target.name); }
  return statement(std::move(node), range);
}

ast::Target AstBuilder::target(ast::Identifier name, std::optional<std::vector<SubscriptDraft>> items,
                               const SourceRange& range) {
  if (!items) { return {std::move(name), {}, range}; }
  return {std::move(name), subscripts(std::move(*items)), range};
}

ast::StmtPtr AstBuilder::assign(PostfixDraft left, ast::Definition definition, const SourceRange& range) {
  const auto* name = std::get_if<ast::Name>(&left.expr->node);
  if (name == nullptr || left.expr->parentheses > 0) {
    const bool twice = std::holds_alternative<ast::Subscript>(left.expr->node);
    const bool called = std::holds_alternative<ast::Call>(left.expr->node);
    sink_.error(DiagnosticId::kBadTarget, left.range,
                std::string("only a name or a subscripted name can be assigned to") +
                    (twice    ? "; subscripts stand in one pair of brackets: A[i, j]"
                     : called ? "; subscripts stand in brackets, A[i, j], and a function is defined with fn"
                              : ""));
    return nullptr;
  }
  const ast::Identifier identifier{name->name, left.expr->range};
  if (!check_spacing(definition.op, identifier)) { return nullptr; }
  return statement(ast::Assign{target(identifier, std::move(left.pending), left.range), std::move(definition)}, range);
}

ast::StmtPtr AstBuilder::tuple_assign(std::vector<ast::ExprPtr> targets, ast::Definition definition,
                                      const SourceRange& range) {
  std::vector<ast::Identifier> names;
  for (const ast::ExprPtr& expr : targets) {
    const auto* name = std::get_if<ast::Name>(&expr->node);
    if (name == nullptr || expr->parentheses > 0) {
      sink_.error(DiagnosticId::kBadTarget, expr->range, "a tuple on the left has plain names only");
      return nullptr;
    }
    names.push_back({name->name, expr->range});
  }
  return statement(ast::TupleAssign{std::move(names), std::move(definition)}, range);
}

ast::StmtPtr AstBuilder::expression_statement(PostfixDraft draft, const SourceRange& range) {
  const SourceRange expr_range = draft.range;
  const ast::ExprPtr expr = finish(std::move(draft));
  const auto* call = std::get_if<ast::Call>(&expr->node);
  if (call != nullptr && expr->parentheses == 0 && call->callee.name == "print") { return print(*call, range); }
  if (call != nullptr && expr->parentheses == 0 && call->callee.name == "assert") { return assertion(*call, range); }
  if (const auto* name = std::get_if<ast::Name>(&expr->node)) {
    if (name->name == "break" || name->name == "continue") return statement(ast::Leave{name->name == "break"}, range);
    if (name->name == "pass") {
      sink_.error(DiagnosticId::kSyntaxError, expr_range, "there is no `pass`; an empty block is written `{ }`");
      return nullptr;
    }
  }
  std::string message = "this value is not used";
  if (call == nullptr) {
    message += "; print(…) shows it, `return …;` ends a function with it";
  } else {
    const auto is_string = [](const ast::Argument& argument) {
      return std::holds_alternative<ast::StringLiteral>(argument.value->node);
    };
    if (call->callee.name != "einsum" && std::ranges::any_of(call->arguments, is_string)) {
      return nullptr;  // reported as a misplaced string, with the intended keyword
    }
    const std::array<std::string, 2> known = {"print", "assert"};
    const std::string foreign = function_hint(call->callee.name);
    message += foreign.empty() ? did_you_mean(call->callee.name, known) : foreign;
  }
  sink_.error(DiagnosticId::kUnusedExpression, expr_range, message);
  return nullptr;
}

ast::StmtPtr AstBuilder::print(ast::Call call, const SourceRange& range) {
  ast::Print node;
  for (ast::Argument& argument : call.arguments) {
    if (argument.name) {
      sink_.error(DiagnosticId::kBadNamedArgument, argument.name->range, "print takes no named arguments");
    }
    node.items.push_back(std::move(argument.value));
  }
  return statement(std::move(node), range);
}

ast::StmtPtr AstBuilder::assertion(ast::Call call, const SourceRange& range) {
  const std::vector<ast::Argument>& arguments = call.arguments;
  const auto is_string = [](const ast::Argument& argument) {
    return std::holds_alternative<ast::StringLiteral>(argument.value->node);
  };
  const bool named = std::ranges::any_of(arguments, [](const ast::Argument& a) { return a.name.has_value(); });
  const bool right_count = arguments.size() == 1 || (arguments.size() == 2 && is_string(arguments[1]));
  if (named || !right_count || is_string(arguments.front())) {
    sink_.error(DiagnosticId::kBadAssert, range,
                "assert takes a condition and, optionally, a string: assert(x > 0.0, \"message\")");
    return nullptr;
  }
  ast::Assert node{arguments.front().value, {}};
  if (arguments.size() == 2) { node.message = std::get<ast::StringLiteral>(arguments[1].value->node).value; }
  return statement(std::move(node), range);
}

ast::StmtPtr AstBuilder::monoid(SignatureDraft signature, std::vector<MonoidField> fields, const SourceRange& range) {
  if (std::ranges::any_of(fields, [](const MonoidField& field) { return field.value == nullptr; })) { return nullptr; }
  const std::size_t errors = sink_.error_count();
  const std::array<std::string, 2> known = {"identity", "combine"};
  ast::Monoid node{signature.name, signature.parameters, nullptr, nullptr};
  for (MonoidField& field : fields) {
    if (field.name.name != known[0] && field.name.name != known[1]) {
      sink_.error(DiagnosticId::kBadMonoid, field.name.range,
                  "a monoid has `identity` and `combine`, not " + quoted(field.name.name) +
                      did_you_mean(field.name.name, known));
      continue;
    }
    ast::ExprPtr& slot = field.name.name == known[0] ? node.identity : node.combine;
    if (slot != nullptr) {
      sink_.error(DiagnosticId::kBadMonoid, field.name.range, quoted(field.name.name) + " is given twice",
                  {{slot->range, "the first is here"}});
    }
    slot = std::move(field.value);
  }
  const bool typed = std::ranges::all_of(
      node.parameters, [](const ast::FunctionParameter& parameter) { return parameter.type.has_value(); });
  if (node.parameters.size() != 2 || !typed || !signature.results.empty()) {
    sink_.error(
        DiagnosticId::kBadMonoid, node.name.range,
        "a monoid has two typed parameters and no written result: monoid " + node.name.name + "(a: f64, b: f64) { … }");
  }
  if (errors == sink_.error_count() && (node.identity == nullptr || node.combine == nullptr)) {
    sink_.error(
        DiagnosticId::kBadMonoid, node.name.range,
        "the monoid " + quoted(node.name.name) + " lacks " + quoted(node.identity == nullptr ? known[0] : known[1]));
  }
  return errors == sink_.error_count() ? statement(std::move(node), range) : nullptr;
}

/// Converts `to[i, j] = (…, …) where c;` to a map; reports malformed ones and returns nullopt.
std::optional<ast::IndexMap> AstBuilder::index_map(StorageField field) {
  ast::IndexMap map;
  map.range = field.range;
  for (ast::SubscriptItem& item : subscripts(std::move(*field.left.pending))) {
    const auto* index = std::get_if<ast::IndexSubscript>(&item.node);
    const auto* name = index == nullptr ? nullptr : std::get_if<ast::Name>(&index->value->node);
    if (name == nullptr) {
      sink_.error(DiagnosticId::kBadStorage, item.range, "the left side of a storage map has plain index names");
      return std::nullopt;
    }
    map.indices.push_back({name->name, item.range});
  }
  if (field.value == nullptr || field.suffixes.loop) {
    sink_.error(DiagnosticId::kBadStorage, field.range, "a storage map is written `to[i, j] = (…, …) where c;`");
    return std::nullopt;
  }
  const auto* tuple = std::get_if<ast::Tuple>(&field.value->node);
  map.results = tuple == nullptr ? std::vector<ast::ExprPtr>{field.value} : tuple->elements;
  map.guard = field.suffixes.where ? field.suffixes.where->condition : nullptr;
  return map;
}

ast::StmtPtr AstBuilder::storage(ast::Identifier name, std::vector<ast::Identifier> parameters,
                                 std::vector<StorageField> fields, const SourceRange& range) {
  if (std::ranges::any_of(fields, [](const StorageField& field) { return field.left.expr == nullptr; })) {
    return nullptr;
  }
  const std::size_t errors = sink_.error_count();
  const std::array<std::string, 3> known = {"stored", "to", "from"};
  std::array<int, 3> seen = {0, 0, 0};
  ast::Storage node{name, std::move(parameters), {}, {}, {}};
  for (StorageField& field : fields) {
    const auto* field_name = std::get_if<ast::Name>(&field.left.expr->node);
    const std::string text = field_name == nullptr ? std::string() : field_name->name;
    const auto found = std::find(known.begin(), known.end(), text);
    if (found == known.end() || !field.left.pending) {
      sink_.error(DiagnosticId::kBadStorage, field.left.range,
                  "a storage has `stored[…];`, `to[…] = …;` and `from[…] = …;`");
      continue;
    }
    ++seen[static_cast<std::size_t>(found - known.begin())];
    if (text == "stored") {
      for (ast::SubscriptItem& item : subscripts(std::move(*field.left.pending))) {
        const auto* extent = std::get_if<ast::IndexSubscript>(&item.node);
        if (extent == nullptr || field.value != nullptr) {
          sink_.error(DiagnosticId::kBadStorage, item.range,
                      "`stored` lists the extents of the stored tensor: `stored[2 * b + 1, n];`");
          break;
        }
        node.extents.push_back(extent->value);
      }
    } else if (auto map = index_map(std::move(field))) {
      (text == "to" ? node.to : node.from) = std::move(*map);
    }
  }
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (seen[i] != 1 && errors == sink_.error_count()) {
      sink_.error(
          DiagnosticId::kBadStorage, name.range,
          "the storage " + quoted(name.name) + (seen[i] == 0 ? " lacks " : " has more than one ") + quoted(known[i]));
    }
  }
  return errors == sink_.error_count() ? statement(std::move(node), range) : nullptr;
}

ast::Block AstBuilder::block(std::vector<ast::StmtPtr> statements, const SourceRange& range) {
  std::erase(statements, nullptr);
  for (const ast::StmtPtr& stmt : statements) {
    const std::string_view word = std::visit(TopLevelWord(), stmt->node);
    if (!word.empty()) {
      sink_.error(DiagnosticId::kMisplacedStatement, stmt->range,
                  quoted(std::string(word)) + " can stand only at top level, outside braces");
    }
  }
  return {std::move(statements), range};
}

void AstBuilder::top_level(std::vector<ast::StmtPtr> statements) {
  std::erase(statements, nullptr);
  for (const ast::StmtPtr& stmt : statements) {
    if (std::holds_alternative<ast::Return>(stmt->node)) {
      sink_.error(DiagnosticId::kMisplacedStatement, stmt->range, "`return` can stand only in a function");
    }
  }
  statements_ = std::move(statements);
}

void AstBuilder::reached(const ast::StmtPtr& statement) {
  if (statement) reached_.push_back(statement);
}

void AstBuilder::bare_block(const SourceRange& range) {
  sink_.error(DiagnosticId::kSyntaxError, {range.file, range.line, range.column, range.line, range.column + 1},
              "a block cannot stand alone; blocks belong to `for`, `while`, `if` and `fn`");
}

void AstBuilder::unmatched_brace(const SourceRange& range) {
  sink_.error(DiagnosticId::kSyntaxError, range, "unmatched `}`");
}

}  // namespace tdsl::frontend
