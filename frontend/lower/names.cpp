#include "frontend/hints/foreign_words.h"
#include "frontend/lower/lowerer.h"

namespace tdsl::frontend {

using ir::Expr;
using ir::ValueId;

Lowerer::ScopeGuard::ScopeGuard(Lowerer& lowerer, Scope::Kind kind, Scope* outer)
    : lowerer_(lowerer), saved_(lowerer.scope_) {
  scope_.kind = kind;
  scope_.outer = outer != nullptr ? outer : lowerer.scope_;
  lowerer.scope_ = &scope_;
}

Lowerer::ScopeGuard::~ScopeGuard() {
  lowerer_.scope_ = saved_;
  for (const SymbolRef& s : scope_.order) {
    if (scope_.kind == Scope::Kind::kBlock && (s->kind == Symbol::Kind::kLet || s->kind == Symbol::Kind::kVar))
      lowerer_.ended_.insert_or_assign({lowerer_.frames_.back().function, s->name}, s->range);
  }
  lowerer_.warn_unused(scope_);
}

void Lowerer::warn_unused(const Scope& scope) {
  if (!options_.warn_unused || sink_.has_errors()) return;
  for (const SymbolRef& s : scope.order) {
    const bool counts = s->kind == Symbol::Kind::kLet || s->kind == Symbol::Kind::kVar ||
                        s->kind == Symbol::Kind::kInput || s->kind == Symbol::Kind::kParam;
    const bool imported = &scope == global_scope_ && s->range.file != main_file_;
    if (s->used || !counts || imported || s->name.starts_with('_')) continue;
    reports_.warn(DiagnosticId::kUnusedName, s->range, "`" + s->name + "` is never used");
  }
}

SymbolRef Lowerer::declare(const ast::Identifier& name, Symbol::Kind kind) {
  const auto same = scope_->symbols.find(name.name);
  if (same != scope_->symbols.end() && same->second->kind != Symbol::Kind::kBroken) {
    reports_.fail(DiagnosticId::kRedeclaration, name.range, "`" + name.name + "` is declared already in this block",
                  {{same->second->range, "declared here"}});
  }
  if (scope_->kind == Scope::Kind::kBlock && kind != Symbol::Kind::kIndex) {
    for (const Scope* s = scope_->outer; s != nullptr; s = s->kind == Scope::Kind::kFunction ? nullptr : s->outer) {
      const auto found = s->symbols.find(name.name);
      if (found == s->symbols.end() || found->second->kind == Symbol::Kind::kBroken) continue;
      reports_.warn(DiagnosticId::kShadowing, name.range, "`" + name.name + "` hides another name of an outer block",
                    {{found->second->range, "declared here"}});
      break;
    }
  }
  auto symbol = std::make_shared<Symbol>();
  symbol->name = name.name;
  symbol->range = name.range;
  symbol->kind = kind;
  scope_->declare(symbol);
  return symbol;
}

SymbolRef Lowerer::declare_value(const ast::Identifier& name, Symbol::Kind kind, ValueId value,
                                 const StorageRef& storage) {
  const SymbolRef symbol = declare(name, kind);
  symbol->storage = storage;
  versions_.set(symbol, value);
  tell_type(*symbol);
  return symbol;
}

void Lowerer::tell_type(const Symbol& symbol) const {
  if (options_.declared)
    options_.declared(
        {symbol.name, symbol.range,
         graph_.text(values_.logical_type(symbol)) + (symbol.storage ? " storage " + symbol.storage->text : "")});
}

void Lowerer::declare_broken(const ast::Identifier& name) {
  if (scope_->symbols.contains(name.name)) return;
  auto symbol = std::make_shared<Symbol>();
  symbol->name = name.name;
  symbol->range = name.range;
  symbol->kind = Symbol::Kind::kBroken;
  scope_->declare(symbol);
}

Tensor Lowerer::lower_name(const std::string& name, const SourceRange& range, bool lone_subscript) {
  if (const SymbolRef symbol = scope_->find(name)) {
    symbol->used = true;
    switch (symbol->kind) {
      case Symbol::Kind::kBroken: throw Abandoned{};
      case Symbol::Kind::kIndex:
      case Symbol::Kind::kInline: {
        Tensor t = symbol->lazy;
        t.range = range;
        return t;
      }
      case Symbol::Kind::kLet:
      case Symbol::Kind::kVar:
      case Symbol::Kind::kParam:
      case Symbol::Kind::kInput:
      case Symbol::Kind::kLoop: {
        Tensor t = symbol->storage ? values_.stored_tensor(symbol->value, symbol->storage, name, range)
                                   : values_.tensor_of(symbol->value, name, range);
        for (Dim& d : t.shape) d.range = symbol->range;
        return t;
      }
    }
  }
  const auto dimension = dimensions().find(name);
  if (dimension != dimensions().end()) {
    dimension->second.used = true;
    Tensor t = scalar_tensor(expr_of(graph_.program(), dimension->second.extent));
    t.range = range;
    return t;
  }
  const std::string foreign = value_hint(name);
  if (lone_subscript && foreign.empty()) {
    reports_.fail(DiagnosticId::kUnboundIndex, range,
                  "`" + name + "` is neither bound here nor in scope; there is no implicit summation: write sum[" +
                      name + "](…), or bind it on the left or with `for " + name + " in …`");
  }
  std::vector<std::string> candidates = scope_->visible();
  for (const auto& [other, d] : dimensions()) candidates.push_back(other);
  if (is_builtin(name) && foreign.empty())
    reports_.fail(DiagnosticId::kUndefinedName, range, "`" + name + "` is a function: it is called, " + name + "(…)");
  const std::string hint = foreign.empty() ? did_you_mean(name, candidates) : foreign;
  if (lacks_import_ && hint.empty()) throw Abandoned{};
  // The same name elsewhere is the same mistake, most often a declaration that is misspelt.
  if (!undeclared_.insert({frames_.back().function, name}).second) throw Abandoned{};
  const auto ended = ended_.find({frames_.back().function, name});
  if (ended != ended_.end())
    reports_.fail(DiagnosticId::kUndefinedName, range,
                  "`" + name + "` is not declared here: the block that declares it has ended",
                  {{ended->second, "declare it in front of the block as a var, and assign to it here"}});
  reports_.fail(DiagnosticId::kUndefinedName, range, "`" + name + "` is not declared" + hint);
}

bool Lowerer::is_scalar_variable(const std::string& name) const {
  const SymbolRef symbol = scope_->find(name);
  if (!symbol) return false;
  if (symbol->kind == Symbol::Kind::kBroken) return false;
  if (symbol->kind == Symbol::Kind::kIndex || symbol->kind == Symbol::Kind::kInline) return symbol->lazy.rank() == 0;
  return graph_.program().type(symbol->value).rank() == 0;
}

}  // namespace tdsl::frontend
