#include <algorithm>
#include <variant>

#include "frontend/index/index_builder.h"
#include "frontend/sema/walk.h"
#include "ir/graph/expr.h"

namespace tdsl::frontend {

namespace {

const ast::Expr* subscript_in(const ast::SubscriptItem& item) {
  const auto* index = std::get_if<ast::IndexSubscript>(&item.node);
  return index == nullptr ? nullptr : index->value.get();
}

bool holds_slices(const ast::Target& target) {
  return std::ranges::any_of(*target.subscripts, [](const auto& item) { return subscript_in(item) == nullptr; });
}

/// What an import takes from a file besides its functions.
bool is_imported(const ast::Stmt& s) {
  const auto* let = std::get_if<ast::Let>(&s.node);
  return std::holds_alternative<ast::Param>(s.node) || std::holds_alternative<ast::Import>(s.node) ||
         (let != nullptr && !let->is_mutable);
}

bool has_body(const ast::Stmt& s) {
  return std::holds_alternative<ast::Function>(s.node) || std::holds_alternative<ast::Monoid>(s.node) ||
         std::holds_alternative<ast::Storage>(s.node) || std::holds_alternative<ast::Extern>(s.node);
}

}  // namespace

void IndexBuilder::module(const ast::Module& module, bool is_main) {
  for (const ast::StmtPtr& s : module.statements) {
    if (has_body(*s)) {
      bodies_.push_back(s.get());
    } else if (is_main || is_imported(*s)) {
      statement(*s);
    }
  }
}

void IndexBuilder::statement(const ast::Stmt& s) {
  ir::match(
      s.node,
      [&](const ast::Import& i) {
        const auto found = imported_.find(&i);
        if (found != imported_.end() && found->second != nullptr) module(*found->second, false);
      },
      [&](const ast::Param& p) {
        type(p.type, false);
        expression(p.default_value);
        const std::int32_t id = declare(p.name, IndexKind::kParam, s.range);
        index_.declarations[static_cast<std::size_t>(id)].written_type = true;
      },
      [&](const ast::Input& i) { input(i, s.range); }, [&](const ast::Output& o) { output(o, s.range); },
      [&](const ast::Let& l) { let(l, s.range); }, [&](const ast::TupleLet& l) { tuple_let(l, s.range); },
      [&](const ast::Assign& a) { assign(a, s.range); },
      [&](const ast::TupleAssign& a) {
        expression(a.definition.value);
        for (const ast::Identifier& target : a.names) {
          const std::int32_t id = find(target.name);
          if (id >= 0) use(id, target.range, true);
          if (id < 0) other(target.name, target.range, false);
        }
      },
      [&](const ast::For& f) { loop(f, 0, s.range); },
      [&](const ast::While& w) {
        expression(w.condition);
        block(w.body);
      },
      [&](const ast::If& i) {
        for (const ast::IfArm& arm : i.arms) {
          expression(arm.condition);
          block(arm.body);
        }
        if (i.else_body) block(*i.else_body);
      },
      [&](const ast::Print& p) {
        for (const ast::ExprPtr& item : p.items) expression(item);
      },
      [&](const ast::Assert& a) { expression(a.condition); }, [&](const ast::Return& r) { returned(r, s.range); },
      [](const ast::Leave&) {}, [](const ast::Function&) {}, [](const ast::Monoid&) {}, [](const ast::Extern&) {},
      [](const ast::Storage&) {});
}

void IndexBuilder::block(const ast::Block& b) {
  const InScope scope(*this, b.range);
  for (const ast::StmtPtr& s : b.statements) {
    if (s) statement(*s);
  }
}

void IndexBuilder::input(const ast::Input& i, const SourceRange& range) {
  type(i.annotations.type, true);
  storage_use(i.annotations.storage);
  const std::int32_t id = declare(i.name, IndexKind::kInput, range);
  index_.declarations[static_cast<std::size_t>(id)].written_type = true;
  if (i.annotations.type && !i.annotations.type->dimensions.empty()) tensors_.insert(id);
  if (i.annotations.tile) std::ranges::for_each(i.annotations.tile->sizes, [&](const auto& e) { expression(e); });
}

void IndexBuilder::output(const ast::Output& o, const SourceRange& range) {
  if (o.definition) {
    defined(o.target, o.annotations, *o.definition, range, false);
    const std::int32_t id = declare(o.target.name, IndexKind::kOutput, range);
    index_.declarations[static_cast<std::size_t>(id)].written_type = o.annotations.type.has_value();
    index_.declarations[static_cast<std::size_t>(id)].target = o.target.range;
  } else {
    name(o.target.name.name, o.target.name.range, false);
    type(o.annotations.type, false);
  }
  if (o.annotations.tile) std::ranges::for_each(o.annotations.tile->sizes, [&](const auto& e) { expression(e); });
  expression(o.every);
}

void IndexBuilder::let(const ast::Let& l, const SourceRange& range) {
  defined(l.target, l.annotations, l.definition, range, false);
  const std::int32_t id = declare(l.target.name, l.is_mutable ? IndexKind::kVar : IndexKind::kLet, range);
  index_.declarations[static_cast<std::size_t>(id)].written_type = l.annotations.type.has_value();
  index_.declarations[static_cast<std::size_t>(id)].target = l.target.range;
  if (l.target.subscripts || (l.annotations.type && !l.annotations.type->dimensions.empty())) tensors_.insert(id);
  if (l.annotations.tile) std::ranges::for_each(l.annotations.tile->sizes, [&](const auto& e) { expression(e); });
}

void IndexBuilder::tuple_let(const ast::TupleLet& l, const SourceRange& range) {
  expression(l.definition.value);
  for (std::size_t k = 0; k < l.names.size(); ++k) {
    type(l.types[k], true);
    const std::int32_t id = declare(l.names[k], l.is_mutable ? IndexKind::kVar : IndexKind::kLet, range);
    index_.declarations[static_cast<std::size_t>(id)].written_type = l.types[k].has_value();
  }
}

void IndexBuilder::assign(const ast::Assign& a, const SourceRange& range) {
  const std::int32_t id = find(a.target.name.name);
  if (id >= 0) use(id, a.target.name.range, true);
  if (id < 0) other(a.target.name.name, a.target.name.range, false);
  defined(a.target, {}, a.definition, range, true);
}

/// The type, the subscripts on the left, the suffixes and the value; not the name.
void IndexBuilder::defined(const ast::Target& target, const ast::Annotations& notes, const ast::Definition& d,
                           const SourceRange& range, bool assigns) {
  type(notes.type, true);
  storage_use(notes.storage);
  assign_op(d.op);
  const InScope scope(*this, range, false, true);
  bind_ranges(d.suffixes, range);
  if (target.subscripts) bind_left(target, assigns, range);
  if (d.suffixes.where) expression(d.suffixes.where->condition);
  expression(d.value);
}

void IndexBuilder::bind_ranges(const ast::Suffixes& suffixes, const SourceRange& range) {
  if (!suffixes.loop) return;
  for (const ast::IndexRange& r : suffixes.loop->ranges) {
    expression(r.lower);
    expression(r.upper);
    expression(r.step);
    const std::int32_t id = declare(r.name, IndexKind::kIndexVariable, r.range);
    index_.declarations[static_cast<std::size_t>(id)].visible = range;
  }
}

void IndexBuilder::bind_left(const ast::Target& target, bool assigns, const SourceRange& range) {
  const bool binds = !(assigns && holds_slices(target));
  for (const ast::SubscriptItem& item : *target.subscripts) {
    const ast::Expr* e = binds ? subscript_in(item) : nullptr;
    const std::string* word = e == nullptr ? nullptr : bare_name(*e);
    if (word == nullptr || scope_->names.contains(*word)) continue;
    const std::int32_t scalar = assigns ? find(*word) : -1;
    if (scalar >= 0 && !tensors_.contains(scalar)) continue;
    declare({*word, word_in(e->range, *word)}, IndexKind::kIndexVariable, range);
  }
  for (const ast::SubscriptItem& item : *target.subscripts) {
    const ast::Expr* e = binds ? subscript_in(item) : nullptr;
    if (e != nullptr && bare_name(*e) == nullptr) {
      for (const ast::Identifier& free : unbound_names(*e)) {
        if (find(free.name) >= 0 || dimension_named(free.name) >= 0 || callable(free.name, range.file) >= 0) continue;
        declare({free.name, word_in(free.range, free.name)}, IndexKind::kIndexVariable, range);
      }
    }
    ir::match(
        item.node, [&](const ast::IndexSubscript& i) { expression(i.value); },
        [&](const ast::SliceSubscript& s) { expression(s.start), expression(s.stop), expression(s.step); },
        [](const ast::EllipsisSubscript&) {});
  }
}

void IndexBuilder::assign_op(const ast::AssignOp& op) {
  if (op.kind != ast::AssignKind::kMonoid) return;
  SourceRange word = op.range;
  word.end_line = word.line;
  word.end_column = word.column + utf8_length(op.monoid);
  const std::int32_t monoid = callable(op.monoid, op.range.file);
  if (monoid >= 0) use(monoid, word);
  if (monoid < 0) other(op.monoid, word, true);
}

void IndexBuilder::loop(const ast::For& f, std::size_t level, const SourceRange& range) {
  if (level == f.ranges.size()) return block(f.body);
  const ast::IndexRange& r = f.ranges[level];
  expression(r.lower);
  expression(r.upper);
  expression(r.step);
  const InScope scope(*this, range);
  declare(r.name, IndexKind::kLoop, r.range);
  loop(f, level + 1, range);
}

void IndexBuilder::returned(const ast::Return& r, const SourceRange& range) {
  const auto in_scope = [&](const std::string& word) { return find(word) >= 0 || dimension_named(word) >= 0; };
  const auto one = [&](const ast::ExprPtr& e) {
    if (!e) return;
    const std::vector<ast::Identifier> free = free_subscript_names(*e, in_scope);
    const InScope scope(*this, range, false, true);
    bind_ranges(r.suffixes, range);
    for (const ast::Identifier& index : free) {
      if (!scope_->names.contains(index.name))
        declare({index.name, word_in(index.range, index.name)}, IndexKind::kIndexVariable, range);
    }
    if (r.suffixes.where) expression(r.suffixes.where->condition);
    expression(*e);
  };
  const auto* tuple = r.value ? std::get_if<ast::Tuple>(&r.value->node) : nullptr;
  if (tuple == nullptr) return one(r.value);
  std::ranges::for_each(tuple->elements, one);
}

void IndexBuilder::body(const ast::Stmt& s) {
  if (const auto* f = std::get_if<ast::Function>(&s.node)) function_body(*f, s.range);
  if (const auto* e = std::get_if<ast::Extern>(&s.node)) foreign_parameters(*e);
  if (const auto* storage = std::get_if<ast::Storage>(&s.node)) storage_body(*storage, s.range);
  const auto* m = std::get_if<ast::Monoid>(&s.node);
  if (m == nullptr) return;
  IndexFrame frame{at_.at(m->name.range), s.range};
  IndexFrame* const outer = std::exchange(frame_, &frame);
  const InScope scope(*this, s.range, true);
  expression(m->identity);
  bind_parameters(m->parameters, index_.declarations[static_cast<std::size_t>(frame.function)].parameters);
  expression(m->combine);
  frame_ = outer;
}

void IndexBuilder::function_body(const ast::Function& f, const SourceRange& range) {
  IndexFrame frame{at_.at(f.name.range), range};
  IndexFrame* const outer = std::exchange(frame_, &frame);
  const InScope scope(*this, range, true);
  for (const ast::TypeParameter& t : f.type_parameters)
    frame.types[t.name.name] = add(t.name, IndexKind::kTypeParameter, t.name.range);
  bind_parameters(f.parameters, index_.declarations[static_cast<std::size_t>(frame.function)].parameters);
  if (const auto* value = std::get_if<ast::ExprPtr>(&f.body)) {
    returned({*value, {}}, range);
  } else {
    block(std::get<ast::Block>(f.body));
  }
  for (const ast::TypeExpr& t : f.results) type(t, true);
  frame_ = outer;
}

void IndexBuilder::bind_parameters(const std::vector<ast::FunctionParameter>& parameters,
                                   std::vector<std::int32_t> declarations) {
  for (std::size_t k = 0; k < parameters.size() && k < declarations.size(); ++k) {
    if (parameters[k].is_literal) scope_->names[parameters[k].name.name] = declarations[k];
  }
  for (std::size_t k = 0; k < parameters.size() && k < declarations.size(); ++k) {
    const ast::FunctionParameter& p = parameters[k];
    type(p.type, true);
    const std::string* word = p.default_value ? bare_name(*p.default_value) : nullptr;
    if (word != nullptr) {
      name(*word, word_in(p.default_value->range, *word), p.function.has_value());
    } else {
      expression(p.default_value);
    }
    scope_->names[p.name.name] = declarations[k];
  }
  // Dimensions are bound by the parameters that are values, if they occur there.
  for (const ast::FunctionParameter& p : parameters) {
    if (p.function) type(*p.function);
  }
}

void IndexBuilder::foreign_parameters(const ast::Extern& e) {
  for (const auto& item : e.items) {
    const ast::Identifier& word = std::visit([](const auto& f) -> const ast::Identifier& { return f.name; }, item);
    const SourceRange range = std::visit([](const auto& f) { return f.range; }, item);
    IndexFrame frame{at_.at(word.range), range};
    IndexFrame* const outer = std::exchange(frame_, &frame);
    const InScope scope(*this, range, true);
    if (const auto* f = std::get_if<ast::ExternFunction>(&item)) {
      bind_parameters(f->parameters, index_.declarations[static_cast<std::size_t>(frame.function)].parameters);
      for (const ast::TypeExpr& t : f->results) type(t, true);
    } else {
      for (const ast::KernelParameter& p : std::get<ast::ExternKernel>(item).parameters) {
        type(p.type, true);
        declare(p.name, IndexKind::kParameter, p.name.range.to(p.type.range));
      }
    }
    frame_ = outer;
  }
}

void IndexBuilder::storage_body(const ast::Storage& s, const SourceRange& range) {
  IndexFrame frame{at_.at(s.name.range), range};
  IndexFrame* const outer = std::exchange(frame_, &frame);
  const InScope scope(*this, range, true);
  for (const ast::Identifier& p : s.parameters) declare(p, IndexKind::kParameter, p.range);
  for (const ast::ExprPtr& e : s.extents) expression(e);
  index_map(s.to);
  index_map(s.from);
  frame_ = outer;
}

void IndexBuilder::index_map(const ast::IndexMap& map) {
  const InScope scope(*this, map.range, false, true);
  for (const ast::Identifier& index : map.indices) declare(index, IndexKind::kIndexVariable, map.range);
  for (const ast::ExprPtr& e : map.results) expression(e);
  expression(map.guard);
}

}  // namespace tdsl::frontend
