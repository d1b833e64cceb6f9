#include "frontend/lower/state/names.h"

#include <algorithm>

namespace tdsl::frontend {

Names::InScope::InScope(Names& names, Scope::Kind kind) : names_(names) {
  scope_.kind = kind;
  scope_.outer = names.scope_;
  // A function sees the program's names only.
  while (kind == Scope::Kind::kFunction && scope_.outer->outer != nullptr) scope_.outer = scope_.outer->outer;
  saved_ = std::exchange(names.scope_, &scope_);
}

Names::InScope::InScope(Names& names, Scope& around) : names_(names) {
  scope_.kind = Scope::Kind::kLambda;
  scope_.outer = &around;
  saved_ = std::exchange(names.scope_, &scope_);
}

Names::InScope::~InScope() {
  names_.scope_ = saved_;
  for (const SymbolRef& s : scope_.order) {
    if (scope_.kind == Scope::Kind::kBlock && (s->kind == Symbol::Kind::kLet || s->kind == Symbol::Kind::kVar))
      names_.past_[names_.in_function(s->name)].ended = s->range;
  }
  names_.warn_unused(scope_);
}

SymbolRef Names::find_here(const std::string& name) const {
  const auto found = scope_->symbols.find(name);
  return found == scope_->symbols.end() ? nullptr : found->second;
}

SymbolRef Names::find_global(const std::string& name) const {
  const Scope* scope = scope_;
  while (scope->outer != nullptr) scope = scope->outer;
  return scope->find(name);
}

bool Names::is_captured(const std::string& name) const {
  bool in_lambda = false;
  for (const Scope* scope = scope_; scope != nullptr; scope = scope->outer) {
    if (scope->symbols.contains(name)) return in_lambda;
    in_lambda = in_lambda || scope->kind == Scope::Kind::kLambda;
  }
  return false;
}

std::optional<SourceRange> Names::ended(const std::string& name) const {
  const auto found = past_.find(in_function(name));
  return found == past_.end() ? std::nullopt : found->second.ended;
}

bool Names::is_first_report(const std::string& name) { return !std::exchange(past_[in_function(name)].reported, true); }

SymbolRef Names::declare(const ast::Identifier& name, Symbol::Kind kind) {
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

void Names::declare_broken(const ast::Identifier& name) {
  if (scope_->symbols.contains(name.name)) return;
  auto symbol = std::make_shared<Symbol>();
  symbol->name = name.name;
  symbol->range = name.range;
  symbol->kind = Symbol::Kind::kBroken;
  scope_->declare(symbol);
}

void Names::warn_unused(const Scope& scope) {
  if (!options_.warn_unused || reports_.sink().has_errors()) return;
  for (const SymbolRef& s : scope.order) {
    const bool counts = s->kind == Symbol::Kind::kLet || s->kind == Symbol::Kind::kVar ||
                        s->kind == Symbol::Kind::kInput || s->kind == Symbol::Kind::kParam;
    const bool imported = scope.outer == nullptr && s->range.file != main_file_;
    if (s->used || !counts || imported || s->name.starts_with('_')) continue;
    reports_.warn(DiagnosticId::kUnusedName, s->range, "`" + s->name + "` is never used");
  }
}

void Names::bind_symbol(const ast::Identifier& name, std::int32_t label, const Expr& value, bool bare) {
  const auto same = scope_->symbols.find(name.name);
  if (same != scope_->symbols.end()) {
    reports_.fail(DiagnosticId::kRepeatedIndex, name.range, "`" + name.name + "` is bound twice in one list",
                  {{same->second->range, "bound here"}});
  }
  if (frames_.back().dimensions.contains(name.name)) {
    reports_.warn(DiagnosticId::kHiddenName, name.range,
                  "the index variable `" + name.name + "` hides the dimension of that name",
                  {{frames_.back().dimensions.at(name.name).range, "the dimension"}});
  }
  auto symbol = std::make_shared<Symbol>();
  symbol->name = name.name;
  symbol->range = name.range;
  symbol->kind = Symbol::Kind::kIndex;
  symbol->lazy = scalar_tensor(value);
  symbol->label = label;
  symbol->is_label = bare;
  scope_->declare(symbol);
}

std::vector<std::int32_t> Names::point_labels() const {
  std::vector<std::int32_t> labels = frames_.back().points;
  const auto has_points = [](const Scope& s) {
    return s.kind == Scope::Kind::kIndex || s.kind == Scope::Kind::kLambda;
  };
  for (const Scope* scope = scope_; scope != nullptr && has_points(*scope); scope = scope->outer) {
    for (const SymbolRef& symbol : scope->order) {
      if (symbol->kind == Symbol::Kind::kIndex && symbol->label >= 0) labels.push_back(symbol->label);
    }
  }
  std::ranges::sort(labels);
  return labels;
}

}  // namespace tdsl::frontend
