#include <algorithm>

#include "frontend/lower/index_statement.h"
#include "frontend/sema/storage.h"
#include "frontend/sema/walk.h"
#include "ir/graph/check.h"

namespace tdsl::frontend {

// User-defined storage. A name that is declared with one has the stored tensor as its value (`Symbol::value`); its
// meaning is an expression, the guarded read of that tensor. So everything that composes expressions works without
// more, and the graph never has a value of the logical shape unless the program asks for one.

using ir::BinaryOp;
using ir::Expr;
using ir::Extent;
using ir::Scalar;
using ir::ValueId;

namespace {

Expr equal_subscripts(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  Expr all;
  for (std::size_t d = 0; d < a.size(); ++d) all = both(all, ir::binary(BinaryOp::kEq, a[d], b[d]));
  return all;
}

}  // namespace

void Lowerer::declare_storage(const ast::Storage& s) {
  if (const auto known = storages_.find(s.name.name); known != storages_.end()) {
    reports_.error(DiagnosticId::kRedeclaration, s.name.range, "the storage `" + s.name.name + "` is declared already",
                   {{known->second->name.range, "declared here"}});
    return;
  }
  storages_[s.name.name] = &s;
  const auto require = [&](std::size_t given, std::size_t wanted, const SourceRange& range, const std::string& what) {
    if (given == wanted) return true;
    reports_.error(DiagnosticId::kBadStorage, range,
                   what + ": " + counted(given, "subscript") + ", but " + counted(wanted, "dimension"));
    refused_.insert(s.name.name);
    return false;
  };
  const bool good =
      require(s.to.results.size(), s.extents.size(), s.to.range, "`to` leads to the stored tensor") &&
      require(s.from.indices.size(), s.extents.size(), s.from.range, "`from` begins at the stored tensor");
  if (good) require(s.from.results.size(), s.to.indices.size(), s.from.range, "`from` leads to where `to` begins");
}

StorageMap Lowerer::lower_storage_map(const ast::IndexMap& map, const std::vector<Extent>& shape) {
  StorageMap result;
  const ScopeGuard scope(*this, Scope::Kind::kIndex);
  for (std::size_t d = 0; d < map.indices.size(); ++d) {
    result.indices.push_back(bind_index(map.indices[d]));
    LabelInfo& label = graph_.label(result.indices.back());
    label.end = shape[d];
    label.resolved = true;
  }
  const auto require_plain = [&](const Expr& e, const SourceRange& range) {
    ir::for_each_node(e, [&](const ir::ExprNode& node) {
      const auto* read = std::get_if<ir::Read>(&node.op);
      if (read != nullptr && !read->subscripts.empty())
        reports_.fail(DiagnosticId::kBadStorage, range,
                      "a storage map is computed from its index names, the storage's parameters and params only");
    });
  };
  for (const ast::ExprPtr& e : map.results) {
    result.results.push_back(integer_scalar(*e, "a storage map"));
    require_plain(result.results.back(), e->range);
  }
  if (map.guard) {
    result.guard = condition(*map.guard, "a guard");
    require_plain(result.guard, map.guard->range);
  }
  return result;
}

StorageRef Lowerer::lower_storage(const ast::StorageAnnotation& written, std::vector<Extent> shape) {
  const std::string& name = written.name.name;
  if (refused_.contains(name)) throw Abandoned{};
  const auto found = storages_.find(name);
  if (found == storages_.end()) {
    std::vector<std::string> known;
    for (const auto& [other, s] : storages_) known.push_back(other);
    reports_.fail(DiagnosticId::kUndefinedStorage, written.name.range,
                  "there is no storage `" + name + "`" + did_you_mean(name, known));
  }
  const ast::Storage& s = *found->second;
  const Reports::Notes declared = {{s.name.range, "declared here"}};
  if (written.arguments.size() != s.parameters.size()) {
    reports_.fail(DiagnosticId::kBadArgument, written.range,
                  "the storage `" + name + "` takes " + counted(s.parameters.size(), "argument") + ", but " +
                      std::to_string(written.arguments.size()) +
                      (written.arguments.size() == 1 ? " is given" : " are given"),
                  declared);
  }
  if (shape.size() != s.to.indices.size()) {
    reports_.fail(DiagnosticId::kRankMismatch, written.range,
                  "the storage `" + name + "` is for tensors of " + counted(s.to.indices.size(), "dimension") +
                      ", but this one has " + std::to_string(shape.size()),
                  declared);
  }
  std::vector<Extent> arguments;
  for (std::size_t k = 0; k < s.parameters.size(); ++k) {
    const Expr value = integer_scalar(*written.arguments[k], "an argument of a storage");
    arguments.push_back(graph_.extent_of(value, s.parameters[k].name));
  }
  auto storage = std::make_shared<UserStorage>();
  storage->text = reports_.source_text(written.name.range.to(written.range));
  storage->range = written.range;
  storage->logical = std::move(shape);
  // As a function's: its own names, params and functions.
  const Restored<Dimensions> outer(dimensions(), {});
  const ScopeGuard scope(*this, Scope::Kind::kFunction, global_scope_);
  for (std::size_t k = 0; k < s.parameters.size(); ++k) {
    const SymbolRef symbol = declare(s.parameters[k], Symbol::Kind::kInline);
    symbol->lazy = scalar_tensor(expr_of(graph_.program(), arguments[k]));
    symbol->used = true;
  }
  for (const ast::ExprPtr& e : s.extents) {
    storage->stored.push_back(dimension_extent(*e));
    require_size(storage->stored.back(),
                 "the size " + reports_.source_text(e->range) + " of the storage `" + name + "`", written.range);
  }
  storage->to = lower_storage_map(s.to, storage->logical);
  storage->from = lower_storage_map(s.from, storage->stored);
  check_storage(s, *storage);
  return storage;
}

void Lowerer::check_storage(const ast::Storage& s, const UserStorage& storage) {
  std::vector<Expr> own;
  for (const std::int32_t id : storage.from.indices) own.push_back(ir::index_ref(id));
  const std::vector<Expr> back = storage.to.at(storage.from.results);
  const std::string message =
      "the storage `" + s.name.name +
      "` keeps elements elsewhere than it looks for them: `to` does not lead back to where `from` begins";
  bool proven = true;
  for (std::size_t d = 0; d < own.size(); ++d) {
    const auto way = ir::affine_in_labels(sub(back[d], own[d]), graph_.value_extent());
    const auto constant = way && way->coefficients.empty() ? way->offset.constant() : std::nullopt;
    if (constant.value_or(0) != 0) {
      reports_.fail(DiagnosticId::kBadStorage, s.from.range, message,
                    {{s.to.results[d]->range,
                      "where `to` gives " + std::to_string(*constant) + " more in dimension " + std::to_string(d)},
                     {storage.range, "used here"}});
    }
    proven = proven && constant.has_value();
  }
  if (proven) return;
  // Where one of the guards does not hold nothing is kept, or nothing is looked for.
  const Expr kept = both(storage.from.guard, storage.to.guard ? storage.to.guard_at(storage.from.results) : Expr());
  const Expr right = equal_subscripts(back, own);
  const Expr body = kept ? ir::select(kept, right, ir::constant(Scalar::kBool, true)) : right;
  ComputeSpec spec;
  spec.reduce = storage.from.indices;
  spec.name = s.name.name + "_is_right";
  spec.range = storage.range;
  const Tensor all = reduce({Reducer::kAll, {}, Scalar::kBool}, std::move(spec), scalar_tensor(body), {});
  graph_.emit_effect(ir::Assert{materialise(all, "", storage.range), message, true}, storage.range);
}

Tensor Lowerer::stored_tensor(ValueId value, const StorageRef& storage, const std::string& name,
                              const SourceRange& range) {
  Tensor t;
  t.range = range;
  std::vector<Expr> subscripts;
  for (std::size_t d = 0; d < storage->logical.size(); ++d) {
    t.labels.push_back(graph_.new_label());
    t.shape.push_back({storage->logical[d], dimension_text(d, storage->logical.size(), name), range});
    subscripts.push_back(ir::index_ref(t.labels.back()));
  }
  const Scalar type = graph_.program().type(value).scalar;
  t.body = stored_element(*storage, type, value, subscripts, range);
  if (t.body->type != Scalar::kBool && storage->to.guard) graph_.note_sparse();
  t.stored = std::make_shared<const StoredWhole>(StoredWhole{value, storage, t.labels, t.body});
  stored_values_.insert(value);
  return t;
}

Expr Lowerer::inside_of_storage(const Expr& e, const ast::Subscript& s, const std::vector<Expr>& subscripts,
                                const Tensor& base) {
  Expr inside;
  for (std::size_t d = 0; d < subscripts.size(); ++d) {
    const Extent& extent = base.shape[d].extent;
    const auto* index = std::get_if<ir::IndexRef>(&subscripts[d]->op);
    const auto constant = integer_constant(subscripts[d]);
    const auto room = constant ? (extent - Extent(*constant)).constant() : std::nullopt;
    const bool known =
        (index != nullptr && stays_inside(graph_.label(index->label), extent)) || (room && *constant >= 0 && *room > 0);
    if (known || std::holds_alternative<ast::SliceSubscript>(s.items[d].node)) continue;
    inside = both(inside, ir::binary(BinaryOp::kLe, ir::constant_i64(0), subscripts[d]));
    inside = both(inside, ir::binary(BinaryOp::kLt, subscripts[d], expr_of(graph_.program(), extent)));
  }
  if (!inside) return e;
  graph_.note_sparse();
  return absent_outside(inside, e, e->range);
}

bool Lowerer::reads_stored(const Expr& e) const {
  bool found = false;
  ir::for_each_node(e, [&](const ir::ExprNode& node) {
    const auto* read = std::get_if<ir::Read>(&node.op);
    found = found || (read != nullptr && stored_values_.contains(read->tensor));
  });
  return found;
}

ir::Type Lowerer::logical_type(const Symbol& symbol) const {
  ir::Type type = graph_.program().type(symbol.value);
  if (symbol.storage) type.shape = symbol.storage->logical;
  return type;
}

/// The body at the positions that are kept. A reduction that nothing but this expression reads, element by element, is
/// computed at them alone: `let C: f64[n, n] storage banded(n, 2) = A @ A;` makes no product of n by n.
Expr Lowerer::stored_positions(const Tensor& t, const UserStorage& storage, const ComputeSpec& spec) {
  std::vector<Expr> positions;
  for (const std::int32_t id : spec.out) positions.push_back(ir::index_ref(id));
  const std::vector<Expr> logical = storage.from.at(positions);
  const auto is_each_label = [&](const ir::Read& read) {
    std::set<std::int32_t> seen;
    for (const Expr& s : read.subscripts) {
      const auto* index = std::get_if<ir::IndexRef>(&s->op);
      if (index == nullptr || std::ranges::find(t.labels, index->label) == t.labels.end() ||
          !seen.insert(index->label).second)
        return false;
    }
    return seen.size() == t.rank() && t.rank() > 0;
  };
  Tensor kept = t;
  kept.body = ir::rewrite(t.body, [&](const Expr& part) {
    const auto* read = std::get_if<ir::Read>(&part->op);
    if (read == nullptr || !temporaries_.contains(read->tensor) || !is_each_label(*read)) return part;
    const ir::Node* node = graph_.definition(read->tensor);
    const auto* reduction = node == nullptr ? nullptr : std::get_if<ir::Compute>(&node->op);
    const bool moves = reduction != nullptr && reduction->monoid && reduction->monoid->kind == ir::Monoid::Kind::kSum &&
                       reduction->left.empty() && !reduction->base && !reduction->combine && !reduction->fill &&
                       reduction->bodies.size() == 1;
    if (!moves) return part;
    LabelMap places;
    for (std::size_t d = 0; d < t.rank(); ++d) places.emplace(t.labels[d], logical[d]);
    std::vector<Expr> at;
    for (const Expr& s : read->subscripts) at.push_back(substitute(s, places));
    return ir::read(part->type, moved_reduction(*reduction, *node, at, storage, spec), positions, part->range);
  });
  return element(kept, logical);
}

/// The sum at `at` for every position that the storage keeps.
ValueId Lowerer::moved_reduction(ir::Compute reduction, const ir::Node& node, const std::vector<Expr>& at,
                                 const UserStorage& storage, const ComputeSpec& spec) {
  ComputeSpec moved;
  moved.out = spec.out;
  LabelMap places;
  for (std::size_t d = 0; d < at.size(); ++d) places.emplace(static_cast<std::int32_t>(d), at[d]);
  for (std::size_t r = 0; r < reduction.reduce.size(); ++r) {
    const std::int32_t id = graph_.new_label(reduction.reduce[r].name);
    LabelInfo& label = graph_.label(id);
    label.begin = reduction.reduce[r].begin;
    label.end = reduction.reduce[r].end;
    label.resolved = true;
    moved.reduce.push_back(id);
    places.emplace(static_cast<std::int32_t>(at.size() + r), ir::index_ref(id));
  }
  moved.body = substitute(reduction.bodies[0], places);
  moved.guard = both(spec.guard, substitute(reduction.guard, places));
  moved.monoid = reduction.monoid;
  moved.type = {graph_.program().type(node.results[0]).scalar, storage.stored, {}};
  moved.storage_given = true;
  moved.range = node.range;
  return graph_.emit(moved);
}

Lowerer::Stored Lowerer::store(const Tensor& t, Scalar type, const StorageRef& storage, const std::string& name,
                               const SourceRange& range) {
  require_not_padded(t);
  const StoredWhole* whole = stored_whole(t);
  if (whole != nullptr && graph_.program().type(whole->value).scalar == type && same_storage(*whole->storage, *storage))
    return {whole->value, storage};
  ComputeSpec spec;
  std::vector<Expr> positions;
  for (const Extent& e : storage->stored) {
    spec.out.push_back(graph_.new_label(e));
    positions.push_back(ir::index_ref(spec.out.back()));
  }
  spec.guard = storage->from.guard_at(positions);
  graph_.flush();
  spec.body = converted(stored_positions(t, *storage, spec), type);
  spec.type = {type, storage->stored, {}};
  spec.storage_given = true;
  spec.name = name;
  spec.range = range;
  require_legal(spec.type, name, range);
  for (const std::int32_t id : labels_of(spec.body)) {
    if (std::ranges::find(spec.out, id) == spec.out.end())
      reports_.fail(DiagnosticId::kNotScalar, range,
                    "this depends on the index variable `" + graph_.label(id).name + "`; only scalars may do so here");
  }
  graph_.flush();
  check_bounds(spec);
  return {graph_.emit(spec), storage};
}

Lowerer::Stored Lowerer::lower_stored_declaration(const ast::Target& target, const ast::Annotations& annotations,
                                                  const ast::Definition& definition) {
  const std::string& name = target.name.name;
  std::optional<ir::Type> type;
  if (annotations.type) {
    type = lower_type(*annotations.type);
    require_sizes(*annotations.type, *type);
    if (type->has_sparse())
      reports_.unsupported(annotations.storage->range, "a storage of a type with sparse dimensions is");
  }
  if (target.subscripts) {
    if (!type)
      reports_.fail(DiagnosticId::kUnknownExtent, annotations.storage->range,
                    "a storage needs the sizes of the tensor here; declare them: " + name + "[…]: f64[n, …] storage …");
    return lower_stored_elements(target, *type, lower_storage(*annotations.storage, type->shape), definition, nullptr);
  }
  require_no_suffixes(definition.suffixes);
  if (definition.op.kind != ast::AssignKind::kSet)
    reports_.fail(DiagnosticId::kImmutable, definition.op.range,
                  "a whole tensor is declared with =; op= needs index variables or an earlier var");
  Tensor value = lower(*definition.value);
  if (type) {
    value = converted_to(value, type->scalar, "`" + name + "`", definition.value->range);
    require_shape(value, *type, "`" + name + "`", definition.value->range);
  }
  std::vector<Extent> shape;
  for (const Dim& d : value.shape) shape.push_back(d.extent);
  return store(value, value.scalar(), lower_storage(*annotations.storage, type ? type->shape : shape), name,
               target.range);
}

namespace {

/// The names on the left if they are nothing but that, each of them once.
std::optional<std::vector<ast::Identifier>> lone_names(const ast::Target& target) {
  std::vector<ast::Identifier> names;
  for (const ast::SubscriptItem& item : *target.subscripts) {
    const auto* index = std::get_if<ast::IndexSubscript>(&item.node);
    const std::string* name = index == nullptr ? nullptr : bare_name(*index->value);
    if (name == nullptr ||
        std::ranges::any_of(names, [&](const ast::Identifier& other) { return other.name == *name; }))
      return std::nullopt;
    names.push_back({*name, index->value->range});
  }
  return names;
}

}  // namespace

Lowerer::Stored Lowerer::lower_stored_elements(const ast::Target& target, const ir::Type& type,
                                               const StorageRef& storage, const ast::Definition& definition,
                                               const SymbolRef& symbol) {
  IndexStatement s;
  s.op = definition.op;
  s.target = symbol;
  s.type = type;
  s.result = {type.scalar, storage->stored, {}};
  if (type.rank() != target.subscripts->size()) {
    reports_.fail(DiagnosticId::kRankMismatch, target.range,
                  target.name.name + " is " + graph_.text(type) + ", but " +
                      counted(target.subscripts->size(), "subscript") +
                      (target.subscripts->size() == 1 ? " is given" : " are given"));
  }
  require_legal(s.result, target.name.name, target.range);
  const auto names = lone_names(target);
  const bool binds = names && std::ranges::none_of(*names, [&](const ast::Identifier& n) {
                       return symbol != nullptr && is_scalar_variable(n.name);
                     });
  if (symbol == nullptr && !binds)
    reports_.unsupported(target.range,
                         "other than different index variables on the left of a declaration with a storage is");
  const std::size_t outer_guards = guards_.size();
  const ScopeGuard scope(*this, Scope::Kind::kIndex);
  if (binds) {
    bind_stored_positions(s, *names, target, *storage, definition);
  } else {
    begin_index_statement(s, target, definition);
    if (const Expr inside = storage->to.guard_at(s.left)) guards_.add(inside);
    s.left = storage->to.at(s.left);
    s.lone.assign(s.left.size(), -1);
  }
  lower_right_side(s, definition);
  s.guard = guards_.take(outer_guards);
  return {emit_index_statement(s, target.name.name, target.range), storage};
}

void Lowerer::bind_stored_positions(IndexStatement& s, const std::vector<ast::Identifier>& names,
                                    const ast::Target& target, const UserStorage& storage,
                                    const ast::Definition& definition) {
  // One label per stored dimension; the names on the left are where `from` leads.
  for (std::size_t d = 0; d < storage.stored.size(); ++d) {
    const std::int32_t id = graph_.new_label(storage.stored[d]);
    graph_.label(id).is_explicit = true;
    s.labels.push_back(id);
    s.lone.push_back(id);
    s.left.push_back(ir::index_ref(id));
  }
  const std::vector<Expr> logical = storage.from.at(s.left);
  if (const Expr inside = storage.from.guard_at(s.left)) guards_.add(inside);
  for (std::size_t d = 0; d < names.size(); ++d) {
    // Nothing runs over this label: it collects the dimensions where the name stands bare.
    const std::int32_t id = graph_.new_label(names[d].name, names[d].range);
    graph_.label(id).bare_uses.push_back(
        {{s.type->shape[d], dimension_text(d, s.type->rank(), target.name.name), target.name.range}, names[d].range});
    s.collected.push_back(id);
    bind_symbol(names[d], id, logical[d], false);
  }
  if (!definition.suffixes.loop) return;
  for (const ast::IndexRange& r : definition.suffixes.loop->ranges) {
    const auto same = std::ranges::find(names, r.name.name, &ast::Identifier::name);
    if (same == names.end()) {
      bind_range(r.name, r.lower, r.upper, r.step, s.labels);
      continue;
    }
    if (r.step) reports_.unsupported(r.range, "a range with a step of what a storage keeps is");
    const Expr& value = logical[static_cast<std::size_t>(same - names.begin())];
    const Expr lower = integer_scalar(*r.lower, "a range's begin");
    const Expr upper = integer_scalar(*r.upper, "a range's end");
    guards_.add(
        both(ir::binary(BinaryOp::kLe, lower, value, r.range), ir::binary(BinaryOp::kLt, value, upper, r.range)));
  }
}

}  // namespace tdsl::frontend
