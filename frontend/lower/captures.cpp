#include "frontend/lower/captures.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "frontend/lower/lowering.h"
#include "frontend/lower/points.h"
#include "frontend/sema/walk.h"

namespace tdsl::frontend {

namespace {

/// The names that the lambda of `value` binds itself.
std::set<std::string> own_names(const FunctionValue& value) {
  return names_of(*value.lambda, [&](const std::string& name) { return value.scope->find(name) != nullptr; });
}

/// Adds the captures of a lambda and of the functions of its frame that it mentions.
void collect(Lowerer& lowerer, FunctionValue& value, std::set<FunctionValue*>& seen, std::vector<Capture>& found) {
  if (value.lambda == nullptr || !seen.insert(&value).second) return;
  auto& functions = lowerer.frames[value.frame].instance.functions;
  const std::set<std::string> own = own_names(value);
  Capture capture{&value, {}};
  std::vector<FunctionValue*> mentioned;
  for_each_expr(*value.lambda, [&](const ast::Expr& e) {
    const auto* call = std::get_if<ast::Call>(&e.node);
    const std::string* name = call == nullptr ? bare_name(e) : &call->callee.name;
    if (name == nullptr || own.contains(*name)) return;
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
  if (!capture.names.empty()) found.push_back(std::move(capture));
  for (FunctionValue* other : mentioned) collect(lowerer, *other, seen, found);
}

}  // namespace

std::vector<Capture> captures_of(Lowerer& lowerer, const ast::Function& f) {
  std::vector<Capture> found;
  const auto closure = lowerer.inlining.closures.find(&f);
  if (closure == lowerer.inlining.closures.end()) return found;
  std::set<FunctionValue*> seen;
  if (closure->second.lambda != nullptr) {
    collect(lowerer, *closure->second.lambda, seen, found);
    return found;
  }
  for (auto& [parameter, argument] : closure->second.instance.functions) collect(lowerer, argument.value, seen, found);
  return found;
}

void note_bare_uses(Lowerer& lowerer, const std::vector<Capture>& captures) {
  for (const Capture& capture : captures) {
    const std::set<std::string> own = own_names(*capture.lambda);
    const Names::InScope scope(lowerer.names, *capture.lambda->scope);
    for_each_expr(*capture.lambda->lambda, [&](const ast::Expr& e) {
      const auto* s = std::get_if<ast::Subscript>(&e.node);
      const std::string* base = s == nullptr ? nullptr : bare_name(*s->base);
      if (base == nullptr || own.contains(*base) || lowerer.names.find(*base) == nullptr) return;
      const Tensor tensor = lower_name(lowerer, *base, s->base->range, false);
      for (std::size_t d = 0; d < s->items.size() && s->items.size() == tensor.rank(); ++d) {
        const auto* index = std::get_if<ast::IndexSubscript>(&s->items[d].node);
        const std::string* name = index == nullptr ? nullptr : bare_name(*index->value);
        const SymbolRef symbol = name == nullptr || own.contains(*name) ? nullptr : lowerer.names.find(*name);
        if (symbol && symbol->kind == Symbol::Kind::kIndex)
          lowerer.graph.label(symbol->label).bare_uses.push_back({tensor.shape[d], index->value->range});
      }
    });
  }
}

void Recaptured::replace(const Capture& capture, const std::vector<Tensor>& values) {
  auto scope = std::make_unique<Scope>();
  scope->kind = Scope::Kind::kLambda;
  scope->outer = capture.lambda->scope;
  for (std::size_t k = 0; k < values.size(); ++k) {
    auto symbol = std::make_shared<Symbol>();
    symbol->name = capture.names[k]->name;
    symbol->range = capture.names[k]->range;
    symbol->kind = Symbol::Kind::kInline;
    symbol->lazy = values[k];
    symbol->used = true;
    scope->declare(symbol);
  }
  Scope* around = std::exchange(capture.lambda->scope, scope.get());
  replaced_.push_back({capture.lambda, around, std::move(scope)});
}

Recaptured::~Recaptured() {
  for (auto r = replaced_.rbegin(); r != replaced_.rend(); ++r) r->lambda->scope = r->around;
}

}  // namespace tdsl::frontend
