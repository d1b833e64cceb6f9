#include "frontend/lower/lowering.h"

#include <algorithm>

#include "frontend/sema/storage.h"
#include "frontend/sema/walk.h"
#include "ir/graph/check.h"

namespace tdsl::frontend {

namespace {

Expr equal_subscripts(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  Expr all;
  for (std::size_t d = 0; d < a.size(); ++d) all = both(all, ir::binary(BinaryOp::kEq, a[d], b[d]));
  return all;
}

}  // namespace

void declare_storage(Reports& reports, Declarations& declared, const ast::Storage& s) {
  if (const auto known = declared.storages.find(s.name.name); known != declared.storages.end()) {
    reports.error(DiagnosticId::kRedeclaration, s.name.range, "the storage `" + s.name.name + "` is declared already",
                  {{known->second->name.range, "declared here"}});
    return;
  }
  declared.storages[s.name.name] = &s;
  const auto require = [&](std::size_t given, std::size_t wanted, const SourceRange& range, const std::string& what) {
    if (given == wanted) return true;
    reports.error(DiagnosticId::kBadStorage, range,
                  what + ": " + counted(given, "subscript") + ", but " + counted(wanted, "dimension"));
    declared.refused.insert(s.name.name);
    return false;
  };
  const bool good =
      require(s.to.results.size(), s.extents.size(), s.to.range, "`to` leads to the stored tensor") &&
      require(s.from.indices.size(), s.extents.size(), s.from.range, "`from` begins at the stored tensor");
  if (good) require(s.from.results.size(), s.to.indices.size(), s.from.range, "`from` leads to where `to` begins");
}

namespace {

/// Index arrays and other variables of the program are not visible in a storage map.
void refuse_variables(Lowerer& lowerer, const ast::Expr& map) {
  for_each_expr(map, [&](const ast::Expr& e) {
    const std::string* name = bare_name(e);
    const SymbolRef global = name == nullptr || lowerer.names.find(*name) ? nullptr : lowerer.names.find_global(*name);
    if (global && (global->kind == Symbol::Kind::kInput || global->kind == Symbol::Kind::kLet ||
                   global->kind == Symbol::Kind::kVar))
      lowerer.reports.unsupported(e.range, "a storage map that reads `" + *name +
                                               "`, which is neither a parameter of the storage nor a param, is");
  });
}

StorageMap lower_storage_map(Lowerer& lowerer, const ast::IndexMap& map, const std::vector<Extent>& shape) {
  StorageMap result;
  const Names::InScope scope(lowerer.names, Scope::Kind::kIndex);
  for (std::size_t d = 0; d < map.indices.size(); ++d) {
    result.indices.push_back(bind_index(lowerer.graph, lowerer.names, map.indices[d]));
    LabelInfo& label = lowerer.graph.label(result.indices.back());
    label.end = shape[d];
    label.resolved = true;
  }
  const auto require_plain = [&](const Expr& e, const SourceRange& range) {
    ir::for_each_node(e, [&](const ir::ExprNode& node) {
      const auto* read = std::get_if<ir::Read>(&node.op);
      if (read != nullptr && !read->subscripts.empty())
        lowerer.reports.fail(
            DiagnosticId::kBadStorage, range,
            "a storage map is computed from its index names, the storage's parameters and params only");
    });
  };
  for (const ast::ExprPtr& e : map.results) refuse_variables(lowerer, *e);
  if (map.guard) refuse_variables(lowerer, *map.guard);
  for (const ast::ExprPtr& e : map.results) {
    result.results.push_back(integer_scalar(lowerer, *e, "a storage map"));
    require_plain(result.results.back(), e->range);
  }
  if (map.guard) {
    result.guard = condition(lowerer, *map.guard, "a guard");
    require_plain(result.guard, map.guard->range);
  }
  return result;
}

/// Checks that `to` inverts `from`: statically, or by a run-time check where the storage is used.
void check_storage(Lowerer& lowerer, const ast::Storage& s, const UserStorage& storage) {
  std::vector<Expr> own;
  for (const std::int32_t id : storage.from.indices) own.push_back(ir::index_ref(id));
  const std::vector<Expr> back = storage.to.at(storage.from.results);
  const std::string message =
      "the storage `" + s.name.name + "` keeps elements elsewhere than it looks for them: `to` does not invert `from`";
  bool proven = true;
  for (std::size_t d = 0; d < own.size(); ++d) {
    const auto way = ir::affine_in_labels(sub(back[d], own[d]), lowerer.graph.value_extent());
    const auto constant = way && way->coefficients.empty() ? way->offset.constant() : std::nullopt;
    if (constant.value_or(0) != 0) {
      lowerer.reports.fail(DiagnosticId::kBadStorage, s.from.range, message,
                           {{s.to.results[d]->range, "where `to` gives " + std::to_string(*constant) +
                                                         " more in dimension " + std::to_string(d)},
                            {storage.range, "used here"}});
    }
    proven = proven && constant.has_value();
  }
  if (proven) return;
  // Elements outside either guard are not stored or not read.
  const Expr kept = both(storage.from.guard, storage.to.guard ? storage.to.guard_at(storage.from.results) : Expr());
  const Expr right = equal_subscripts(back, own);
  const Expr body = kept ? ir::select(kept, right, ir::constant(Scalar::kBool, true)) : right;
  ComputeSpec spec;
  spec.reduce = storage.from.indices;
  spec.name = s.name.name + "_is_right";
  spec.range = storage.range;
  const Tensor all =
      lowerer.algebra.reduce({Reducer::kAll, {}, Scalar::kBool}, std::move(spec), scalar_tensor(body), {});
  lowerer.graph.emit_effect(ir::Assert{lowerer.values.materialise(all, "", storage.range), message, true},
                            storage.range);
}

}  // namespace

StorageRef lower_storage(Lowerer& lowerer, const ast::StorageAnnotation& written, std::vector<Extent> shape,
                         ir::Scalar scalar) {
  if (ir::is_half(scalar))
    lowerer.reports.unsupported(written.range, "a storage of " + std::string(ir::name_of(scalar)) + " is");
  const std::string& name = written.name.name;
  if (lowerer.declared.refused.contains(name)) throw Abandoned{};
  const auto found = lowerer.declared.storages.find(name);
  if (found == lowerer.declared.storages.end()) {
    std::vector<std::string> known;
    for (const auto& [other, s] : lowerer.declared.storages) known.push_back(other);
    lowerer.reports.fail(DiagnosticId::kUndefinedStorage, written.name.range,
                         "there is no storage `" + name + "`" + did_you_mean(name, known));
  }
  const ast::Storage& s = *found->second;
  const Reports::Notes declared = {{s.name.range, "declared here"}};
  if (written.arguments.size() != s.parameters.size()) {
    lowerer.reports.fail(DiagnosticId::kBadArgument, written.range,
                         "the storage `" + name + "` takes " + counted(s.parameters.size(), "argument") + ", but " +
                             std::to_string(written.arguments.size()) +
                             (written.arguments.size() == 1 ? " is given" : " are given"),
                         declared);
  }
  if (shape.size() != s.to.indices.size()) {
    lowerer.reports.fail(DiagnosticId::kRankMismatch, written.range,
                         "the storage `" + name + "` is for tensors of " + counted(s.to.indices.size(), "dimension") +
                             ", but this one has " + std::to_string(shape.size()),
                         declared);
  }
  std::vector<Extent> arguments;
  for (std::size_t k = 0; k < s.parameters.size(); ++k) {
    const Expr value = integer_scalar(lowerer, *written.arguments[k], "an argument of a storage");
    arguments.push_back(lowerer.graph.extent_of(value, s.parameters[k].name));
  }
  auto storage = std::make_shared<UserStorage>();
  storage->text = lowerer.reports.source_text(written.name.range.to(written.range));
  storage->range = written.range;
  storage->logical = std::move(shape);
  // Scope of a storage, like that of a function: own names, params and functions.
  const Restored<Dimensions> outer(lowerer.dimensions(), {});
  const Names::InScope scope(lowerer.names, Scope::Kind::kFunction);
  for (std::size_t k = 0; k < s.parameters.size(); ++k) {
    const SymbolRef symbol = lowerer.names.declare(s.parameters[k], Symbol::Kind::kInline);
    symbol->lazy = scalar_tensor(expr_of(lowerer.graph.program(), arguments[k]));
    symbol->used = true;
  }
  for (const ast::ExprPtr& e : s.extents) {
    storage->stored.push_back(dimension_extent(lowerer, *e));
    lowerer.shapes.require_size(storage->stored.back(),
                                "the size " + lowerer.reports.source_text(e->range) + " of the storage `" + name + "`",
                                written.range);
  }
  storage->to = lower_storage_map(lowerer, s.to, storage->logical);
  storage->from = lower_storage_map(lowerer, s.from, storage->stored);
  check_storage(lowerer, s, *storage);
  return storage;
}

Expr inside_of_storage(GraphBuilder& graph, const Expr& e, const std::vector<ast::SubscriptItem>& items,
                       const std::vector<Expr>& subscripts, const Tensor& base) {
  Expr inside;
  for (std::size_t d = 0; d < subscripts.size(); ++d) {
    const Extent& extent = base.shape[d].extent;
    const auto* index = std::get_if<ir::IndexRef>(&subscripts[d]->op);
    const auto constant = integer_constant(subscripts[d]);
    const auto room = constant ? (extent - Extent(*constant)).constant() : std::nullopt;
    const bool known =
        (index != nullptr && stays_inside(graph.label(index->label), extent)) || (room && *constant >= 0 && *room > 0);
    if (known || std::holds_alternative<ast::SliceSubscript>(items[d].node)) continue;
    inside = both(inside, ir::binary(BinaryOp::kLe, ir::constant_i64(0), subscripts[d]));
    inside = both(inside, ir::binary(BinaryOp::kLt, subscripts[d], expr_of(graph.program(), extent)));
  }
  if (!inside) return e;
  graph.note_sparse();
  return absent_outside(inside, e, e->range);
}

Stored lower_stored_declaration(Lowerer& lowerer, const ast::Target& target, const ast::Annotations& annotations,
                                const ast::Definition& definition) {
  const std::string& name = target.name.name;
  std::optional<ir::Type> type;
  if (annotations.type) {
    type = lower_type(lowerer, *annotations.type);
    require_sizes(lowerer.reports, lowerer.shapes, *annotations.type, *type);
    if (type->has_sparse())
      lowerer.reports.unsupported(annotations.storage->range, "a storage of a type with sparse dimensions is");
  }
  if (target.subscripts) {
    if (!type)
      lowerer.reports.fail(
          DiagnosticId::kUnknownExtent, annotations.storage->range,
          "a storage needs the sizes of the tensor here; declare them: " + name + "[…]: f64[n, …] storage …");
    return lower_stored_elements(lowerer, target, *type,
                                 lower_storage(lowerer, *annotations.storage, type->shape, type->scalar), definition,
                                 nullptr);
  }
  require_no_suffixes(lowerer.reports, definition.suffixes);
  if (definition.op.kind != ast::AssignKind::kSet)
    lowerer.reports.fail(DiagnosticId::kImmutable, definition.op.range,
                         "a whole tensor is declared with =; op= needs index variables or an earlier var");
  Tensor value = lower(lowerer, *definition.value);
  if (type) {
    value = lowerer.values.converted_to(value, type->scalar, "`" + name + "`", definition.value->range);
    lowerer.shapes.require_shape(value, *type, "`" + name + "`", definition.value->range);
  }
  std::vector<Extent> shape;
  for (const Dim& d : value.shape) shape.push_back(d.extent);
  return lowerer.values.store(value, value.scalar(),
                              lower_storage(lowerer, *annotations.storage, type ? type->shape : shape, value.scalar()),
                              name, target.range);
}

namespace {

/// The names on the left if the subscripts are distinct bare names, else nullopt.
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

void bind_stored_positions(Lowerer& lowerer, IndexStatement& s, const std::vector<ast::Identifier>& names,
                           const ast::Target& target, const UserStorage& storage, const ast::Definition& definition) {
  // One label per stored dimension; `from` maps them to the names on the left.
  for (std::size_t d = 0; d < storage.stored.size(); ++d) {
    const std::int32_t id = lowerer.graph.new_label(storage.stored[d]);
    lowerer.graph.label(id).is_explicit = true;
    s.labels.push_back(id);
    s.lone.push_back(id);
    s.left.push_back(ir::index_ref(id));
  }
  const std::vector<Expr> logical = storage.from.at(s.left);
  if (const Expr inside = storage.from.guard_at(s.left)) lowerer.guards.add(inside);
  for (std::size_t d = 0; d < names.size(); ++d) {
    // This label is not iterated: it collects the dimensions in which the name is a bare subscript.
    const std::int32_t id = lowerer.graph.new_label(names[d].name, names[d].range);
    lowerer.graph.label(id).bare_uses.push_back(
        {{s.type->shape[d], dimension_text(d, s.type->rank(), target.name.name), target.name.range},
         names[d].range,
         true});
    s.collected.push_back(id);
    lowerer.names.bind_symbol(names[d], id, logical[d], false);
  }
  if (!definition.suffixes.loop) return;
  for (const ast::IndexRange& r : definition.suffixes.loop->ranges) {
    const auto same = std::ranges::find(names, r.name.name, &ast::Identifier::name);
    if (same == names.end()) {
      bind_range(lowerer, r.name, r.lower, r.upper, r.step, s.labels);
      continue;
    }
    if (r.step)
      lowerer.reports.unsupported(r.range, "a range with a step over a dimension of a name with a storage is");
    const Expr& value = logical[static_cast<std::size_t>(same - names.begin())];
    const Expr lower = integer_scalar(lowerer, *r.lower, "a range's begin");
    const Expr upper = integer_scalar(lowerer, *r.upper, "a range's end");
    lowerer.guards.add(
        both(ir::binary(BinaryOp::kLe, lower, value, r.range), ir::binary(BinaryOp::kLt, value, upper, r.range)));
  }
}

}  // namespace

Stored lower_stored_elements(Lowerer& lowerer, const ast::Target& target, const ir::Type& type,
                             const StorageRef& storage, const ast::Definition& definition, const SymbolRef& symbol) {
  IndexStatement s;
  s.op = definition.op;
  s.target = symbol;
  s.type = type;
  s.result = {type.scalar, storage->stored, {}};
  if (type.rank() != target.subscripts->size()) {
    lowerer.reports.fail(DiagnosticId::kRankMismatch, target.range,
                         target.name.name + " is " + lowerer.graph.text(type) + ", but " +
                             counted(target.subscripts->size(), "subscript") +
                             (target.subscripts->size() == 1 ? " is given" : " are given"));
  }
  lowerer.values.require_legal(s.result, target.name.name, target.range);
  const auto names = lone_names(target);
  const bool binds = names && std::ranges::none_of(*names, [&](const ast::Identifier& n) {
                       return symbol != nullptr && is_scalar_variable(lowerer.graph, lowerer.names, n.name);
                     });
  if (symbol == nullptr && !binds)
    lowerer.reports.unsupported(target.range,
                                "other than different index variables on the left of a declaration with a storage is");
  const std::size_t outer_guards = lowerer.guards.size();
  const Names::InScope scope(lowerer.names, Scope::Kind::kIndex);
  if (binds) {
    bind_stored_positions(lowerer, s, *names, target, *storage, definition);
  } else {
    begin_index_statement(lowerer, s, target, definition);
    if (const Expr inside = storage->to.guard_at(s.left)) lowerer.guards.add(inside);
    s.left = storage->to.at(s.left);
    s.lone.assign(s.left.size(), -1);
  }
  lower_right_side(lowerer, s, definition);
  s.guard = lowerer.guards.take(outer_guards);
  return {emit_index_statement(lowerer, s, target.name.name, target.range), storage};
}

}  // namespace tdsl::frontend
