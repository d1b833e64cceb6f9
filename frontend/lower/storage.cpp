#include <algorithm>

#include "frontend/lower/index_statement.h"
#include "frontend/sema/storage.h"
#include "frontend/sema/walk.h"
#include "ir/graph/check.h"

namespace tdsl::frontend {

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
  if (const auto known = declared_.storages.find(s.name.name); known != declared_.storages.end()) {
    reports_.error(DiagnosticId::kRedeclaration, s.name.range, "the storage `" + s.name.name + "` is declared already",
                   {{known->second->name.range, "declared here"}});
    return;
  }
  declared_.storages[s.name.name] = &s;
  const auto require = [&](std::size_t given, std::size_t wanted, const SourceRange& range, const std::string& what) {
    if (given == wanted) return true;
    reports_.error(DiagnosticId::kBadStorage, range,
                   what + ": " + counted(given, "subscript") + ", but " + counted(wanted, "dimension"));
    declared_.refused.insert(s.name.name);
    return false;
  };
  const bool good =
      require(s.to.results.size(), s.extents.size(), s.to.range, "`to` leads to the stored tensor") &&
      require(s.from.indices.size(), s.extents.size(), s.from.range, "`from` begins at the stored tensor");
  if (good) require(s.from.results.size(), s.to.indices.size(), s.from.range, "`from` leads to where `to` begins");
}

StorageMap Lowerer::lower_storage_map(const ast::IndexMap& map, const std::vector<Extent>& shape) {
  StorageMap result;
  const Names::InScope scope(names_, Scope::Kind::kIndex);
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
  if (declared_.refused.contains(name)) throw Abandoned{};
  const auto found = declared_.storages.find(name);
  if (found == declared_.storages.end()) {
    std::vector<std::string> known;
    for (const auto& [other, s] : declared_.storages) known.push_back(other);
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
  const Names::InScope scope(names_, Scope::Kind::kFunction);
  for (std::size_t k = 0; k < s.parameters.size(); ++k) {
    const SymbolRef symbol = names_.declare(s.parameters[k], Symbol::Kind::kInline);
    symbol->lazy = scalar_tensor(expr_of(graph_.program(), arguments[k]));
    symbol->used = true;
  }
  for (const ast::ExprPtr& e : s.extents) {
    storage->stored.push_back(dimension_extent(*e));
    shapes_.require_size(storage->stored.back(),
                         "the size " + reports_.source_text(e->range) + " of the storage `" + name + "`",
                         written.range);
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
  graph_.emit_effect(ir::Assert{values_.materialise(all, "", storage.range), message, true}, storage.range);
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

Stored Lowerer::lower_stored_declaration(const ast::Target& target, const ast::Annotations& annotations,
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
    value = values_.converted_to(value, type->scalar, "`" + name + "`", definition.value->range);
    shapes_.require_shape(value, *type, "`" + name + "`", definition.value->range);
  }
  std::vector<Extent> shape;
  for (const Dim& d : value.shape) shape.push_back(d.extent);
  return values_.store(value, value.scalar(), lower_storage(*annotations.storage, type ? type->shape : shape), name,
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

Stored Lowerer::lower_stored_elements(const ast::Target& target, const ir::Type& type, const StorageRef& storage,
                                      const ast::Definition& definition, const SymbolRef& symbol) {
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
  values_.require_legal(s.result, target.name.name, target.range);
  const auto names = lone_names(target);
  const bool binds = names && std::ranges::none_of(*names, [&](const ast::Identifier& n) {
                       return symbol != nullptr && is_scalar_variable(n.name);
                     });
  if (symbol == nullptr && !binds)
    reports_.unsupported(target.range,
                         "other than different index variables on the left of a declaration with a storage is");
  const std::size_t outer_guards = guards_.size();
  const Names::InScope scope(names_, Scope::Kind::kIndex);
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
    names_.bind_symbol(names[d], id, logical[d], false);
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
