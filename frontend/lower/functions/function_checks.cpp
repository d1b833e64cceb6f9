#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "frontend/lower/builtins.h"
#include "frontend/lower/lowering.h"
#include "frontend/lower/series.h"
#include "frontend/sema/walk.h"

namespace tdsl::frontend {

namespace {

/// Nesting depth of expressions and blocks of the function.
std::uint32_t depth_of_body(const ast::Function& f) {
  if (const auto* e = std::get_if<ast::ExprPtr>(&f.body)) return (*e)->depth;
  std::uint32_t deepest = 0;
  for (const ast::StmtPtr& s : std::get<ast::Block>(f.body).statements) deepest = std::max(deepest, s->depth);
  return deepest;
}

/// A function on the current call path, with its unvisited callees.
struct Called {
  const ast::Function* function = nullptr;
  std::vector<const ast::Function*> callees;
  std::uint32_t own = 0;
  std::uint32_t below = 0;  ///< depth of the deepest visited callee
};

/// Calls `f` on every `return` in nested blocks of a statement.
void for_each_inner_return(const ast::Stmt& s, const std::function<void(const ast::Stmt&)>& f) {
  const auto block = [&](const ast::Block& b) {
    for (const ast::StmtPtr& inner : b.statements) {
      if (std::holds_alternative<ast::Return>(inner->node)) f(*inner);
      for_each_inner_return(*inner, f);
    }
  };
  if (const auto* loop = std::get_if<ast::For>(&s.node)) block(loop->body);
  if (const auto* loop = std::get_if<ast::While>(&s.node)) block(loop->body);
  const auto* branch = std::get_if<ast::If>(&s.node);
  if (branch == nullptr) return;
  for (const ast::IfArm& arm : branch->arms) block(arm.body);
  if (branch->else_body) block(*branch->else_body);
}

}  // namespace

bool calls_fit(Reports& reports, const Declarations& declared) {
  // Iterative, since the depth of the calls is not yet known to be limited.
  std::map<const ast::Function*, std::uint32_t> depths;
  std::set<const ast::Function*> entered;
  for (const auto& [name, entry] : declared.functions) {
    std::vector<Called> way;
    std::uint32_t depth = 0;
    const auto enter = [&](const ast::Function* f) {
      if (!entered.insert(f).second) return;  // visited, or on the path: lowering the call reports recursion
      Called called{f, {}, depth_of_body(*f), 0};
      for_each_expr(*f, [&](const ast::Expr& e) {
        const auto* call = std::get_if<ast::Call>(&e.node);
        if (call == nullptr || has_function_parameter(*f, call->callee.name)) return;
        if (const ast::Function* callee = declared.function_named(call->callee.name)) called.callees.push_back(callee);
      });
      depth += called.own;
      way.push_back(std::move(called));
    };
    enter(entry.function);
    while (!way.empty()) {
      Called& last = way.back();
      const ast::Function* callee = last.callees.empty() ? nullptr : last.callees.back();
      const auto known = depths.find(callee);
      const std::uint32_t whole = depth + (known == depths.end() ? 0 : known->second);
      if (whole > ast::kMaxDepth) {
        const ast::Identifier& first = way.front().function->name;
        reports.error(DiagnosticId::kNestingTooDeep, first.range,
                      "`" + first.name + "` calls functions that call others, with their expressions more than " +
                          std::to_string(ast::kMaxDepth) + " deep");
        return false;
      }
      if (callee != nullptr) {
        last.below = std::max(last.below, known == depths.end() ? 0 : known->second);
        last.callees.pop_back();
        const std::size_t before = way.size();
        enter(callee);
        if (way.size() > before) way[before - 1].callees.push_back(callee);  // revisited once its depth is known
        continue;
      }
      depth -= last.own;
      const std::uint32_t here = last.own + last.below;
      depths.emplace(last.function, here);
      way.pop_back();
    }
  }
  return true;
}

namespace {

void check_defaults(Reports& reports, const ast::Function& f) {
  const ast::FunctionParameter* first = nullptr;
  for (const ast::FunctionParameter& p : f.parameters) {
    if (p.default_value) {
      if (first == nullptr) first = &p;
    } else if (first != nullptr) {
      reports.error(DiagnosticId::kBadArgument, p.name.range,
                    "the parameter `" + p.name.name + "` has no default, so it stands before those that have one",
                    {{first->name.range, "`" + first->name.name + "` has a default"}});
      return;
    }
  }
}

void check_returns(Reports& reports, const ast::Function& f) {
  const auto* block = std::get_if<ast::Block>(&f.body);
  if (block == nullptr) return;
  bool returns = false;
  bool inner_returns = false;
  for (const ast::StmtPtr& s : block->statements) {
    if (returns) {
      reports.error(DiagnosticId::kMissingReturn, s->range,
                    "nothing can follow `return`, which comes last in a function");
      break;
    }
    returns = std::holds_alternative<ast::Return>(s->node);
    for_each_inner_return(*s, [&](const ast::Stmt& inner) {
      reports.error(DiagnosticId::kMissingReturn, inner.range,
                    "`return` stands at the end of a function's body only; choose the value with `if c then a else b`");
      inner_returns = true;
    });
  }
  if (const ast::Stmt* const output = first_output(*block)) {
    reports.error(DiagnosticId::kMisplacedStatement, output->range, "`output` cannot stand in a function");
  }
  if (!returns && !inner_returns)
    reports.error(DiagnosticId::kMissingReturn, f.name.range, "the body of `" + f.name.name + "` must end in `return`");
}

}  // namespace

bool check_definition(Reports& reports, const ast::Function& f) {
  const std::size_t errors = reports.sink().error_count();
  check_defaults(reports, f);
  check_returns(reports, f);
  return errors == reports.sink().error_count();
}

void check_uncalled(Lowerer& lowerer) {
  if (lowerer.declared.lacks_import) return;
  for (const auto& [name, entry] : lowerer.declared.functions) {
    if (entry.called) continue;
    const std::set<std::string> names = names_of(*entry.function);
    for_each_expr(*entry.function, [&](const ast::Expr& e) {
      const std::string* used = bare_name(e);
      const SymbolRef global = used == nullptr ? nullptr : lowerer.names.find_global(*used);
      const bool is_param = global && global->kind == Symbol::Kind::kParam;
      if (is_param) global->used = true;
      const bool is_function =
          used != nullptr && (lowerer.declared.functions.contains(*used) || lowerer.declared.foreigns.contains(*used) ||
                              builtins().contains(*used));  // as an argument
      if (used != nullptr && !names.contains(*used) && !is_param && !is_function && !is_contextual_word(*used)) {
        lowerer.reports.error(DiagnosticId::kUndefinedName, e.range,
                              "`" + *used + "` is not declared" +
                                  did_you_mean(*used, std::vector<std::string>(names.begin(), names.end())));
      }
      const auto* call = std::get_if<ast::Call>(&e.node);
      if (call == nullptr) return;
      const std::string& callee = call->callee.name;
      if (lowerer.declared.functions.contains(callee) || lowerer.declared.monoids.contains(callee) ||
          lowerer.declared.refused.contains(callee) || lowerer.declared.foreigns.contains(callee) ||
          builtins().contains(callee) || has_function_parameter(*entry.function, callee))
        return;
      lowerer.reports.error(DiagnosticId::kUndefinedFunction, call->callee.range,
                            "there is no function `" + callee + "`");
    });
  }
}

}  // namespace tdsl::frontend
