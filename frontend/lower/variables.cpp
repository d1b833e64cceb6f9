#include "frontend/lower/lowering.h"

#include <numbers>

#include "frontend/hints/foreign_words.h"
#include "frontend/lower/builtins.h"
#include "frontend/sema/walk.h"

namespace tdsl::frontend {

SymbolRef declare_value(Lowerer& lowerer, const ast::Identifier& name, Symbol::Kind kind, ValueId value,
                        const StorageRef& storage) {
  const SymbolRef symbol = lowerer.names.declare(name, kind);
  symbol->storage = storage;
  lowerer.versions.set(symbol, value);
  tell_type(lowerer, *symbol);
  return symbol;
}

void tell_type(Lowerer& lowerer, const Symbol& symbol) {
  if (!lowerer.options.declared) return;
  const ir::Type& type = lowerer.graph.program().type(symbol.value);
  const bool is_integer = type.rank() == 0 && type.scalar == Scalar::kI64;
  const auto value = is_integer ? lowerer.graph.extent_of_value(symbol.value).constant() : std::nullopt;
  lowerer.options.declared({symbol.name, symbol.range,
                            lowerer.graph.text(lowerer.values.logical_type(symbol)) +
                                (symbol.storage ? " storage " + symbol.storage->text : ""),
                            value && symbol.kind == Symbol::Kind::kLet ? std::to_string(*value) : ""});
}

void tell_use(Lowerer& lowerer, const SourceRange& use, const SourceRange& declaration) {
  if (lowerer.options.resolved) lowerer.options.resolved(use, declaration);
}

namespace {

/// What to write in place of a dimension that only the function types of parameters name; empty for other names.
std::string hint_of_function_types(const ast::Function* f, const std::string& name) {
  if (f == nullptr) return {};
  for (const ast::FunctionParameter& p : f->parameters) {
    if (!p.function) continue;
    for (const ast::TypeExpr& result : p.function->results) {
      for (std::size_t d = 0; d < result.dimensions.size(); ++d) {
        const ast::Dimension& dimension = result.dimensions[d];
        const std::string* named = dimension.extent ? bare_name(*dimension.extent) : nullptr;
        if (named == nullptr || *named != name) continue;
        return " here: each call of `" + p.name.name + "` binds it anew; take it from a result of `" + p.name.name +
               "`: size(v, " + std::to_string(d) + ") after `let v = " + p.name.name +
               "(…);`, or leave out the type that needs it";
      }
    }
  }
  return {};
}

}  // namespace

Tensor lower_name(Lowerer& lowerer, const std::string& name, const SourceRange& range, bool lone_subscript) {
  if (const SymbolRef symbol = lowerer.names.find(name)) {
    symbol->used = true;
    tell_use(lowerer, range, symbol->range);
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
        Tensor t = symbol->storage ? lowerer.values.stored_tensor(symbol->value, symbol->storage, name, range)
                                   : lowerer.values.tensor_of(symbol->value, name, range);
        for (Dim& d : t.shape) d.range = symbol->range;
        return t;
      }
    }
  }
  const auto dimension = lowerer.dimensions().find(name);
  if (dimension != lowerer.dimensions().end()) {
    dimension->second.used = true;
    tell_use(lowerer, range, dimension->second.range);
    Tensor t = scalar_tensor(expr_of(lowerer.graph.program(), dimension->second.extent));
    t.range = range;
    return t;
  }
  if (name == "pi" && !lone_subscript)
    return scalar_tensor(ir::constant(Scalar::kF64, std::numbers::pi, range), Weak::kFloat);
  // As a subscript, `e` is an index variable.
  const std::string foreign = lone_subscript && name == "e" ? "" : value_hint(name);
  if (lone_subscript && foreign.empty()) {
    lowerer.reports.fail(DiagnosticId::kUnboundIndex, range,
                         "`" + name +
                             "` is neither bound here nor in scope; there is no implicit summation: write sum[" + name +
                             "](…), or bind it on the left or with `for " + name + " in …`");
  }
  std::vector<std::string> candidates = lowerer.names.visible();
  for (const auto& [other, d] : lowerer.dimensions()) candidates.push_back(other);
  const bool is_function = builtins().contains(name) || lowerer.frames.back().instance.functions.contains(name) ||
                           lowerer.declared.functions.contains(name);
  if (is_function && foreign.empty())
    lowerer.reports.fail(DiagnosticId::kUndefinedName, range,
                         "`" + name + "` is a function: it is called, " + name + "(…)");
  // An instance lacks the parameters of function type; the declaration has them.
  const Frame& frame = lowerer.frames.back();
  const std::string bound_in_calls =
      hint_of_function_types(frame.entry != nullptr ? frame.entry->function : frame.function, name);
  const std::string hint = !bound_in_calls.empty() ? bound_in_calls
                           : foreign.empty()       ? did_you_mean(name, candidates)
                                                   : foreign;
  if (lowerer.declared.lacks_import && hint.empty()) throw Abandoned{};
  // Repeated uses of the same name are one mistake, usually a misspelt declaration.
  if (!lowerer.names.is_first_report(name)) throw Abandoned{};
  if (const auto ended = lowerer.names.ended(name))
    lowerer.reports.fail(DiagnosticId::kUndefinedName, range,
                         "`" + name + "` is not declared here: the block that declares it has ended",
                         {{*ended, "declare it in front of the block as a var, and assign to it here"}});
  lowerer.reports.fail(DiagnosticId::kUndefinedName, range, "`" + name + "` is not declared" + hint);
}

bool is_scalar_variable(const GraphBuilder& graph, const Names& names, const std::string& name) {
  const SymbolRef symbol = names.find(name);
  if (!symbol) return false;
  if (symbol->kind == Symbol::Kind::kBroken) return false;
  if (symbol->kind == Symbol::Kind::kIndex || symbol->kind == Symbol::Kind::kInline) return symbol->lazy.rank() == 0;
  return graph.program().type(symbol->value).rank() == 0;
}

void declare_named(Lowerer& lowerer, const ast::Identifier& name, bool is_mutable, const Stored& stored) {
  if (is_mutable) {
    declare_value(lowerer, name, Symbol::Kind::kVar, lowerer.versions.own_value(name, stored.value), stored.storage);
  } else {
    declare_value(lowerer, name, Symbol::Kind::kLet, stored.value, stored.storage);
  }
}

SymbolRef assignable(Lowerer& lowerer, const ast::Identifier& name) {
  const SymbolRef symbol = lowerer.names.find(name.name);
  if (!symbol) {
    lowerer.reports.fail(DiagnosticId::kUndefinedName, name.range,
                         "`" + name.name + "` is not declared" + did_you_mean(name.name, lowerer.names.visible()) +
                             "; declare it with var");
  }
  if (symbol->kind == Symbol::Kind::kBroken) throw Abandoned{};
  tell_use(lowerer, name.range, symbol->range);
  if (lowerer.names.is_captured(name.name))
    lowerer.reports.fail(DiagnosticId::kImmutable, name.range,
                         "`" + name.name + "` cannot be assigned in a lambda, which only reads the names around it",
                         {{symbol->range, "declared here"}});
  if (symbol->kind == Symbol::Kind::kVar) return symbol;
  static const std::map<Symbol::Kind, std::string> kinds = {
      {Symbol::Kind::kLet, "declared with let; use var"},
      {Symbol::Kind::kParam, "a param"},
      {Symbol::Kind::kInput, lowerer.frames.size() > 1 ? "a parameter" : "an input; copy it: var B = A;"},
      {Symbol::Kind::kLoop, "a loop variable"},
      {Symbol::Kind::kIndex, "an index variable"},
      {Symbol::Kind::kInline, "a parameter"}};
  lowerer.reports.fail(DiagnosticId::kImmutable, name.range,
                       "`" + name.name + "` cannot be assigned: it is " + kinds.at(symbol->kind),
                       {{symbol->range, "declared here"}});
}

}  // namespace tdsl::frontend
