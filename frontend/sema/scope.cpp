#include "frontend/sema/scope.h"

namespace tdsl::frontend {

SymbolRef Scope::find(const std::string& name) const {
  bool params_only = false;
  for (const Scope* scope = this; scope != nullptr; scope = scope->outer) {
    const auto found = scope->symbols.find(name);
    if (found != scope->symbols.end() && (!params_only || found->second->kind == Symbol::Kind::kParam)) {
      return found->second;
    }
    if (scope->kind == Kind::kFunction) {
      if (!scope->sees_params) return nullptr;
      params_only = true;
    }
  }
  return nullptr;
}

std::vector<std::string> Scope::visible() const {
  std::vector<std::string> names;
  bool params_only = false;
  for (const Scope* scope = this; scope != nullptr; scope = scope->outer) {
    for (const auto& [name, symbol] : scope->symbols) {
      if (!params_only || symbol->kind == Symbol::Kind::kParam) names.push_back(name);
    }
    if (scope->kind == Kind::kFunction) {
      if (!scope->sees_params) break;
      params_only = true;
    }
  }
  return names;
}

void Scope::declare(const SymbolRef& symbol) {
  symbols[symbol->name] = symbol;
  order.push_back(symbol);
}

}  // namespace tdsl::frontend
