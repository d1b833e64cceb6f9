#include "frontend/lower/index_statement.h"

#include <algorithm>

#include "frontend/sema/walk.h"
#include "ir/graph/check.h"

namespace tdsl::frontend {

using ir::BinaryOp;
using ir::Expr;
using ir::Extent;
using ir::Monoid;
using ir::Scalar;
using ir::ValueId;

namespace {

const ast::Expr* index_of(const ast::SubscriptItem& item) {
  const auto* index = std::get_if<ast::IndexSubscript>(&item.node);
  return index == nullptr ? nullptr : index->value.get();
}

/// `n` of `e % n` and `mod(e, n)`: the size of a dimension subscripted so.
const ast::Expr* modulus(const ast::Expr& e) {
  if (const auto* b = std::get_if<ast::Binary>(&e.node)) return b->op == ast::BinaryOp::kMod ? b->rhs.get() : nullptr;
  const auto* call = std::get_if<ast::Call>(&e.node);
  if (call == nullptr || call->callee.name != "mod" || call->arguments.size() != 2) return nullptr;
  return call->arguments[1].value.get();
}

}  // namespace

void Lowerer::bind_left(IndexStatement& s, const ast::Target& target) {
  // Names in longer subscripts keep their meaning when they have one, whether or not other subscripts bind them.
  const auto known = [&](const std::string& name) {
    return names_.find(name) != nullptr || dimensions().contains(name);
  };
  const auto bound = [&](const std::string& name) {
    const SymbolRef found = names_.find_here(name);
    return found && found->kind == Symbol::Kind::kIndex;
  };
  std::vector<std::int32_t> from_left;
  for (const ast::SubscriptItem& item : *target.subscripts) {
    const ast::Expr* e = index_of(item);
    if (e == nullptr) {
      reports_.fail(DiagnosticId::kSliceInIndex, item.range,
                    "a declaration's left side has index variables, not slices; slices of a var can be assigned");
    }
    const std::string* name = bare_name(*e);
    if (name == nullptr || bound(*name)) continue;
    if (s.target != nullptr && is_scalar_variable(*name)) continue;
    from_left.push_back(bind_index({*name, e->range}));
  }
  for (const ast::SubscriptItem& item : *target.subscripts) {
    const ast::Expr* e = index_of(item);
    if (bare_name(*e) != nullptr) continue;
    for_each_expr(*e, [&](const ast::Expr& part) {
      const auto* subscript = std::get_if<ast::Subscript>(&part.node);
      const std::string* tensor = subscript == nullptr ? nullptr : bare_name(*subscript->base);
      if (tensor == nullptr || bound(*tensor) || known(*tensor)) return;
      reports_.fail(DiagnosticId::kUndefinedName, subscript->base->range,
                    "`" + *tensor + "` is not declared; " + *tensor +
                        "[…] on the left subscripts a tensor that must be in scope" +
                        did_you_mean(*tensor, names_.visible()));
    });
    for (const ast::Identifier& name : unbound_names(*e)) {
      if (!bound(name.name) && !known(name.name)) from_left.push_back(bind_index(name));
    }
  }
  std::ranges::stable_sort(from_left, {}, [this](std::int32_t id) {
    return std::pair{graph_.label(id).range.line, graph_.label(id).range.column};
  });
  s.labels.insert(s.labels.begin(), from_left.begin(), from_left.end());
}

void Lowerer::lower_left(IndexStatement& s, const ast::Target& target) {
  for (std::size_t d = 0; d < target.subscripts->size(); ++d) {
    const ast::Expr& e = *index_of((*target.subscripts)[d]);
    const std::string* name = bare_name(e);
    const SymbolRef symbol = name == nullptr ? nullptr : names_.find(*name);
    const bool alone = symbol && symbol->kind == Symbol::Kind::kIndex && symbol->is_label;
    s.lone.push_back(alone ? symbol->label : -1);
    if (alone) {
      symbol->used = true;
      s.left.push_back(ir::index_ref(symbol->label, e.range));
      if (s.type)
        graph_.label(symbol->label)
            .bare_uses.push_back(
                {{s.type->shape[d], dimension_text(d, s.type->rank(), target.name.name), target.name.range}, e.range});
    } else if (s.type) {
      s.left.push_back(subscript_expr(
          e, {s.type->shape[d], dimension_text(d, s.type->rank(), target.name.name), target.name.range}));
    } else {
      s.left.push_back(integer_scalar(e, "a left subscript"));
    }
  }
}

void Lowerer::begin_index_statement(IndexStatement& s, const ast::Target& target, const ast::Definition& definition) {
  if (s.type && s.type->rank() != target.subscripts->size()) {
    reports_.fail(DiagnosticId::kRankMismatch, target.range,
                  target.name.name + " is " + graph_.text(*s.type) + ", but " +
                      counted(target.subscripts->size(), "subscript") +
                      (target.subscripts->size() == 1 ? " is given" : " are given"));
  }
  if (definition.suffixes.loop) {
    for (const ast::IndexRange& r : definition.suffixes.loop->ranges)
      bind_range(r.name, r.lower, r.upper, r.step, s.labels);
  }
  bind_left(s, target);
  lower_left(s, target);
}

void Lowerer::lower_right_side(IndexStatement& s, const ast::Definition& definition) {
  if (definition.suffixes.where) guards_.add(condition(*definition.suffixes.where->condition, "a guard"));
  s.value = lower(*definition.value);
  if (s.value.rank() != 0) {
    reports_.fail(DiagnosticId::kNotScalar, definition.value->range,
                  "the right side of an index statement is a scalar per element, but this is " + graph_.text(s.value) +
                      "; subscript it with index variables");
  }
  resolve_labels(s.collected);
  resolve_labels(s.labels);
}

std::optional<Extent> Lowerer::extent_of_bare_uses(std::int32_t label) {
  const LabelInfo info = graph_.label(label);
  if (info.bare_uses.empty()) return std::nullopt;
  // They agree unless the index has a range of its own: `let d[i] = A[i, i] for i in 0..min(n, m);`.
  const Dim& first = info.bare_uses.front().dim;
  for (const BareUse& use : info.bare_uses) {
    const auto order = shapes_.compare(first.extent, use.dim.extent);
    if (order != ir::ExtentOrder::kDifferent) continue;
    const std::string size = graph_.text(first.extent);
    reports_.warn(DiagnosticId::kAmbiguousExtent, use.place,
                  "the new dimension of `" + info.name + "` has the size " + size + ", not " +
                      graph_.text(use.dim.extent) + "; declare the type to choose",
                  {{first.range, first.what + " is " + size},
                   {use.dim.range, use.dim.what + " is " + graph_.text(use.dim.extent)}});
    return first.extent;
  }
  warn_of_shorter_range(info, first);
  return first.extent;
}

void Lowerer::warn_of_shorter_range(const LabelInfo& info, const Dim& dim) {
  // `for i in 1..n-1` leaves a border of what it reads on purpose.
  if (!info.from_zero || !info.written_end || dim.extent == *info.written_end) return;
  const std::string size = graph_.text(dim.extent);
  const std::string end = graph_.text(*info.written_end);
  reports_.warn(DiagnosticId::kAmbiguousExtent, info.bare_uses.front().place,
                "the new dimension of `" + info.name + "` has the size " + size + " (" + dim.what + "), not " + end +
                    ", where its range ends; declare the type to choose",
                {{dim.range, dim.what + " is " + size}, {info.range, "the range ends at " + end}});
}

Extent Lowerer::left_extent(const IndexStatement& s, std::size_t d, const ast::Target& target) {
  const ast::Expr& e = *index_of((*target.subscripts)[d]);
  if (s.lone[d] >= 0) {
    if (const auto extent = extent_of_bare_uses(s.lone[d])) return *extent;
    const LabelInfo& label = graph_.label(s.lone[d]);
    TDSL_CHECK(graph_.resolve(s.lone[d]), "ranges are resolved before sizes");
    return label.written_end.value_or(graph_.label(s.lone[d]).end);
  }
  if (const ast::Expr* n = modulus(e)) {
    const Expr size = integer_scalar(*n, "a modulus");
    if (labels_of(size).empty()) return graph_.extent_of(size, "modulus");
  }
  const auto* name = bare_name(e);
  const SymbolRef symbol = name == nullptr ? nullptr : names_.find(*name);
  if (symbol && symbol->kind == Symbol::Kind::kIndex) {
    if (const auto extent = extent_of_bare_uses(symbol->label)) return *extent;
    const LabelInfo& label = graph_.label(symbol->label);
    if (label.written_end) return *label.written_end;
  }
  reports_.fail(DiagnosticId::kUnknownExtent, e.range,
                "the size of this dimension cannot be told; declare it: " + target.name.name + "[…]: f64[n, …]");
}

std::optional<Monoid> Lowerer::combine_monoid(const ast::AssignOp& op, Scalar type) {
  switch (op.kind) {
    case ast::AssignKind::kSet: return std::nullopt;
    case ast::AssignKind::kAdd:
    case ast::AssignKind::kSub: return Monoid{Monoid::Kind::kSum, {}, {}, {}};
    case ast::AssignKind::kMul:
    case ast::AssignKind::kDiv: return Monoid{Monoid::Kind::kProd, {}, {}, {}};
    case ast::AssignKind::kMin: return Monoid{Monoid::Kind::kMin, {}, {}, {}};
    case ast::AssignKind::kMax: return Monoid{Monoid::Kind::kMax, {}, {}, {}};
    case ast::AssignKind::kMonoid: break;
  }
  const MonoidEntry& m = user_monoid(op.monoid, op.range);
  if (m.type != type) {
    reports_.fail(DiagnosticId::kTypeMismatch, op.range,
                  "`" + op.monoid + "` combines " + std::string(ir::name_of(m.type)) + ", but the elements are " +
                      std::string(ir::name_of(type)));
  }
  return m.lowered;
}

Scalar Lowerer::element_type_for(const ast::AssignOp& op, const Tensor& value) {
  if (op.kind == ast::AssignKind::kSet) return value.scalar();
  if (op.kind == ast::AssignKind::kMonoid) return user_monoid(op.monoid, op.range).type;
  const bool sums = op.kind != ast::AssignKind::kMin && op.kind != ast::AssignKind::kMax;
  const bool widened = value.scalar() == Scalar::kBool || (sums && value.scalar() == Scalar::kI32);
  return widened ? Scalar::kI64 : value.scalar();
}

Expr Lowerer::combined_value(const ast::AssignOp& op, const Tensor& value, Scalar type) {
  if (op.kind != ast::AssignKind::kSet && type == Scalar::kBool && op.kind != ast::AssignKind::kMonoid) {
    reports_.fail(DiagnosticId::kTypeMismatch, op.range,
                  "bools cannot be combined by this operator; use any, all, && or ||");
  }
  const Expr e = values_.scalar_of_type(value, type, "the element type");
  if (op.kind == ast::AssignKind::kSub) return ir::unary(ir::UnaryOp::kNeg, e, e->range);
  if (op.kind != ast::AssignKind::kDiv) return e;
  if (ir::is_integer(type)) reports_.unsupported(op.range, "/= on integer elements in index notation is");
  return ir::binary(BinaryOp::kDiv, converted(ir::constant_i64(1), type), e, e->range);
}

ValueId Lowerer::lower_index_declaration(const ast::Target& target, const ast::Annotations& annotations,
                                         const ast::Definition& definition) {
  IndexStatement s;
  s.op = definition.op;
  if (annotations.type) {
    s.type = lower_type(*annotations.type);
    require_sizes(*annotations.type, *s.type);
  }
  const std::size_t outer_guards = guards_.size();
  const Names::InScope scope(names_, Scope::Kind::kIndex);
  begin_index_statement(s, target, definition);
  lower_right_side(s, definition);
  s.guard = guards_.take(outer_guards);
  s.result.scalar = s.type ? s.type->scalar : element_type_for(s.op, s.value);
  if (s.type) s.result.sparse = s.type->sparse;
  for (std::size_t d = 0; d < target.subscripts->size(); ++d) {
    s.result.shape.push_back(s.type ? s.type->shape[d] : left_extent(s, d, target));
  }
  values_.require_legal(s.result, target.name.name, target.range);
  return emit_index_statement(s, target.name.name, target.range);
}

void Lowerer::lower_index_assignment(const ast::Assign& a, const SymbolRef& symbol) {
  if (symbol->storage) {
    versions_.set(
        symbol,
        lower_stored_elements(a.target, values_.logical_type(*symbol), symbol->storage, a.definition, symbol).value);
    return;
  }
  IndexStatement s;
  s.op = a.definition.op;
  s.target = symbol;
  s.type = graph_.program().type(symbol->value);
  s.result = *s.type;
  const std::size_t outer_guards = guards_.size();
  const Names::InScope scope(names_, Scope::Kind::kIndex);
  begin_index_statement(s, a.target, a.definition);
  lower_right_side(s, a.definition);
  s.guard = guards_.take(outer_guards);
  versions_.set(symbol, emit_index_statement(s, a.target.name.name, a.target.range));
}

namespace {

/// Whether the left subscripts are different labels, one per dimension, each over the whole dimension.
bool covers(const std::vector<std::int32_t>& lone, const ir::Type& type, const GraphBuilder& graph) {
  for (std::size_t d = 0; d < lone.size(); ++d) {
    if (lone[d] < 0 || std::count(lone.begin(), lone.end(), lone[d]) != 1) return false;
    const LabelInfo& label = graph.label(lone[d]);
    if (!(label.begin == Extent()) || !(label.end == type.shape[d])) return false;
  }
  return true;
}

}  // namespace

ValueId Lowerer::emit_index_statement(IndexStatement& s, const std::string& name, const SourceRange& range) {
  ComputeSpec spec;
  spec.name = name;
  spec.range = range;
  spec.type = s.result;
  spec.storage_given = s.type.has_value();
  spec.guard = s.guard;
  for (const std::int32_t id : s.labels) TDSL_CHECK(graph_.resolve(id), "index variables have ranges");
  const bool plain = s.op.kind == ast::AssignKind::kSet;
  const bool whole = covers(s.lone, s.result, graph_);
  const bool every_label_left = s.labels.size() == s.lone.size();
  // Each element is met once: dividing is exact then.
  const bool distinct =
      std::ranges::all_of(s.lone, [&](std::int32_t id) { return id >= 0 && std::ranges::count(s.lone, id) == 1; }) &&
      every_label_left;
  const bool divides_once = s.op.kind == ast::AssignKind::kDiv && s.target && (distinct || s.labels.empty());
  if (divides_once) {
    const Expr old = ir::read(s.result.scalar, s.target->value, s.left);
    spec.body =
        ir::binary(BinaryOp::kDiv, old, values_.scalar_of_type(s.value, s.result.scalar, "the element type"), range);
  } else {
    spec.body = combined_value(s.op, s.value, s.result.scalar);
    spec.combine = combine_monoid(s.op, s.result.scalar);
  }
  const bool fresh_elements = s.target == nullptr || (plain && !spec.guard);
  if (whole && fresh_elements && (every_label_left || (!plain && s.target == nullptr))) {
    // Every element is new: no left side, and what meets in one element is a reduction.
    if (spec.combine && spec.guard && every_label_left) spec.fill = ir::identity_of(*spec.combine, s.result.scalar);
    spec.out = s.lone;
    for (const std::int32_t id : s.labels) {
      if (std::ranges::find(spec.out, id) == spec.out.end()) spec.reduce.push_back(id);
    }
    if (!spec.reduce.empty()) spec.monoid = spec.combine;
    spec.combine.reset();
  } else {
    spec.out = s.labels;
    spec.left = s.left;
    if (s.target) {
      spec.base = s.target->value;
    } else if (spec.combine) {
      spec.fill = ir::identity_of(*spec.combine, s.result.scalar);
    }
  }
  if (spec.left.empty() && spec.reduce.empty() && !spec.guard) {
    // `let B[i, k] = sum[j](…);` is one node, the reduction.
    if (auto reduction = graph_.take_waiting(spec.body, spec.out)) {
      reduction->name = spec.name;
      reduction->range = spec.range;
      reduction->type = spec.type;
      reduction->storage_given = spec.storage_given;
      spec = std::move(*reduction);
    }
  }
  graph_.flush();
  values_.check_bounds(spec);
  return graph_.emit(spec);
}

void Lowerer::lower_slice_assignment(const ast::Assign& a, const SymbolRef& symbol) {
  if (symbol->storage)
    reports_.unsupported(a.target.range, "an assignment to a slice of a tensor with a storage is",
                         {{symbol->storage->range, "its storage"}});
  const ir::Type type = graph_.program().type(symbol->value);
  require_no_suffixes(a.definition.suffixes);
  const Tensor base = values_.tensor_of(symbol->value, a.target.name.name, a.target.name.range);
  require_subscripts(a.target.subscripts->size(), base, a.target.name.name, a.target.range);
  ComputeSpec spec;
  std::vector<Dim> shape;
  std::vector<Expr> numbers;  // of the slice's elements
  for (std::size_t d = 0; d < type.rank(); ++d) {
    const ast::SubscriptItem& item = (*a.target.subscripts)[d];
    if (const auto* index = std::get_if<ast::IndexSubscript>(&item.node)) {
      spec.left.push_back(subscript_expr(*index->value, base.shape[d]));
      continue;
    }
    const SlicePart part = slice_part(std::get<ast::SliceSubscript>(item.node), base.shape[d], item.range);
    shape.push_back({part.extent, "the slice of " + base.shape[d].what, item.range});
    if (part.step.constant()) {
      spec.out.push_back(graph_.new_label(part.extent));
      numbers.push_back(ir::index_ref(spec.out.back()));
      spec.left.push_back(position_in(part, spec.out.back()));
      continue;
    }
    // Every position is looked at, so that which element is written where is known when compiling.
    spec.out.push_back(graph_.new_label(part.length));
    const Expr position = ir::index_ref(spec.out.back());
    const Expr step = expr_of(graph_.program(), part.step);
    numbers.push_back(ir::binary(BinaryOp::kDiv, position, step));
    const Expr met = ir::binary(BinaryOp::kEq, ir::binary(BinaryOp::kRem, position, step), ir::constant_i64(0));
    spec.guard = both(spec.guard, met);
    spec.left.push_back(add(position, part.start));
  }
  const Tensor value = lower(*a.definition.value);
  if (value.rank() > shape.size()) {
    reports_.fail(DiagnosticId::kRankMismatch, a.definition.value->range,
                  "the slice has " + counted(shape.size(), "dimension") + ", but the value is " + graph_.text(value));
  }
  std::vector<Expr> subscripts;
  for (std::size_t d = 0; d < value.rank(); ++d) {
    const std::size_t at = shape.size() - value.rank() + d;
    const bool stretches = value.shape[d].extent.constant() == 1 && !(shape[at].extent == value.shape[d].extent);
    if (!stretches) shapes_.agree(shape[at], value.shape[d], a.definition.value->range, "in this assignment");
    subscripts.push_back(stretches ? ir::constant_i64(0) : numbers[at]);
  }
  Tensor element_value = scalar_tensor(element(value, subscripts), value.weak);
  element_value.range = a.definition.value->range;
  if (a.definition.op.kind == ast::AssignKind::kDiv) {
    const Expr old = ir::read(type.scalar, symbol->value, spec.left);
    spec.body = ir::binary(BinaryOp::kDiv, old, values_.scalar_of_type(element_value, type.scalar, a.target.name.name));
  } else {
    spec.body = combined_value(a.definition.op, element_value, type.scalar);
    spec.combine = combine_monoid(a.definition.op, type.scalar);
  }
  spec.base = symbol->value;
  spec.type = type;
  spec.storage_given = true;
  spec.name = a.target.name.name;
  spec.range = a.target.range;
  graph_.flush();
  values_.check_bounds(spec);
  versions_.set(symbol, graph_.emit(spec));
}

}  // namespace tdsl::frontend
