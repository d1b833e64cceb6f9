#include "frontend/sema/growth.h"

#include "frontend/sema/walk.h"

namespace tdsl::frontend {

namespace {

/// Adds `factor` times the operations of `more`.
void add_growth(Growth& to, const Growth& more, double factor = 1) {
  to.own += factor * more.own;
  for (std::size_t k = 0; k < to.uses.size(); ++k) to.uses[k] += factor * more.uses[k];
}

}  // namespace

const Growth& GrowthFinder::of(const ast::Function& f) {
  const std::size_t count = f.parameters.size();
  const auto [found, is_new] = known_.emplace(&f, Growth{0, std::vector<double>(count)});
  if (!is_new) return found->second;
  Names names;
  for (std::size_t k = 0; k < count; ++k) {
    Growth& own = names[f.parameters[k].name.name] = {0, std::vector<double>(count)};
    own.uses[k] = 1;
  }
  Growth whole{0, std::vector<double>(count)};
  if (const auto* e = std::get_if<ast::ExprPtr>(&f.body)) {
    whole = of(f, **e, names);
  } else {
    for (const ast::StmtPtr& s : std::get<ast::Block>(f.body).statements) {
      if (const auto* let = std::get_if<ast::Let>(&s->node))
        names[let->target.name.name] = of(f, *let->definition.value, names);
      if (const auto* result = std::get_if<ast::Return>(&s->node)) whole = of(f, *result->value, names);
    }
  }
  return found->second = std::move(whole);
}

Growth GrowthFinder::of(const ast::Function& f, const ast::Expr& e, const Names& names) {
  if (const std::string* name = bare_name(e)) {
    if (const auto found = names.find(*name); found != names.end()) return found->second;
  }
  Growth result{1, std::vector<double>(f.parameters.size())};
  const auto* call = std::get_if<ast::Call>(&e.node);
  const ast::Function* function = call == nullptr ? nullptr : called_(f, call->callee.name);
  if (function == nullptr || function->parameters.size() != call->arguments.size()) {
    for_each_child(e, [&](const ast::Expr& child) { add_growth(result, of(f, child, names)); });
    return result;
  }
  const Growth inside = of(*function);
  result.own = inside.own;
  for (std::size_t k = 0; k < call->arguments.size(); ++k)
    add_growth(result, of(f, *call->arguments[k].value, names), inside.uses[k]);
  return result;
}

}  // namespace tdsl::frontend
