#include "frontend/sema/walk.h"

#include <algorithm>

#include "frontend/syntax/ast_parts.h"
#include "ir/graph/expr.h"

namespace tdsl::frontend {

using ir::match;

namespace {

/// Calls the overloads `f` on the direct subexpressions and blocks of a node; skips functions and other declarations.
template <class Node, class... F>
void visit_parts(const Node& node, const F&... f) {
  SyntaxParts(ir::Overload{f...}, false).add(node);
}

template <class... F>
void visit_statement(const ast::Stmt& s, const F&... f) {
  std::visit(SyntaxParts(ir::Overload{f...}, false), s.node);
}

/// Visits the subexpressions of a reduction; `bound` contains its indices during the visit of guard and body.
void visit_reduction(const ast::Reduction& reduction, std::set<std::string>& bound, const ExprVisitor& f) {
  std::set<std::string> inside;
  for (const ast::ReductionIndex& index : reduction.indices) {
    visit_parts(index, f);
    if (bound.insert(index.name.name).second) inside.insert(index.name.name);
  }
  visit_parts(reduction.guard, f);
  visit_parts(reduction.body, f);
  for (const std::string& name : inside) bound.erase(name);
}

/// Collects assignments to names that are not declared in the block or in inner blocks.
class AssignedNames {
 public:
  void block(const ast::Block& b) {
    declared_.emplace_back();
    for (const ast::StmtPtr& s : b.statements) statement(*s);
    declared_.pop_back();
  }
  [[nodiscard]] std::vector<std::string> take() { return std::move(names_); }

 private:
  void statement(const ast::Stmt& s) {
    if (const auto* let = std::get_if<ast::Let>(&s.node)) declare(let->target.name.name);
    if (const auto* let = std::get_if<ast::TupleLet>(&s.node)) {
      for (const ast::Identifier& name : let->names) declare(name.name);
    }
    if (const auto* assign = std::get_if<ast::Assign>(&s.node)) assigned(assign->target.name.name);
    if (const auto* assign = std::get_if<ast::TupleAssign>(&s.node)) {
      for (const ast::Identifier& name : assign->names) assigned(name.name);
    }
    visit_statement(
        s, [](const ast::Expr&) {}, [this](const ast::Block& b) { block(b); });
  }
  void declare(const std::string& name) { declared_.back().insert(name); }
  void assigned(const std::string& name) {
    for (const auto& names : declared_) {
      if (names.contains(name)) return;
    }
    if (std::ranges::find(names_, name) == names_.end()) names_.push_back(name);
  }

  std::vector<std::set<std::string>> declared_;
  std::vector<std::string> names_;
};

void collect_free(const ast::Expr& e, std::set<std::string>& bound,
                  const std::function<bool(const std::string&)>& in_scope, std::vector<ast::Identifier>& found) {
  if (std::holds_alternative<ast::Lambda>(e.node)) return;  // its free subscripts are its own
  const auto below = [&](const ast::Expr& part) { collect_free(part, bound, in_scope, found); };
  if (const auto* subscript = std::get_if<ast::Subscript>(&e.node)) {
    below(*subscript->base);
    const bool slices = std::ranges::any_of(subscript->items, [](const ast::SubscriptItem& item) {
      return !std::holds_alternative<ast::IndexSubscript>(item.node);
    });
    for (const ast::SubscriptItem& item : subscript->items) {
      const auto* index = std::get_if<ast::IndexSubscript>(&item.node);
      const std::string* name = index != nullptr ? bare_name(*index->value) : nullptr;
      if (name != nullptr && slices && *name == "newaxis") continue;
      if (name != nullptr && !bound.contains(*name) && !in_scope(*name)) {
        bound.insert(*name);
        found.push_back({*name, index->value->range});
      }
      visit_parts(item, below);
    }
  } else if (const auto* reduction = std::get_if<ast::Reduction>(&e.node)) {
    visit_reduction(*reduction, bound, below);
  } else {
    for_each_child(e, below);
  }
}

void collect_unbound(const ast::Expr& e, std::set<std::string>& bound, std::vector<ast::Identifier>& found) {
  const auto below = [&](const ast::Expr& part) { collect_unbound(part, bound, found); };
  if (const auto* name = std::get_if<ast::Name>(&e.node)) {
    if (!bound.contains(name->name)) found.push_back({name->name, e.range});
  } else if (const auto* reduction = std::get_if<ast::Reduction>(&e.node)) {
    visit_reduction(*reduction, bound, below);
  } else if (const auto* lambda = std::get_if<ast::Lambda>(&e.node)) {
    std::set<std::string> inside = bound;
    inside.merge(names_of(*lambda->function));
    for_each_child(e, [&](const ast::Expr& part) { collect_unbound(part, inside, found); });
  } else {
    for_each_child(e, below);
  }
}

}  // namespace

void for_each_child(const ast::Expr& e, const ExprVisitor& f) {
  // The block of a lambda: the expressions of its statements.
  const std::function<void(const ast::Block&)> block = [&](const ast::Block& b) {
    for (const ast::StmtPtr& s : b.statements) visit_statement(*s, f, block);
  };
  std::visit(SyntaxParts(ir::Overload{f, block}), e.node);
}

void for_each_expr(const ast::Expr& e, const ExprVisitor& f) {
  f(e);
  for_each_child(e, [&](const ast::Expr& child) { for_each_expr(child, f); });
}

void for_each_expr(const ast::Stmt& s, const ExprVisitor& f) {
  visit_statement(
      s, [&](const ast::Expr& e) { for_each_expr(e, f); }, [&](const ast::Block& b) { for_each_expr(b, f); });
}

void for_each_expr(const ast::Block& b, const ExprVisitor& f) {
  for (const ast::StmtPtr& s : b.statements) for_each_expr(*s, f);
}

std::vector<std::string> assigned_names(const ast::Block& block) {
  AssignedNames names;
  names.block(block);
  return names.take();
}

std::vector<ast::Identifier> free_subscript_names(const ast::Expr& e,
                                                  const std::function<bool(const std::string&)>& in_scope) {
  std::set<std::string> bound;
  std::vector<ast::Identifier> found;
  collect_free(e, bound, in_scope, found);
  return found;
}

std::vector<ast::Identifier> unbound_names(const ast::Expr& e) {
  std::set<std::string> bound;
  std::vector<ast::Identifier> found;
  collect_unbound(e, bound, found);
  return found;
}

namespace {

/// Collects the names that a function's body declares or binds.
class DeclaredNames {
 public:
  DeclaredNames(std::set<std::string>& names, const IsName& is_outside) : names_(names), is_outside_(is_outside) {}

  void type(const std::optional<ast::TypeExpr>& t) {
    visit_parts(t, [this](const ast::Expr& e) { all_names(e); });
  }
  void type(const ast::FunctionType& t) {
    visit_parts(t, [this](const ast::Expr& e) { all_names(e); });
  }
  void block(const ast::Block& b) {
    for (const ast::StmtPtr& s : b.statements) statement(*s);
  }
  /// Index variables of reductions, and bare subscripts that `return` may leave free.
  void expression(const ast::Expr& e) {
    indices(e);
    for (const ast::Identifier& name : free_subscript_names(e, is_outside_)) names_.insert(name.name);
  }
  void suffixes(const ast::Suffixes& s) {
    if (!s.loop) return;
    for (const ast::IndexRange& r : s.loop->ranges) names_.insert(r.name.name);
  }

 private:
  void indices(const ast::Expr& e) {
    for_each_expr(e, [this](const ast::Expr& part) {
      if (const auto* lambda = std::get_if<ast::Lambda>(&part.node))
        names_.merge(names_of(*lambda->function, is_outside_));
      const auto* r = std::get_if<ast::Reduction>(&part.node);
      if (r == nullptr) return;
      for (const ast::ReductionIndex& index : r->indices) names_.insert(index.name.name);
    });
  }
  /// Names that may be those of extents found by data.
  void lone_dimensions(const std::optional<ast::TypeExpr>& t) {
    if (!t) return;
    for (const ast::Dimension& d : t->dimensions) {
      const std::string* name = d.extent ? bare_name(*d.extent) : nullptr;
      if (name != nullptr && !is_outside_(*name)) names_.insert(*name);
    }
  }
  void all_names(const ast::Expr& e) {
    for_each_expr(e, [this](const ast::Expr& part) {
      if (const std::string* name = bare_name(part)) names_.insert(*name);
    });
  }
  void target(const ast::Target& t, const ast::Definition& d) {
    visit_parts(t, [this](const ast::Expr& e) { all_names(e); });
    suffixes(d.suffixes);
  }
  void statement(const ast::Stmt& s) {
    if (const auto* let = std::get_if<ast::Let>(&s.node)) {
      names_.insert(let->target.name.name);
      lone_dimensions(let->annotations.type);
      target(let->target, let->definition);
    }
    if (const auto* let = std::get_if<ast::TupleLet>(&s.node)) {
      for (const ast::Identifier& name : let->names) names_.insert(name.name);
      for (const auto& written : let->types) lone_dimensions(written);
    }
    if (const auto* assign = std::get_if<ast::Assign>(&s.node)) target(assign->target, assign->definition);
    if (const auto* loop = std::get_if<ast::For>(&s.node)) {
      for (const ast::IndexRange& r : loop->ranges) names_.insert(r.name.name);
    }
    if (const auto* result = std::get_if<ast::Return>(&s.node)) {
      expression(*result->value);
      suffixes(result->suffixes);
    }
    visit_statement(
        s, [this](const ast::Expr& e) { indices(e); }, [this](const ast::Block& b) { block(b); });
  }

  std::set<std::string>& names_;
  const IsName& is_outside_;
};

}  // namespace

std::set<std::string> names_of(const ast::Function& f, const IsName& is_outside) {
  std::set<std::string> names;
  DeclaredNames declared(names, is_outside);
  for (const ast::FunctionParameter& p : f.parameters) {
    names.insert(p.name.name);
    declared.type(p.type);
    if (p.function) declared.type(*p.function);
  }
  match(
      f.body, [&](const ast::ExprPtr& e) { declared.expression(*e); }, [&](const ast::Block& b) { declared.block(b); });
  return names;
}

void for_each_expr(const ast::Function& function, const ExprVisitor& f) {
  match(
      function.body, [&](const ast::ExprPtr& e) { for_each_expr(*e, f); },
      [&](const ast::Block& b) { for_each_expr(b, f); });
}

bool has_function_parameter(const ast::Function& f, const std::string& name) {
  return std::ranges::any_of(
      f.parameters, [&](const ast::FunctionParameter& p) { return p.function.has_value() && p.name.name == name; });
}

const std::string* bare_name(const ast::Expr& e) {
  const auto* name = std::get_if<ast::Name>(&e.node);
  return name == nullptr ? nullptr : &name->name;
}

}  // namespace tdsl::frontend
