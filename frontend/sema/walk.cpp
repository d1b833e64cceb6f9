#include "frontend/sema/walk.h"

#include <algorithm>

#include "ir/graph/expr.h"

namespace tdsl::frontend {

using ir::match;

namespace {

void visit(const ast::ExprPtr& e, const ExprVisitor& f) {
  if (e) f(*e);
}

void visit_item(const ast::SubscriptItem& item, const ExprVisitor& f) {
  match(
      item.node, [&](const ast::IndexSubscript& i) { visit(i.value, f); },
      [&](const ast::SliceSubscript& s) {
        visit(s.start, f);
        visit(s.stop, f);
        visit(s.step, f);
      });
}

void visit_range(const ast::IndexRange& r, const ExprVisitor& f) {
  visit(r.lower, f);
  visit(r.upper, f);
  visit(r.step, f);
}

void visit_type(const std::optional<ast::TypeExpr>& type, const ExprVisitor& f) {
  if (!type) return;
  for (const ast::Dimension& d : type->dimensions) visit(d.extent, f);
}

void visit_target(const ast::Target& target, const ExprVisitor& f) {
  if (!target.subscripts) return;
  for (const ast::SubscriptItem& item : *target.subscripts) visit_item(item, f);
}

void visit_suffixes(const ast::Suffixes& s, const ExprVisitor& f) {
  if (s.where) visit(s.where->condition, f);
  if (!s.loop) return;
  for (const ast::IndexRange& r : s.loop->ranges) visit_range(r, f);
}

void visit_definition(const ast::Definition& d, const ExprVisitor& f) {
  visit(d.value, f);
  visit_suffixes(d.suffixes, f);
}

/// Visits direct expressions of a statement with `f` and its nested blocks with `block`.
void visit_statement(const ast::Stmt& s, const ExprVisitor& f, const std::function<void(const ast::Block&)>& block) {
  match(
      s.node, [](const ast::Import&) {}, [&](const ast::Param& p) { visit(p.default_value, f); },
      [&](const ast::Input& i) { visit_type(i.annotations.type, f); },
      [&](const ast::Output& o) {
        visit_target(o.target, f);
        visit_type(o.annotations.type, f);
        if (o.definition) visit_definition(*o.definition, f);
      },
      [&](const ast::Let& l) {
        visit_target(l.target, f);
        visit_type(l.annotations.type, f);
        visit_definition(l.definition, f);
      },
      [&](const ast::TupleLet& l) { visit_definition(l.definition, f); },
      [&](const ast::Assign& a) {
        visit_target(a.target, f);
        visit_definition(a.definition, f);
      },
      [&](const ast::TupleAssign& a) { visit_definition(a.definition, f); },
      [&](const ast::For& l) {
        for (const ast::IndexRange& r : l.ranges) visit_range(r, f);
        block(l.body);
      },
      [&](const ast::While& w) {
        visit(w.condition, f);
        block(w.body);
      },
      [&](const ast::If& i) {
        for (const ast::IfArm& arm : i.arms) {
          visit(arm.condition, f);
          block(arm.body);
        }
        if (i.else_body) block(*i.else_body);
      },
      [&](const ast::Print& p) {
        for (const ast::ExprPtr& item : p.items) visit(item, f);
      },
      [&](const ast::Assert& a) { visit(a.condition, f); },
      [&](const ast::Return& r) {
        visit(r.value, f);
        visit_suffixes(r.suffixes, f);
      },
      [](const ast::Function&) {}, [](const ast::Monoid&) {}, [](const ast::Extern&) {}, [](const ast::Storage&) {});
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
  if (const auto* subscript = std::get_if<ast::Subscript>(&e.node)) {
    collect_free(*subscript->base, bound, in_scope, found);
    for (const ast::SubscriptItem& item : subscript->items) {
      const auto* index = std::get_if<ast::IndexSubscript>(&item.node);
      const std::string* name = index != nullptr ? bare_name(*index->value) : nullptr;
      if (name != nullptr && !bound.contains(*name) && !in_scope(*name)) {
        bound.insert(*name);
        found.push_back({*name, index->value->range});
      }
      visit_item(item, [&](const ast::Expr& part) { collect_free(part, bound, in_scope, found); });
    }
    return;
  }
  if (const auto* reduction = std::get_if<ast::Reduction>(&e.node)) {
    std::set<std::string> inside;
    for (const ast::ReductionIndex& index : reduction->indices) {
      visit(index.lower, [&](const ast::Expr& part) { collect_free(part, bound, in_scope, found); });
      visit(index.upper, [&](const ast::Expr& part) { collect_free(part, bound, in_scope, found); });
      if (bound.insert(index.name.name).second) inside.insert(index.name.name);
    }
    visit(reduction->guard, [&](const ast::Expr& part) { collect_free(part, bound, in_scope, found); });
    visit(reduction->body, [&](const ast::Expr& part) { collect_free(part, bound, in_scope, found); });
    for (const std::string& name : inside) bound.erase(name);
    return;
  }
  for_each_child(e, [&](const ast::Expr& part) { collect_free(part, bound, in_scope, found); });
}

void collect_unbound(const ast::Expr& e, std::set<std::string>& bound, std::vector<ast::Identifier>& found) {
  if (const auto* name = std::get_if<ast::Name>(&e.node)) {
    if (!bound.contains(name->name)) found.push_back({name->name, e.range});
    return;
  }
  const auto below = [&](const ast::Expr& part) { collect_unbound(part, bound, found); };
  const auto* reduction = std::get_if<ast::Reduction>(&e.node);
  if (reduction == nullptr) {
    for_each_child(e, below);
    return;
  }
  std::set<std::string> inside;
  for (const ast::ReductionIndex& index : reduction->indices) {
    visit(index.lower, below);
    visit(index.upper, below);
    visit(index.step, below);
    if (bound.insert(index.name.name).second) inside.insert(index.name.name);
  }
  visit(reduction->guard, below);
  visit(reduction->body, below);
  for (const std::string& name : inside) bound.erase(name);
}

}  // namespace

void for_each_child(const ast::Expr& e, const ExprVisitor& f) {
  match(
      e.node, [](const ast::IntegerLiteral&) {}, [](const ast::FloatLiteral&) {}, [](const ast::BoolLiteral&) {},
      [](const ast::StringLiteral&) {}, [](const ast::Name&) {}, [&](const ast::Unary& u) { visit(u.operand, f); },
      [&](const ast::Binary& b) {
        visit(b.lhs, f);
        visit(b.rhs, f);
      },
      [&](const ast::Transpose& t) { visit(t.operand, f); },
      [&](const ast::Conditional& c) {
        visit(c.condition, f);
        visit(c.then_value, f);
        visit(c.else_value, f);
      },
      [&](const ast::Cast& c) { visit(c.operand, f); },
      [&](const ast::Call& c) {
        for (const ast::Argument& a : c.arguments) visit(a.value, f);
      },
      [&](const ast::Tuple& t) {
        for (const ast::ExprPtr& element : t.elements) visit(element, f);
      },
      [&](const ast::Subscript& s) {
        visit(s.base, f);
        for (const ast::SubscriptItem& item : s.items) visit_item(item, f);
      },
      [&](const ast::Reduction& r) {
        for (const ast::ReductionIndex& index : r.indices) {
          visit(index.lower, f);
          visit(index.upper, f);
          visit(index.step, f);
        }
        visit(r.guard, f);
        visit(r.body, f);
      });
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
  explicit DeclaredNames(std::set<std::string>& names) : names_(names) {}

  void type(const std::optional<ast::TypeExpr>& t) {
    visit_type(t, [this](const ast::Expr& e) { all_names(e); });
  }
  void block(const ast::Block& b) {
    for (const ast::StmtPtr& s : b.statements) statement(*s);
  }
  /// Index variables of reductions, and bare subscripts that `return` may leave free.
  void expression(const ast::Expr& e) {
    for_each_expr(e, [this](const ast::Expr& part) {
      if (const auto* r = std::get_if<ast::Reduction>(&part.node)) {
        for (const ast::ReductionIndex& index : r->indices) names_.insert(index.name.name);
      }
    });
    for (const ast::Identifier& name : free_subscript_names(e, [](const std::string&) { return false; })) {
      names_.insert(name.name);
    }
  }
  void suffixes(const ast::Suffixes& s) {
    if (!s.loop) return;
    for (const ast::IndexRange& r : s.loop->ranges) names_.insert(r.name.name);
  }

 private:
  void all_names(const ast::Expr& e) {
    for_each_expr(e, [this](const ast::Expr& part) {
      if (const std::string* name = bare_name(part)) names_.insert(*name);
    });
  }
  void target(const ast::Target& t, const ast::Definition& d) {
    visit_target(t, [this](const ast::Expr& e) { all_names(e); });
    suffixes(d.suffixes);
  }
  void statement(const ast::Stmt& s) {
    if (const auto* let = std::get_if<ast::Let>(&s.node)) {
      names_.insert(let->target.name.name);
      target(let->target, let->definition);
    }
    if (const auto* let = std::get_if<ast::TupleLet>(&s.node)) {
      for (const ast::Identifier& name : let->names) names_.insert(name.name);
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
        s,
        [this](const ast::Expr& e) {
          for_each_expr(e, [this](const ast::Expr& part) {
            if (const auto* r = std::get_if<ast::Reduction>(&part.node)) {
              for (const ast::ReductionIndex& index : r->indices) names_.insert(index.name.name);
            }
          });
        },
        [this](const ast::Block& b) { block(b); });
  }

  std::set<std::string>& names_;
};

}  // namespace

std::set<std::string> names_of(const ast::Function& f) {
  std::set<std::string> names;
  DeclaredNames declared(names);
  for (const ast::FunctionParameter& p : f.parameters) {
    names.insert(p.name.name);
    declared.type(p.type);
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

const std::string* bare_name(const ast::Expr& e) {
  const auto* name = std::get_if<ast::Name>(&e.node);
  return name == nullptr ? nullptr : &name->name;
}

}  // namespace tdsl::frontend
