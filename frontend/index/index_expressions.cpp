#include <algorithm>
#include <variant>

#include "frontend/index/index_builder.h"
#include "frontend/sema/walk.h"
#include "frontend/syntax/ast_parts.h"
#include "ir/graph/expr.h"

namespace tdsl::frontend {

void IndexBuilder::expression(const ast::Expr& e) {
  ir::match(
      e.node, [&](const ast::Name& n) { name(n.name, word_in(e.range, n.name), false); },
      [&](const ast::Call& c) { call(c); }, [&](const ast::Reduction& r) { reduction(r, e.range); },
      [&](const ast::Lambda& l) { lambda(*l.function, e.range); },
      [&](const ast::Cast& c) {
        if (!c.parameter.empty()) type_word(c.parameter, e.range);
        expression(c.operand);
      },
      [&](const auto& node) {
        SyntaxParts(ir::Overload{[&](const ast::Expr& part) { expression(part); },
                                 [&](const ast::Block& b) { block(b); }})(node);
      });
}

/// A name in an expression: symbols hide dimensions, and functions are named where one is an argument.
void IndexBuilder::name(const std::string& name, const SourceRange& range, bool wants_function) {
  const std::int32_t function = callable(name, range.file);
  const std::int32_t symbol = find(name);
  const bool is_argument = symbol >= 0 && functions_as_values_.contains(symbol);
  if (wants_function && !is_argument && function >= 0) return use(function, range);
  if (symbol >= 0) return use(symbol, range);
  if (const std::int32_t dimension = dimension_named(name); dimension >= 0) return use(dimension, range);
  if (function >= 0) return use(function, range);
  other(name, range, false);
}

void IndexBuilder::call(const ast::Call& call) {
  const std::string& word = call.callee.name;
  const std::int32_t symbol = find(word);
  std::int32_t callee = callable(word, call.callee.range.file);
  if (symbol >= 0 && functions_as_values_.contains(symbol)) callee = symbol;
  if (callee >= 0) {
    use(callee, call.callee.range);
  } else {
    other(word, call.callee.range, true);
  }
  arguments(call, callee);
}

void IndexBuilder::arguments(const ast::Call& call, std::int32_t callee) {
  // A copy: arguments with lambdas add declarations.
  const std::vector<std::int32_t> parameters =
      callee < 0 ? std::vector<std::int32_t>{} : index_.declarations[static_cast<std::size_t>(callee)].parameters;
  for (std::size_t k = 0; k < call.arguments.size(); ++k) {
    const ast::Argument& a = call.arguments[k];
    std::int32_t parameter = !a.name && k < parameters.size() ? parameters[k] : -1;
    for (const std::int32_t p : parameters) {
      if (a.name && index_.declarations[static_cast<std::size_t>(p)].name == a.name->name) parameter = p;
    }
    if (a.name && parameter >= 0) use(parameter, a.name->range);
    const std::string* word = a.value ? bare_name(*a.value) : nullptr;
    if (word != nullptr) {
      name(*word, word_in(a.value->range, *word), parameter >= 0 && functions_as_values_.contains(parameter));
    } else {
      expression(a.value);
    }
  }
}

void IndexBuilder::reduction(const ast::Reduction& r, const SourceRange& range) {
  const std::int32_t monoid = callable(r.op.name, r.op.range.file);
  if (monoid >= 0) use(monoid, r.op.range);
  if (monoid < 0) other(r.op.name, r.op.range, true);
  const InScope scope(*this, range, false, true);
  for (const ast::ReductionIndex& index : r.indices) {
    expression(index.lower);
    expression(index.upper);
    expression(index.step);
    declare(index.name, IndexKind::kIndexVariable, index.range.known() ? index.range : index.name.range);
  }
  expression(r.guard);
  expression(r.body);
}

void IndexBuilder::lambda(const ast::Function& f, const SourceRange& range) {
  const std::map<std::string, std::int32_t> dimensions = frame_->dimensions;
  const InScope scope(*this, range);
  std::vector<std::int32_t> parameters;
  for (const ast::FunctionParameter& p : f.parameters) {
    const std::int32_t id = declare(p.name, IndexKind::kParameter, p.name.range);
    index_.declarations[static_cast<std::size_t>(id)].visible = range;
    parameters.push_back(id);
  }
  bind_parameters(f.parameters, parameters);
  if (const auto* value = std::get_if<ast::ExprPtr>(&f.body)) {
    returned({*value, {}}, range);
  } else {
    block(std::get<ast::Block>(f.body));
  }
  for (const ast::TypeExpr& t : f.results) type(t, true);
  frame_->dimensions = dimensions;
}

void IndexBuilder::type(const std::optional<ast::TypeExpr>& t, bool binds) {
  if (!t) return;
  if (!t->parameter.empty()) type_word(t->parameter, t->range);
  for (const ast::Dimension& d : t->dimensions) {
    if (d.extent) dimension(*d.extent, binds);
  }
}

void IndexBuilder::type(const ast::FunctionType& t) {
  for (const ast::TypeExpr& p : t.parameters) type(p, true);
  for (const ast::TypeExpr& r : t.results) type(r, true);
}

/// `T` or `real(T)`.
void IndexBuilder::type_word(const std::string& parameter, const SourceRange& range) {
  const std::size_t open = parameter.find('(');
  const std::string word =
      open == std::string::npos ? parameter : parameter.substr(open + 1, parameter.size() - open - 2);
  const auto found = frame_->types.find(word);
  const SourceRange place = word_in(range, word);
  if (found != frame_->types.end() && place != range) use(found->second, place);
  if (found != frame_->types.end() && place == range && range.end_column - range.column == utf8_length(word))
    use(found->second, place);
}

/// Dimensions hide symbols here. A lone new name is a new dimension if `binds`.
void IndexBuilder::dimension(const ast::Expr& e, bool binds) {
  const std::string* word = bare_name(e);
  if (word == nullptr) {
    for_each_child(e, [&](const ast::Expr& part) { dimension(part, false); });
    return;
  }
  const SourceRange range = word_in(e.range, *word);
  if (const std::int32_t known = dimension_named(*word); known >= 0) return use(known, range);
  const std::int32_t symbol = find(*word);
  if (symbol >= 0 && !(binds && tensors_.contains(symbol))) return use(symbol, range);
  if (!binds) return other(*word, range, false);
  const std::int32_t id = add({*word, range}, IndexKind::kDimension, range);
  index_.declarations[static_cast<std::size_t>(id)].visible = frame_->range;
  index_.declarations[static_cast<std::size_t>(id)].global = frame_->function < 0;
  frame_->dimensions[*word] = id;
}

void IndexBuilder::storage_use(const std::optional<ast::StorageAnnotation>& s) {
  if (!s) return;
  const auto found = storages_.find(s->name.name);
  if (found != storages_.end()) use(found->second, s->name.range);
  if (found == storages_.end()) other(s->name.name, s->name.range, true);
  for (const ast::ExprPtr& e : s->arguments) expression(e);
}

}  // namespace tdsl::frontend
