#include <algorithm>

#include "frontend/lower/builtins.h"
#include "frontend/lower/lowering.h"
#include "frontend/sema/types.h"

namespace tdsl::frontend {

using ir::Monoid;

namespace {

Monoid monoid_of(Reducer kind) {
  switch (kind) {
    case Reducer::kProd: return {Monoid::Kind::kProd, {}, {}, {}};
    case Reducer::kMin: return {Monoid::Kind::kMin, {}, {}, {}};
    case Reducer::kMax: return {Monoid::Kind::kMax, {}, {}, {}};
    case Reducer::kAny: return {Monoid::Kind::kAny, {}, {}, {}};
    case Reducer::kAll: return {Monoid::Kind::kAll, {}, {}, {}};
    case Reducer::kArgMin: return {Monoid::Kind::kArgMin, {}, {}, {}};
    case Reducer::kArgMax: return {Monoid::Kind::kArgMax, {}, {}, {}};
    case Reducer::kSum:
    case Reducer::kCount:
    case Reducer::kMean:
    case Reducer::kNorm:
    case Reducer::kUser: return {Monoid::Kind::kSum, {}, {}, {}};
  }
  return {};
}

bool is_arg(Reducer kind) { return kind == Reducer::kArgMin || kind == Reducer::kArgMax; }

/// The body converted for the reduction: i64 for sums of bools and shorter integers, bool for tests.
Expr reduced_body(Reducer kind, const Tensor& t) {
  const Expr& e = t.body;
  switch (kind) {
    case Reducer::kSum:
    case Reducer::kProd: return converted(e, summed_type(e->type));
    case Reducer::kMin:
    case Reducer::kMax: return e->type == Scalar::kBool ? converted(e, Scalar::kI64) : e;
    case Reducer::kAny:
    case Reducer::kAll: return converted(e, Scalar::kBool);
    case Reducer::kCount: return converted(converted(e, Scalar::kBool), Scalar::kI64);
    case Reducer::kMean: return ir::is_float(e->type) ? e : converted(e, Scalar::kF64);
    case Reducer::kNorm:
    case Reducer::kArgMin:
    case Reducer::kArgMax:
    case Reducer::kUser: return e;
  }
  return e;
}

}  // namespace

std::optional<ReducerName> reducer(Lowerer& lowerer, const std::string& name, const SourceRange& range) {
  if (const auto* kind = builtin<Reducer>(name)) return ReducerName{*kind, {}, Scalar::kF64};
  if (!lowerer.declared.monoids.contains(name)) return std::nullopt;
  const MonoidEntry& monoid = user_monoid(lowerer, name, range);
  return ReducerName{Reducer::kUser, *monoid.lowered, monoid.type};
}

const MonoidEntry& user_monoid(Lowerer& lowerer, const std::string& name, const SourceRange& range) {
  const auto found = lowerer.declared.monoids.find(name);
  if (found == lowerer.declared.monoids.end()) {
    std::vector<std::string> candidates;
    for (const auto& [other, m] : lowerer.declared.monoids) candidates.push_back(other);
    lowerer.reports.fail(DiagnosticId::kUndefinedFunction, range,
                         "there is no monoid `" + name + "`" + did_you_mean(name, candidates));
  }
  MonoidEntry& entry = found->second;
  if (entry.lowered) return entry;
  if (entry.open)
    lowerer.reports.fail(DiagnosticId::kRecursion, range, "`" + name + "` uses itself; monoids cannot recurse");
  const Restored<bool> open(entry.open, true);
  const ast::Monoid& m = *entry.monoid;
  std::vector<Scalar> types;
  for (const ast::FunctionParameter& p : m.parameters) {
    const ir::Type t = p.type ? lower_type(lowerer, *p.type) : ir::Type{};
    if (t.rank() != 0)
      lowerer.reports.fail(DiagnosticId::kRankMismatch, p.name.range, "a monoid's operands are scalars");
    types.push_back(t.scalar);
  }
  if (types.size() != 2 || types[0] != types[1]) {
    lowerer.reports.fail(DiagnosticId::kTypeMismatch, m.name.range, "a monoid's operands have one type");
  }
  const Scalar type = types[0];
  if (ir::is_half(type))
    lowerer.reports.unsupported(m.parameters[0].name.range, "a monoid of " + std::string(ir::name_of(type)) + " is");
  const Restored<Guards> outside(lowerer.guards, lowerer.guards.without_conditions());
  const Names::InScope scope(lowerer.names, Scope::Kind::kFunction);
  Monoid result{Monoid::Kind::kUser, name, {}, {}};
  result.identity = lowerer.values.scalar_of_type(lower(lowerer, *m.identity), type, "the identity of `" + name + "`");
  if (literal_of(result.identity) == nullptr) {
    lowerer.reports.fail(DiagnosticId::kNotConstant, m.identity->range, "an identity must be a constant");
  }
  for (std::int32_t k = 0; k < 2; ++k) {
    const ast::Identifier& parameter = m.parameters[static_cast<std::size_t>(k)].name;
    const SymbolRef symbol = lowerer.names.declare(parameter, Symbol::Kind::kInline);
    symbol->lazy = scalar_tensor(ir::argument(type, k, parameter.range));
  }
  result.combine = lowerer.values.scalar_of_type(lower(lowerer, *m.combine), type, "combine of `" + name + "`");
  bool reads = false;
  ir::for_each_node(result.combine,
                    [&](const ir::ExprNode& node) { reads = reads || std::holds_alternative<ir::Read>(node.op); });
  if (reads) lowerer.reports.unsupported(m.combine->range, "a monoid that reads variables is");
  entry.lowered = std::move(result);
  entry.type = type;
  return entry;
}

Tensor lower_reduction(Lowerer& lowerer, const ast::Reduction& r, const SourceRange& range) {
  const auto op = reducer(lowerer, r.op.name, r.op.range);
  if (!op || op->kind == Reducer::kNorm) {
    std::vector<std::string> candidates;
    add_builtins<Reducer>(candidates);
    for (const auto& [name, m] : lowerer.declared.monoids) candidates.push_back(name);
    std::erase(candidates, "norm");
    lowerer.reports.fail(DiagnosticId::kUndefinedFunction, r.op.range,
                         "`" + r.op.name + "[…]` is not a reduction" + did_you_mean(r.op.name, candidates));
  }
  if (is_arg(op->kind) && r.indices.size() != 1) {
    lowerer.reports.fail(DiagnosticId::kBadReductionUse, range,
                         r.op.name + "[…] takes one index variable and gives its value");
  }
  const std::size_t outer_guards = lowerer.guards.size();
  ComputeSpec spec;
  Tensor body;
  Expr value;  // of the index variable of argmin, which differs from the label if the range has a step
  {
    const Names::InScope scope(lowerer.names, Scope::Kind::kIndex);
    for (const ast::ReductionIndex& index : r.indices) {
      if (index.has_range()) {
        bind_range(lowerer, index.name, index.lower, index.upper, index.step, spec.reduce, true);
      } else {
        spec.reduce.push_back(bind_index(lowerer.graph, lowerer.names, index.name));
      }
    }
    if (r.guard) lowerer.guards.add(condition(lowerer, *r.guard, "a guard"));
    body = lower(lowerer, *r.body);
    value = lowerer.names.find(r.indices[0].name.name)->lazy.body;
  }
  spec.guard = lowerer.guards.take(outer_guards);
  if (body.rank() != 0) {
    lowerer.reports.fail(
        DiagnosticId::kNotScalar, r.body->range,
        "the body of " + r.op.name + "[…] needs a scalar, but this is " + lowerer.graph.text(body) + "; subscript it");
  }
  resolve_labels(lowerer.graph, lowerer.reports, lowerer.shapes, spec.reduce);
  spec.range = range;
  spec.name = lowerer.reports.source_text(range);
  const std::int32_t first = spec.reduce[0];
  const Tensor result = lowerer.algebra.reduce(*op, std::move(spec), body, {});
  if (!is_arg(op->kind) || std::holds_alternative<ir::IndexRef>(value->op)) return result;
  const Expr none = ir::binary(BinaryOp::kLt, result.body, ir::constant_i64(0), range);
  return scalar_tensor(ir::select(none, result.body, substitute(value, {{first, result.body}}), range));
}

Tensor Algebra::reduce(const ReducerName& op, ComputeSpec spec, const Tensor& elements, std::vector<Dim> shape) {
  const Tensor body = as_operand(elements);
  if (op.kind == Reducer::kMean) return reduce_mean(std::move(spec), body, std::move(shape));
  if (op.kind == Reducer::kUser) {
    spec.body = values_.scalar_of_type(scalar_tensor(body.body, body.weak), op.user_type,
                                       "the operand of `" + op.user.name + "`");
    spec.monoid = op.user;
  } else {
    if (is_arg(op.kind) || op.kind == Reducer::kMin || op.kind == Reducer::kMax)
      require_ordered(reports_, "`" + std::string(ir::name_of(monoid_of(op.kind).kind)) + "`", body.scalar(),
                      spec.range);
    spec.body = reduced_body(op.kind, body);
    spec.monoid = monoid_of(op.kind);
  }
  spec.type.scalar = is_arg(op.kind) ? Scalar::kI64 : spec.body->type;
  if (spec.reduce.empty()) {
    // A reduction over no dimensions, as of a scalar, is the value itself.
    spec.monoid.reset();
    if (is_arg(op.kind)) spec.body = ir::constant_i64(0);
  }
  return values_.hoist(std::move(spec), std::move(shape));
}

Tensor Algebra::reduce_mean(ComputeSpec spec, const Tensor& body, std::vector<Dim> shape) {
  Tensor values = body;
  values.body = reduced_body(Reducer::kMean, body);
  const Scalar type = values.scalar();
  Expr number;
  bool counted = spec.guard.operator bool();
  for (const std::int32_t id : spec.reduce) counted = counted || !graph_.label(id).resolved;
  Tensor count;
  if (counted) {
    ComputeSpec counting = spec;
    counting.name = "number of " + spec.name;
    count =
        reduce({Reducer::kCount, {}, Scalar::kF64}, counting, scalar_tensor(ir::constant(Scalar::kBool, true)), shape);
  } else {
    number = ir::constant_i64(1);
    for (const std::int32_t id : spec.reduce) {
      const bool is_range = graph_.label(id).is_explicit;
      Expr length = expr_of(graph_.program(), is_range ? graph_.length(id) : shapes_.length_of(graph_.length(id)));
      if (is_range) length = ir::binary(BinaryOp::kMax, length, ir::constant_i64(0));
      number = mul(number, length);
    }
    count = scalar_tensor(number);
  }
  const SourceRange range = spec.range;
  const Tensor total = reduce({Reducer::kSum, {}, Scalar::kF64}, std::move(spec), values, std::move(shape));
  return elementwise({total, count}, Weak::kNo, range, [&](const std::vector<Expr>& e) {
    return ir::binary(BinaryOp::kDiv, e[0], converted(e[1], type), range);
  });
}

std::int64_t axis_number(Lowerer& lowerer, const ast::Expr& e, std::size_t rank) {
  if (std::holds_alternative<ast::Tuple>(e.node))
    lowerer.reports.fail(DiagnosticId::kBadArgument, e.range, "one axis is given here, as an integer");
  const auto value = integer_constant(integer_scalar(lowerer, e, "axis="));
  const auto dimensions = static_cast<std::int64_t>(rank);
  if (!value) lowerer.reports.fail(DiagnosticId::kNotConstant, e.range, "an axis must be known when compiling");
  if (*value < -dimensions || *value >= dimensions) {
    lowerer.reports.fail(
        DiagnosticId::kBadArgument, e.range,
        "axis " + std::to_string(*value) + " does not exist: the tensor has " + counted(rank, "dimension"));
  }
  return *value < 0 ? *value + dimensions : *value;
}

std::vector<bool> reduced_axes(Lowerer& lowerer, const ast::Call& call, std::size_t rank) {
  const ast::Expr* axis = named_argument(call, "axis");
  if (axis == nullptr) return std::vector<bool>(rank, true);
  std::vector<bool> reduced(rank, false);
  const auto mark = [&](const ast::Expr& e) {
    const auto number = static_cast<std::size_t>(axis_number(lowerer, e, rank));
    if (reduced[number]) lowerer.reports.fail(DiagnosticId::kBadArgument, e.range, "this axis is named twice");
    reduced[number] = true;
  };
  if (const auto* tuple = std::get_if<ast::Tuple>(&axis->node)) {
    for (const ast::ExprPtr& e : tuple->elements) mark(*e);
  } else {
    mark(*axis);
  }
  return reduced;
}

Tensor Algebra::flat_arg(const ReducerName& op, const Tensor& t, const SourceRange& range) {
  const Tensor flat = flattened(t, range);
  ComputeSpec spec;
  spec.reduce = flat.labels;
  const Tensor body = scalar_tensor(flat.body);
  spec.range = range;
  spec.name = reports_.source_text(range);
  return reduce(op, std::move(spec), body, {});
}

Tensor reduce_whole(Lowerer& lowerer, const ReducerName& op, const Tensor& t, const ast::Call& call,
                    const SourceRange& range) {
  lowerer.values.require_not_padded(t);
  const std::vector<bool> reduced = reduced_axes(lowerer, call, t.rank());
  const auto axes = std::ranges::count(reduced, true);
  if (is_arg(op.kind) && axes > 1 && axes == static_cast<std::ptrdiff_t>(t.rank()))
    return lowerer.algebra.flat_arg(op, t, range);
  if (is_arg(op.kind) && axes > 1) {
    lowerer.reports.fail(DiagnosticId::kBadReductionUse, range,
                         call.callee.name + " takes one axis, or none for the flat position");
  }
  return reduce_axes(lowerer, op, t, reduced, keeps_dimensions(lowerer, call), range);
}

bool keeps_dimensions(Lowerer& lowerer, const ast::Call& call) {
  const ast::Expr* keep = named_argument(call, "keepdims");
  if (keep == nullptr) return false;
  const Tensor flag = lower(lowerer, *keep);
  const ir::Literal* literal = literal_of(flag.body);
  if (literal == nullptr || !std::holds_alternative<bool>(*literal))
    lowerer.reports.fail(DiagnosticId::kNotConstant, keep->range, "keepdims is true or false");
  return std::get<bool>(*literal);
}

Tensor reduce_axes(Lowerer& lowerer, const ReducerName& op, const Tensor& t, const std::vector<bool>& reduced,
                   bool keep, const SourceRange& range) {
  ComputeSpec spec;
  std::vector<Dim> shape;
  std::vector<Expr> subscripts;
  for (std::size_t d = 0; d < t.rank(); ++d) {
    const std::int32_t id = lowerer.graph.new_label(t.shape[d].extent);
    subscripts.push_back(ir::index_ref(id));
    (reduced[d] ? spec.reduce : spec.out).push_back(id);
    if (!reduced[d]) shape.push_back(t.shape[d]);
  }
  const Tensor body = scalar_tensor(element(t, subscripts), t.weak);
  spec.range = range;
  spec.name = lowerer.reports.source_text(range);
  Tensor result;
  if (op.kind == Reducer::kNorm) {
    Tensor value = body;
    if (!ir::is_float(value.scalar())) value.body = converted(value.body, Scalar::kF64);
    value.body = squared_abs(value.body, range);
    result = lowerer.algebra.reduce({Reducer::kSum, {}, Scalar::kF64}, std::move(spec), value, std::move(shape));
    result = lowerer.algebra.apply_unary(ir::UnaryOp::kSqrt, result, range);
  } else {
    result = lowerer.algebra.reduce(op, std::move(spec), body, std::move(shape));
  }
  return keep ? with_reduced_dimensions(lowerer, result, reduced, range) : result;
}

Tensor with_reduced_dimensions(Lowerer& lowerer, const Tensor& t, const std::vector<bool>& reduced,
                               const SourceRange& range) {
  Tensor kept;
  kept.body = t.body;
  kept.weak = t.weak;
  std::size_t next = 0;
  for (const bool gone : reduced) {
    kept.labels.push_back(gone ? lowerer.graph.new_label() : t.labels[next]);
    kept.shape.push_back(gone ? Dim{1, "a reduced dimension", range} : t.shape[next]);
    if (!gone) ++next;
  }
  return kept;
}

}  // namespace tdsl::frontend
