#include <algorithm>
#include <set>

#include "frontend/lower/state/values.h"
#include "frontend/sema/types.h"

// Tensors in user-defined storage. The value of such a name is the stored tensor (`Symbol::value`); its meaning is an
// expression, the guarded read of that tensor. So all composition of expressions works unchanged, and the graph has no
// value of the logical shape unless the program requires one.
namespace tdsl::frontend {

Tensor Values::stored_tensor(ValueId value, const StorageRef& storage, const std::string& name,
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

bool Values::reads_stored(const Expr& e) const {
  return ir::any_read(e, [&](const ir::Read& read) { return stored_values_.contains(read.tensor); });
}

ir::Type Values::logical_type(const Symbol& symbol) const {
  ir::Type type = graph_.program().type(symbol.value);
  if (symbol.storage) type.shape = symbol.storage->logical;
  return type;
}

Stored Values::value_of(const Tensor& t, const std::string& name, const SourceRange& range, const ir::Type* type) {
  if (const StoredWhole* whole = stored_whole(t); whole != nullptr && type == nullptr)
    return {whole->value, whole->storage};
  return {materialise(t, name, range, type)};
}

Stored Values::store(const Tensor& t, Scalar type, const StorageRef& storage, const std::string& name,
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

/// The body at the stored positions. A reduction that only this expression reads, element by element, is computed at
/// these positions alone: `let C: f64[n, n] storage banded(n, 2) = A @ A;` computes no n x n product.
Expr Values::stored_positions(const Tensor& t, const UserStorage& storage, const ComputeSpec& spec) {
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

/// The sum at `at` for every position of the storage.
ValueId Values::moved_reduction(ir::Compute reduction, const ir::Node& node, const std::vector<Expr>& at,
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

}  // namespace tdsl::frontend
