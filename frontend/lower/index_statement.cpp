#include "frontend/lower/lowering.h"

#include <algorithm>

#include "frontend/sema/types.h"
#include "frontend/sema/walk.h"
#include "ir/graph/check.h"

namespace tdsl::frontend {

using ir::Monoid;

namespace {

const ast::Expr* index_of(const ast::SubscriptItem& item) {
  const auto* index = std::get_if<ast::IndexSubscript>(&item.node);
  return index == nullptr ? nullptr : index->value.get();
}

/// `n` of `e % n` and `mod(e, n)`: the size of a dimension with that subscript.
const ast::Expr* modulus(const ast::Expr& e) {
  if (const auto* b = std::get_if<ast::Binary>(&e.node)) return b->op == ast::BinaryOp::kMod ? b->rhs.get() : nullptr;
  const auto* call = std::get_if<ast::Call>(&e.node);
  if (call == nullptr || call->callee.name != "mod" || call->arguments.size() != 2) return nullptr;
  return call->arguments[1].value.get();
}

void bind_left(Lowerer& lowerer, IndexStatement& s, const ast::Target& target) {
  // In compound subscripts, names that are in scope keep their meaning, whether or not other subscripts bind them.
  const auto known = [&](const std::string& name) {
    return lowerer.names.find(name) != nullptr || lowerer.dimensions().contains(name);
  };
  const auto bound = [&](const std::string& name) {
    const SymbolRef found = lowerer.names.find_here(name);
    return found && found->kind == Symbol::Kind::kIndex;
  };
  std::vector<std::int32_t> from_left;
  for (const ast::SubscriptItem& item : *target.subscripts) {
    const ast::Expr* e = index_of(item);
    if (e == nullptr) {
      lowerer.reports.fail(
          DiagnosticId::kSliceInIndex, item.range,
          "a declaration's left side has index variables, not slices; slices of a var can be assigned");
    }
    const std::string* name = bare_name(*e);
    if (name == nullptr || bound(*name)) continue;
    if (s.target != nullptr && is_scalar_variable(lowerer.graph, lowerer.names, *name)) continue;
    from_left.push_back(bind_index(lowerer.graph, lowerer.names, {*name, e->range}));
  }
  for (const ast::SubscriptItem& item : *target.subscripts) {
    const ast::Expr* e = index_of(item);
    if (bare_name(*e) != nullptr) continue;
    for_each_expr(*e, [&](const ast::Expr& part) {
      const auto* subscript = std::get_if<ast::Subscript>(&part.node);
      const std::string* tensor = subscript == nullptr ? nullptr : bare_name(*subscript->base);
      if (tensor == nullptr || bound(*tensor) || known(*tensor)) return;
      lowerer.reports.fail(DiagnosticId::kUndefinedName, subscript->base->range,
                           "`" + *tensor + "` is not declared; " + *tensor +
                               "[…] on the left subscripts a tensor that must be in scope" +
                               did_you_mean(*tensor, lowerer.names.visible()));
    });
    for (const ast::Identifier& name : unbound_names(*e)) {
      if (!bound(name.name) && !known(name.name)) from_left.push_back(bind_index(lowerer.graph, lowerer.names, name));
    }
  }
  std::ranges::stable_sort(from_left, {}, [&](std::int32_t id) {
    return std::pair{lowerer.graph.label(id).range.line, lowerer.graph.label(id).range.column};
  });
  s.labels.insert(s.labels.begin(), from_left.begin(), from_left.end());
}

void lower_left(Lowerer& lowerer, IndexStatement& s, const ast::Target& target) {
  for (std::size_t d = 0; d < target.subscripts->size(); ++d) {
    const ast::Expr& e = *index_of((*target.subscripts)[d]);
    const std::string* name = bare_name(e);
    const SymbolRef symbol = name == nullptr ? nullptr : lowerer.names.find(*name);
    const bool alone = symbol && symbol->kind == Symbol::Kind::kIndex && symbol->is_label;
    s.lone.push_back(alone ? symbol->label : -1);
    if (alone) {
      symbol->used = true;
      s.left.push_back(ir::index_ref(symbol->label, e.range));
      if (s.type)
        lowerer.graph.label(symbol->label)
            .bare_uses.push_back(
                {{s.type->shape[d], dimension_text(d, s.type->rank(), target.name.name), target.name.range},
                 e.range,
                 true});
    } else if (s.type) {
      s.left.push_back(subscript_expr(
          lowerer, e, {s.type->shape[d], dimension_text(d, s.type->rank(), target.name.name), target.name.range}));
    } else {
      s.left.push_back(integer_scalar(lowerer, e, "a left subscript"));
    }
  }
}

}  // namespace

namespace {

void require_subscripts(Lowerer& lowerer, const ir::Type& type, const ast::Target& target) {
  if (type.rank() == target.subscripts->size()) return;
  lowerer.reports.fail(DiagnosticId::kRankMismatch, target.range,
                       target.name.name + " is " + lowerer.graph.text(type) + ", but " +
                           counted(target.subscripts->size(), "subscript") +
                           (target.subscripts->size() == 1 ? " is given" : " are given"));
}

}  // namespace

void begin_index_statement(Lowerer& lowerer, IndexStatement& s, const ast::Target& target,
                           const ast::Definition& definition) {
  if (s.type) require_subscripts(lowerer, *s.type, target);
  if (definition.suffixes.loop) {
    for (const ast::IndexRange& r : definition.suffixes.loop->ranges)
      bind_range(lowerer, r.name, r.lower, r.upper, r.step, s.labels);
  }
  bind_left(lowerer, s, target);
  lower_left(lowerer, s, target);
}

void lower_right_side(Lowerer& lowerer, IndexStatement& s, const ast::Definition& definition) {
  if (definition.suffixes.where)
    lowerer.guards.add(condition(lowerer, *definition.suffixes.where->condition, "a guard"));
  s.value = lower(lowerer, *definition.value);
  if (s.value.rank() != 0) {
    lowerer.reports.fail(DiagnosticId::kNotScalar, definition.value->range,
                         "the right side of an index statement is a scalar per element, but this is " +
                             lowerer.graph.text(s.value) + "; subscript it with index variables");
  }
  resolve_labels(lowerer.graph, lowerer.reports, lowerer.shapes, s.collected);
  resolve_labels(lowerer.graph, lowerer.reports, lowerer.shapes, s.labels);
}

namespace {

/// The size of a new dimension is that of `dim`, which its index variable subscripts; warns if the variable's range
/// ends elsewhere. `for i in 1..n - 1` excludes a border deliberately.
void warn_of_shorter_range(const GraphBuilder& graph, Reports& reports, const LabelInfo& info, const Dim& dim) {
  if (!info.written_end || info.computed_step) return;
  const auto border = (dim.extent - *info.written_end).constant();
  if (border && (info.from_zero ? *border == 0 : *border >= 0)) return;
  const std::string size = graph.text(dim.extent);
  const std::string end = graph.text(*info.written_end);
  reports.warn(DiagnosticId::kAmbiguousExtent, info.bare_uses.front().place,
               "the new dimension of `" + info.name + "` has the size " + size + " (" + dim.what + "), not " + end +
                   ", where its range ends; declare the type to choose",
               {{dim.range, dim.what + " is " + size}, {info.range, "the range ends at " + end}});
}

/// The size of a new dimension, from the dimensions in which its index variable is a bare subscript: the first one if
/// they differ (which warns); nullopt if there are none.
std::optional<Extent> extent_of_bare_uses(GraphBuilder& graph, Reports& reports, Shapes& shapes, std::int32_t label) {
  const LabelInfo info = graph.label(label);
  if (info.bare_uses.empty()) return std::nullopt;
  // They agree unless the index has an explicit range: `let d[i] = A[i, i] for i in 0..min(n, m);`.
  const Dim& first = info.bare_uses.front().dim;
  for (const BareUse& use : info.bare_uses) {
    const auto order = shapes.compare(first.extent, use.dim.extent);
    if (order != ir::ExtentOrder::kDifferent) continue;
    const std::string size = graph.text(first.extent);
    reports.warn(DiagnosticId::kAmbiguousExtent, use.place,
                 "the new dimension of `" + info.name + "` has the size " + size + ", not " +
                     graph.text(use.dim.extent) + "; declare the type to choose",
                 {{first.range, first.what + " is " + size},
                  {use.dim.range, use.dim.what + " is " + graph.text(use.dim.extent)}});
    return first.extent;
  }
  warn_of_shorter_range(graph, reports, info, first);
  return first.extent;
}

Extent left_extent(Lowerer& lowerer, const IndexStatement& s, std::size_t d, const ast::Target& target) {
  const ast::Expr& e = *index_of((*target.subscripts)[d]);
  if (s.lone[d] >= 0) {
    if (const auto extent = extent_of_bare_uses(lowerer.graph, lowerer.reports, lowerer.shapes, s.lone[d]))
      return *extent;
    const LabelInfo& label = lowerer.graph.label(s.lone[d]);
    TDSL_CHECK(lowerer.graph.resolve(s.lone[d]), "ranges are resolved before sizes");
    return label.written_end.value_or(lowerer.graph.label(s.lone[d]).end);
  }
  if (const ast::Expr* n = modulus(e)) {
    const Expr size = integer_scalar(lowerer, *n, "a modulus");
    if (labels_of(size).empty()) return lowerer.graph.extent_of(size, "modulus");
  }
  const auto* name = bare_name(e);
  const SymbolRef symbol = name == nullptr ? nullptr : lowerer.names.find(*name);
  if (symbol && symbol->kind == Symbol::Kind::kIndex) {
    if (const auto extent = extent_of_bare_uses(lowerer.graph, lowerer.reports, lowerer.shapes, symbol->label))
      return *extent;
    const LabelInfo& label = lowerer.graph.label(symbol->label);
    if (label.written_end) return *label.written_end;
  }
  lowerer.reports.fail(DiagnosticId::kUnknownExtent, e.range,
                       "the size of this dimension cannot be told; declare it: " + target.name.name + "[…]: f64[n, …]");
}

}  // namespace

std::optional<Monoid> combine_monoid(Lowerer& lowerer, const ast::AssignOp& op, Scalar type) {
  switch (op.kind) {
    case ast::AssignKind::kSet: return std::nullopt;
    case ast::AssignKind::kAdd:
    case ast::AssignKind::kSub: return Monoid{Monoid::Kind::kSum, {}, {}, {}};
    case ast::AssignKind::kMul:
    case ast::AssignKind::kDiv: return Monoid{Monoid::Kind::kProd, {}, {}, {}};
    case ast::AssignKind::kMin: return Monoid{Monoid::Kind::kMin, {}, {}, {}};
    case ast::AssignKind::kMax: return Monoid{Monoid::Kind::kMax, {}, {}, {}};
    case ast::AssignKind::kBitAnd:
    case ast::AssignKind::kBitOr:
    case ast::AssignKind::kBitXor: return bit_monoid(lowerer.reports, op, type);
    case ast::AssignKind::kMonoid: break;
  }
  const MonoidEntry& m = user_monoid(lowerer, op.monoid, op.range);
  if (m.type != type) {
    lowerer.reports.fail(DiagnosticId::kTypeMismatch, op.range,
                         "`" + op.monoid + "` combines " + std::string(ir::name_of(m.type)) +
                             ", but the elements are " + std::string(ir::name_of(type)));
  }
  return m.lowered;
}

namespace {

Scalar element_type_for(Lowerer& lowerer, const ast::AssignOp& op, const Tensor& value) {
  if (op.kind == ast::AssignKind::kSet) return value.scalar();
  if (op.kind == ast::AssignKind::kMonoid) return user_monoid(lowerer, op.monoid, op.range).type;
  if (is_bitwise(op.kind)) return value.scalar();
  const bool sums = op.kind != ast::AssignKind::kMin && op.kind != ast::AssignKind::kMax;
  return sums || value.scalar() == Scalar::kBool ? summed_type(value.scalar()) : ir::operand_type(value.scalar());
}

/// Operators give f32, which does not narrow to floats of two bytes.
void refuse_combined_halves(Reports& reports, const ast::AssignOp& op, Scalar type) {
  if (op.kind == ast::AssignKind::kSet || !ir::is_half(type)) return;
  reports.fail(DiagnosticId::kNarrowing, op.range,
               "this combines numbers to f32, but the elements are " + std::string(ir::name_of(type)) +
                   "; combine f32 and cast the result: " + std::string(ir::name_of(type)) + "(…)");
}

Expr combined_value(Reports& reports, Values& values, const ast::AssignOp& op, const Tensor& value, Scalar type) {
  refuse_combined_halves(reports, op, type);
  if (op.kind != ast::AssignKind::kSet && type == Scalar::kBool && op.kind != ast::AssignKind::kMonoid &&
      !is_bitwise(op.kind)) {
    reports.fail(DiagnosticId::kTypeMismatch, op.range,
                 "bools cannot be combined by this operator; use any, all, & or |");
  }
  if (op.kind == ast::AssignKind::kMin || op.kind == ast::AssignKind::kMax)
    require_ordered(reports, op.kind == ast::AssignKind::kMin ? "`min=`" : "`max=`", type, op.range);
  if (op.kind != ast::AssignKind::kSet) values.common_type(Common{type, Weak::kNo}, value, op.range);
  const Expr e = values.scalar_of_type(value, type, "the element type");
  if (op.kind == ast::AssignKind::kSub) return ir::unary(ir::UnaryOp::kNeg, e, e->range);
  if (op.kind != ast::AssignKind::kDiv) return e;
  if (ir::is_integer(type)) reports.unsupported(op.range, "/= on integer elements in index notation is");
  return ir::binary(BinaryOp::kDiv, converted(ir::constant_i64(1), type), e, e->range);
}

}  // namespace

namespace {

/// True if the type names an extent found by data, that of a lone index variable on the left: `let u[k]: f64[m] = …;`.
bool names_extents(Lowerer& lowerer, const ast::Target& target, const ast::TypeExpr& type) {
  const std::size_t count = std::min(type.dimensions.size(), target.subscripts->size());
  for (std::size_t d = 0; d < count; ++d) {
    const std::string* name = type.dimensions[d].extent ? bare_name(*type.dimensions[d].extent) : nullptr;
    const auto* index = std::get_if<ast::IndexSubscript>(&(*target.subscripts)[d].node);
    const bool is_lone = index != nullptr && bare_name(*index->value) != nullptr;
    if (name != nullptr && is_lone && is_new_dimension(lowerer, *name)) return true;
  }
  return false;
}

/// Such a type, after the right side. Extents that it does not name are compared.
ir::Type type_of_extents(Lowerer& lowerer, const IndexStatement& s, const ast::Target& target,
                         const ast::TypeExpr& written) {
  const ir::Type type =
      lower_type(lowerer, written, [&](const ast::Identifier& name, std::size_t d) -> std::optional<Extent> {
        if (d >= s.lone.size() || s.lone[d] < 0) return std::nullopt;
        return bind_found(lowerer, name, left_extent(lowerer, s, d, target));
      });
  require_subscripts(lowerer, type, target);
  for (std::size_t d = 0; d < type.rank(); ++d) {
    if (s.lone[d] < 0 || lowerer.graph.label(s.lone[d]).is_explicit) continue;
    const std::string what = dimension_text(d, type.rank(), target.name.name);
    lowerer.shapes.agree({left_extent(lowerer, s, d, target), what, target.range},
                         {type.shape[d], "its type", written.range}, target.range, "in this declaration");
  }
  return type;
}

}  // namespace

ValueId lower_index_declaration(Lowerer& lowerer, const ast::Target& target, const ast::Annotations& annotations,
                                const ast::Definition& definition) {
  IndexStatement s;
  s.op = definition.op;
  const bool names = annotations.type && names_extents(lowerer, target, *annotations.type);
  if (annotations.type && !names) {
    s.type = lower_type(lowerer, *annotations.type);
    require_sizes(lowerer.reports, lowerer.shapes, *annotations.type, *s.type);
  }
  const std::size_t outer_guards = lowerer.guards.size();
  const Names::InScope scope(lowerer.names, Scope::Kind::kIndex);
  begin_index_statement(lowerer, s, target, definition);
  lower_right_side(lowerer, s, definition);
  s.guard = lowerer.guards.take(outer_guards);
  if (names) s.type = type_of_extents(lowerer, s, target, *annotations.type);
  s.result.scalar = s.type ? s.type->scalar : element_type_for(lowerer, s.op, s.value);
  if (s.type) s.result.format = s.type->format;
  for (std::size_t d = 0; d < target.subscripts->size(); ++d) {
    s.result.shape.push_back(s.type ? s.type->shape[d] : left_extent(lowerer, s, d, target));
  }
  lowerer.values.require_legal(s.result, target.name.name, target.range);
  return emit_index_statement(lowerer, s, target.name.name, target.range);
}

void lower_index_assignment(Lowerer& lowerer, const ast::Assign& a, const SymbolRef& symbol) {
  if (symbol->storage) {
    lowerer.versions.set(symbol, lower_stored_elements(lowerer, a.target, lowerer.values.logical_type(*symbol),
                                                       symbol->storage, a.definition, symbol)
                                     .value);
    return;
  }
  IndexStatement s;
  s.op = a.definition.op;
  s.target = symbol;
  s.type = lowerer.graph.program().type(symbol->value);
  s.result = *s.type;
  const std::size_t outer_guards = lowerer.guards.size();
  const Names::InScope scope(lowerer.names, Scope::Kind::kIndex);
  begin_index_statement(lowerer, s, a.target, a.definition);
  lower_right_side(lowerer, s, a.definition);
  s.guard = lowerer.guards.take(outer_guards);
  lowerer.versions.set(symbol, emit_index_statement(lowerer, s, a.target.name.name, a.target.range));
}

namespace {

/// True if the left subscripts are distinct labels, each over a whole dimension.
bool covers(const std::vector<std::int32_t>& lone, const ir::Type& type, const GraphBuilder& graph) {
  for (std::size_t d = 0; d < lone.size(); ++d) {
    if (lone[d] < 0 || std::count(lone.begin(), lone.end(), lone[d]) != 1) return false;
    const LabelInfo& label = graph.label(lone[d]);
    if (!(label.begin == Extent()) || !(label.end == type.shape[d])) return false;
  }
  return true;
}

}  // namespace

ValueId emit_index_statement(Lowerer& lowerer, IndexStatement& s, const std::string& name, const SourceRange& range) {
  ComputeSpec spec;
  spec.name = name;
  spec.range = range;
  spec.type = s.result;
  spec.storage_given = s.type.has_value();
  spec.guard = s.guard;
  for (const std::int32_t id : s.labels) TDSL_CHECK(lowerer.graph.resolve(id), "index variables have ranges");
  const bool plain = s.op.kind == ast::AssignKind::kSet;
  const bool whole = covers(s.lone, s.result, lowerer.graph);
  const bool every_label_left = s.labels.size() == s.lone.size();
  // Each element is updated once, so division is exact.
  const bool distinct =
      std::ranges::all_of(s.lone, [&](std::int32_t id) { return id >= 0 && std::ranges::count(s.lone, id) == 1; }) &&
      every_label_left;
  const bool divides_once = s.op.kind == ast::AssignKind::kDiv && s.target && (distinct || s.labels.empty());
  if (divides_once) {
    const Expr old = ir::read(s.result.scalar, s.target->value, s.left);
    spec.body = ir::binary(BinaryOp::kDiv, old,
                           lowerer.values.scalar_of_type(s.value, s.result.scalar, "the element type"), range);
  } else {
    spec.body = combined_value(lowerer.reports, lowerer.values, s.op, s.value, s.result.scalar);
    spec.combine = combine_monoid(lowerer, s.op, s.result.scalar);
  }
  const bool fresh_elements = s.target == nullptr || (plain && !spec.guard);
  if (whole && fresh_elements && (every_label_left || (!plain && s.target == nullptr))) {
    // Every element is new: no store subscripts, and collisions become a reduction.
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
    // `let B[i, k] = sum[j](…);` becomes one node, the reduction.
    if (auto reduction = lowerer.graph.take_waiting(spec.body, spec.out)) {
      reduction->name = spec.name;
      reduction->range = spec.range;
      reduction->type = spec.type;
      reduction->storage_given = spec.storage_given;
      spec = std::move(*reduction);
    }
  }
  lowerer.graph.flush();
  lowerer.values.check_bounds(spec);
  return lowerer.graph.emit(spec);
}

void lower_slice_assignment(Lowerer& lowerer, const ast::Assign& a, const SymbolRef& symbol) {
  if (symbol->storage)
    lowerer.reports.unsupported(a.target.range, "an assignment to a slice of a tensor with a storage is",
                                {{symbol->storage->range, "its storage"}});
  const ir::Type type = lowerer.graph.program().type(symbol->value);
  require_no_suffixes(lowerer.reports, a.definition.suffixes);
  const Tensor base = lowerer.values.tensor_of(symbol->value, a.target.name.name, a.target.name.range);
  const std::vector<ast::SubscriptItem> items =
      subscripts_of(lowerer, *a.target.subscripts, base, a.target.name.name, a.target.range);
  if (items.size() != type.rank())
    lowerer.reports.fail(DiagnosticId::kBadArgument, a.target.range,
                         "`newaxis` cannot stand on the left of an assignment");
  ComputeSpec spec;
  std::vector<Dim> shape;
  std::vector<Expr> numbers;  // indices within the slice
  for (std::size_t d = 0; d < type.rank(); ++d) {
    const ast::SubscriptItem& item = items[d];
    if (const auto* index = std::get_if<ast::IndexSubscript>(&item.node)) {
      spec.left.push_back(subscript_expr(lowerer, *index->value, base.shape[d]));
      continue;
    }
    const SlicePart part = slice_part(lowerer, std::get<ast::SliceSubscript>(item.node), base.shape[d], item.range);
    shape.push_back({part.extent, "the slice of " + base.shape[d].what, item.range});
    if (part.step.constant()) {
      spec.out.push_back(lowerer.graph.new_label(part.extent));
      numbers.push_back(ir::index_ref(spec.out.back()));
      spec.left.push_back(position_in(lowerer.graph, part, spec.out.back()));
      continue;
    }
    // Visits every position, so that the written elements are affine in the labels.
    spec.out.push_back(lowerer.graph.new_label(part.length));
    const Expr position = ir::index_ref(spec.out.back());
    const Expr step = expr_of(lowerer.graph.program(), part.step);
    numbers.push_back(ir::binary(BinaryOp::kDiv, position, step));
    const Expr met = ir::binary(BinaryOp::kEq, ir::binary(BinaryOp::kRem, position, step), ir::constant_i64(0));
    spec.guard = both(spec.guard, met);
    spec.left.push_back(part.down ? sub(part.start, position) : add(position, part.start));
  }
  const Tensor value = lower(lowerer, *a.definition.value);
  if (value.rank() > shape.size()) {
    lowerer.reports.fail(
        DiagnosticId::kRankMismatch, a.definition.value->range,
        "the slice has " + counted(shape.size(), "dimension") + ", but the value is " + lowerer.graph.text(value));
  }
  std::vector<Expr> subscripts;
  for (std::size_t d = 0; d < value.rank(); ++d) {
    const std::size_t at = shape.size() - value.rank() + d;
    const bool stretches = value.shape[d].extent.constant() == 1 && !(shape[at].extent == value.shape[d].extent);
    if (!stretches) lowerer.shapes.agree(shape[at], value.shape[d], a.definition.value->range, "in this assignment");
    subscripts.push_back(stretches ? ir::constant_i64(0) : numbers[at]);
  }
  Tensor element_value = scalar_tensor(element(value, subscripts), value.weak);
  element_value.range = a.definition.value->range;
  refuse_combined_halves(lowerer.reports, a.definition.op, type.scalar);
  if (a.definition.op.kind == ast::AssignKind::kDiv) {
    const Expr old = ir::read(type.scalar, symbol->value, spec.left);
    spec.body =
        ir::binary(BinaryOp::kDiv, old, lowerer.values.scalar_of_type(element_value, type.scalar, a.target.name.name));
  } else {
    spec.body = combined_value(lowerer.reports, lowerer.values, a.definition.op, element_value, type.scalar);
    spec.combine = combine_monoid(lowerer, a.definition.op, type.scalar);
  }
  spec.base = symbol->value;
  spec.type = type;
  spec.storage_given = true;
  spec.name = a.target.name.name;
  spec.range = a.target.range;
  lowerer.graph.flush();
  lowerer.values.check_bounds(spec);
  lowerer.versions.set(symbol, lowerer.graph.emit(spec));
}

}  // namespace tdsl::frontend
