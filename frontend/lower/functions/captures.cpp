#include "frontend/lower/functions/captures.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "frontend/lower/functions/points.h"
#include "frontend/lower/lowering.h"
#include "frontend/sema/walk.h"

namespace tdsl::frontend {

namespace {

/// The names that the lambda of `value` binds itself.
std::set<std::string> own_names(const FunctionValue& value) {
  return names_of(*value.lambda, [&](const std::string& name) { return value.scope->find(name) != nullptr; });
}

/// The symbol of an item that is a bare name, else null.
SymbolRef symbol_of(const Scope& scope, const ast::SubscriptItem& item) {
  const auto* index = std::get_if<ast::IndexSubscript>(&item.node);
  const std::string* name = index == nullptr ? nullptr : bare_name(*index->value);
  return name == nullptr ? nullptr : scope.find(*name);
}

/// The index variable if the item is a bare one, else null.
SymbolRef index_variable(const Scope& scope, const ast::SubscriptItem& item) {
  const SymbolRef symbol = symbol_of(scope, item);
  return symbol && symbol->kind == Symbol::Kind::kIndex && symbol->is_label ? symbol : nullptr;
}

/// The tensor outside of the lambda that `s` subscripts by name, if it has as many dimensions as subscripts are given.
std::optional<Tensor> tensor_outside(Lowerer& lowerer, const FunctionValue& value, const std::set<std::string>& own,
                                     const ast::Subscript& s) {
  const std::string* base = bare_name(*s.base);
  if (base == nullptr || own.contains(*base)) return std::nullopt;
  const SymbolRef symbol = value.scope->find(*base);
  if (!symbol || symbol->kind == Symbol::Kind::kBroken) return std::nullopt;
  const Names::InScope scope(lowerer.names, *value.scope);
  Tensor tensor = lower_name(lowerer, *base, s.base->range, false);
  return tensor.rank() == s.items.size() ? std::optional(std::move(tensor)) : std::nullopt;
}

/// True for `c[i]` with index variables only, all of them within the tensor.
bool exists_for_all(Lowerer& lowerer, const FunctionValue& value, const std::set<std::string>& own,
                    const ast::Subscript& s) {
  for (const ast::SubscriptItem& item : s.items) {
    const SymbolRef symbol = index_variable(*value.scope, item);
    if (!symbol || own.contains(symbol->name)) return false;
  }
  const auto tensor = tensor_outside(lowerer, value, own, s);
  for (std::size_t d = 0; tensor && d < s.items.size(); ++d) {
    const SymbolRef symbol = index_variable(*value.scope, s.items[d]);
    if (!stays_inside(lowerer.graph.label(symbol->label), tensor->shape[d].extent)) return false;
  }
  return tensor.has_value();
}

/// Adds the captures of a lambda and of the functions of its frame that it mentions.
void collect_captures(Lowerer& lowerer, FunctionValue& value, std::set<FunctionValue*>& seen,
                      std::vector<Capture>& found) {
  if (value.lambda == nullptr || !seen.insert(&value).second) return;
  auto& functions = lowerer.frames[value.frame].instance.functions;
  const std::set<std::string> own = own_names(value);
  Capture capture{&value, {}, {}};
  std::vector<FunctionValue*> mentioned;
  std::set<const ast::Expr*> in_elements;
  for_each_expr(*value.lambda, [&](const ast::Expr& e) {
    if (const auto* s = std::get_if<ast::Subscript>(&e.node)) {
      const bool replaced = captured_element(lowerer, *value.scope, *s) != nullptr;
      if (!replaced && !exists_for_all(lowerer, value, own, *s)) return;
      if (!replaced) capture.elements.push_back(s);
      for (const ast::SubscriptItem& item : s->items)
        in_elements.insert(std::get<ast::IndexSubscript>(item.node).value.get());
    }
    const auto* call = std::get_if<ast::Call>(&e.node);
    const std::string* name = call == nullptr ? bare_name(e) : &call->callee.name;
    if (name == nullptr || own.contains(*name) || in_elements.contains(&e)) return;
    if (const auto passed = functions.find(*name); passed != functions.end()) {
      mentioned.push_back(&passed->second.value);
      return;
    }
    const SymbolRef symbol = value.scope->find(*name);
    const bool is_expression =
        symbol && (symbol->kind == Symbol::Kind::kIndex || symbol->kind == Symbol::Kind::kInline);
    if (!is_expression || free_labels(symbol->lazy).empty()) return;
    if (std::ranges::find(capture.names, symbol) == capture.names.end()) capture.names.push_back(symbol);
  });
  if (!capture.names.empty() || !capture.elements.empty()) found.push_back(std::move(capture));
  for (FunctionValue* other : mentioned) collect_captures(lowerer, *other, seen, found);
}

}  // namespace

std::vector<Capture> captures_of(Lowerer& lowerer, const ast::Function& f) {
  std::vector<Capture> found;
  const auto closure = lowerer.inlining.closures.find(&f);
  if (closure == lowerer.inlining.closures.end()) return found;
  std::set<FunctionValue*> seen;
  if (closure->second.lambda != nullptr) {
    collect_captures(lowerer, *closure->second.lambda, seen, found);
    return found;
  }
  for (auto& [parameter, argument] : closure->second.instance.functions)
    collect_captures(lowerer, argument.value, seen, found);
  return found;
}

std::vector<Tensor> values_outside(Lowerer& lowerer, const Capture& capture) {
  const FunctionValue& value = *capture.lambda;
  const std::set<std::string> own = own_names(value);
  for_each_expr(*value.lambda, [&](const ast::Expr& e) {
    const auto* s = std::get_if<ast::Subscript>(&e.node);
    if (s == nullptr || captured_element(lowerer, *value.scope, *s) != nullptr) return;
    const auto tensor = tensor_outside(lowerer, value, own, *s);
    for (std::size_t d = 0; tensor && d < s->items.size(); ++d) {
      const SymbolRef symbol = index_variable(*value.scope, s->items[d]);
      if (symbol && !own.contains(symbol->name))
        lowerer.graph.label(symbol->label).bare_uses.push_back({tensor->shape[d], s->items[d].range});
    }
  });
  std::vector<Tensor> values;
  for (const SymbolRef& symbol : capture.names) values.push_back(symbol->lazy);
  const Names::InScope scope(lowerer.names, *value.scope);
  for (const ast::Subscript* s : capture.elements)
    values.push_back(lower_subscript(lowerer, *s, s->base->range.to(s->items.back().range)));
  return values;
}

const Tensor* captured_element(const Lowerer& lowerer, const Scope& scope, const ast::Subscript& s) {
  const auto found = lowerer.inlining.elements.find(&s);
  if (found == lowerer.inlining.elements.end()) return nullptr;
  // The same lambda may be called for other index variables.
  for (std::size_t d = 0; d < s.items.size(); ++d) {
    if (symbol_of(scope, s.items[d]) != found->second.indices[d]) return nullptr;
  }
  return &found->second.value;
}

void Recaptured::replace(const Capture& capture, const std::vector<Tensor>& values) {
  // A block: the index variables beyond it do not distinguish calls in the lambda.
  auto scope = std::make_unique<Scope>();
  scope->outer = capture.lambda->scope;
  for (std::size_t k = 0; k < capture.names.size(); ++k) {
    auto symbol = std::make_shared<Symbol>();
    symbol->name = capture.names[k]->name;
    symbol->range = capture.names[k]->range;
    symbol->kind = Symbol::Kind::kInline;
    symbol->lazy = values[k];
    symbol->used = true;
    scope->declare(symbol);
  }
  for (std::size_t k = 0; k < capture.elements.size(); ++k) {
    const ast::Subscript& s = *capture.elements[k];
    CapturedElement element{{}, values[capture.names.size() + k]};
    for (const ast::SubscriptItem& item : s.items) element.indices.push_back(symbol_of(*scope, item));
    inlining_.elements[&s] = std::move(element);
  }
  Scope* around = std::exchange(capture.lambda->scope, scope.get());
  replaced_.push_back({capture.lambda, around, std::move(scope)});
}

Recaptured::~Recaptured() {
  inlining_.elements = std::move(saved_);
  for (auto r = replaced_.rbegin(); r != replaced_.rend(); ++r) r->lambda->scope = r->around;
}

}  // namespace tdsl::frontend
