#include "frontend/lower/state/versions.h"

#include "frontend/sema/walk.h"

namespace tdsl::frontend {

void Versions::set(const SymbolRef& symbol, ValueId value) {
  symbol->value = value;
  symbol->history.emplace_back(++clock_, value);
  since_.try_emplace(value, clock_);
}

void Versions::note_differentiated(const ast::Module& module) {
  const ExprVisitor visit = [this](const ast::Expr& e) {
    const auto* call = std::get_if<ast::Call>(&e.node);
    if (call == nullptr || call->callee.name != "grad") return;
    for (const ast::Argument& a : call->arguments) {
      if (const std::string* name = bare_name(*a.value)) names_.insert(*name);
    }
  };
  for (const ast::StmtPtr& s : module.statements) {
    if (const auto* f = std::get_if<ast::Function>(&s->node)) {
      for_each_expr(*f, visit);
    } else {
      for_each_expr(*s, visit);
    }
  }
}

ValueId Versions::own_value(const ast::Identifier& name, ValueId value) {
  if (!names_.contains(name.name) || !since_.contains(value)) return value;
  const ir::Type& type = graph_.program().type(value);
  ComputeSpec copy;
  std::vector<ir::Expr> subscripts;
  for (const ir::Extent& e : type.shape) {
    copy.out.push_back(graph_.new_label(e));
    subscripts.push_back(ir::index_ref(copy.out.back()));
  }
  copy.body = ir::read(type.scalar, value, std::move(subscripts), name.range);
  copy.type = {type.scalar, type.shape, {}};
  copy.name = name.name;
  copy.range = name.range;
  return graph_.emit(copy);
}

ValueId value_at(const Symbol& symbol, std::int64_t tick) {
  // The variable did not exist yet: the loss depends on its first value only if another variable has that value.
  ValueId found = symbol.history.front().second;
  for (const auto& [since, value] : symbol.history) {
    if (since <= tick) found = value;
  }
  return found;
}

void Versions::set(const std::vector<SymbolRef>& symbols, const std::vector<ValueId>& values) {
  for (std::size_t k = 0; k < symbols.size(); ++k) set(symbols[k], values[k]);
}

std::int64_t Versions::tick_of(ValueId value) const {
  const auto since = since_.find(value);
  return since == since_.end() ? clock_ : since->second;
}

}  // namespace tdsl::frontend
