#include "frontend/hints/foreign_words.h"
#include "frontend/lower/lowerer.h"

namespace tdsl::frontend {

using ir::Expr;
using ir::ValueId;

SymbolRef Lowerer::declare_value(const ast::Identifier& name, Symbol::Kind kind, ValueId value,
                                 const StorageRef& storage) {
  const SymbolRef symbol = names_.declare(name, kind);
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

Tensor Lowerer::lower_name(const std::string& name, const SourceRange& range, bool lone_subscript) {
  if (const SymbolRef symbol = names_.find(name)) {
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
  std::vector<std::string> candidates = names_.visible();
  for (const auto& [other, d] : dimensions()) candidates.push_back(other);
  if (is_builtin(name) && foreign.empty())
    reports_.fail(DiagnosticId::kUndefinedName, range, "`" + name + "` is a function: it is called, " + name + "(…)");
  const std::string hint = foreign.empty() ? did_you_mean(name, candidates) : foreign;
  if (declared_.lacks_import && hint.empty()) throw Abandoned{};
  // The same name elsewhere is the same mistake, most often a declaration that is misspelt.
  if (!names_.is_first_report(name)) throw Abandoned{};
  if (const auto ended = names_.ended(name))
    reports_.fail(DiagnosticId::kUndefinedName, range,
                  "`" + name + "` is not declared here: the block that declares it has ended",
                  {{*ended, "declare it in front of the block as a var, and assign to it here"}});
  reports_.fail(DiagnosticId::kUndefinedName, range, "`" + name + "` is not declared" + hint);
}

bool Lowerer::is_scalar_variable(const std::string& name) const {
  const SymbolRef symbol = names_.find(name);
  if (!symbol) return false;
  if (symbol->kind == Symbol::Kind::kBroken) return false;
  if (symbol->kind == Symbol::Kind::kIndex || symbol->kind == Symbol::Kind::kInline) return symbol->lazy.rank() == 0;
  return graph_.program().type(symbol->value).rank() == 0;
}

void Lowerer::declare_named(const ast::Identifier& name, bool is_mutable, const Stored& stored) {
  if (is_mutable) {
    declare_value(name, Symbol::Kind::kVar, versions_.own_value(name, stored.value), stored.storage);
  } else {
    declare_value(name, Symbol::Kind::kLet, stored.value, stored.storage);
  }
}

SymbolRef Lowerer::assignable(const ast::Identifier& name) {
  const SymbolRef symbol = names_.find(name.name);
  if (!symbol) {
    reports_.fail(
        DiagnosticId::kUndefinedName, name.range,
        "`" + name.name + "` is not declared" + did_you_mean(name.name, names_.visible()) + "; declare it with var");
  }
  if (symbol->kind == Symbol::Kind::kBroken) throw Abandoned{};
  if (symbol->kind == Symbol::Kind::kVar) return symbol;
  static const std::map<Symbol::Kind, std::string> kinds = {
      {Symbol::Kind::kLet, "declared with let; use var"},
      {Symbol::Kind::kParam, "a param"},
      {Symbol::Kind::kInput, frames_.size() > 1 ? "a parameter" : "an input; copy it: var B = A;"},
      {Symbol::Kind::kLoop, "a loop variable"},
      {Symbol::Kind::kIndex, "an index variable"},
      {Symbol::Kind::kInline, "a parameter"}};
  reports_.fail(DiagnosticId::kImmutable, name.range,
                "`" + name.name + "` cannot be assigned: it is " + kinds.at(symbol->kind),
                {{symbol->range, "declared here"}});
}

}  // namespace tdsl::frontend
