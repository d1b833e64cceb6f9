#include <utility>

#include "frontend/lower/builtins.h"
#include "frontend/lower/functions/points.h"
#include "frontend/lower/lowering.h"
#include "frontend/lower/prelude.h"
#include "frontend/sema/types.h"
#include "ir/graph/expr_build.h"

// filter, nonzero, unique, groups, join: results with an extent that data determine. All of them are operations that
// exist (topk, argsort, cumsum, gathers, scatters; the functions of the prelude), recorded once the extent is counted.

namespace tdsl::frontend {

namespace {

using ir::Routine;

/// A call whose results have an extent found by data. It is computed whether or not its value is needed: it cannot
/// fail, and its extent cannot depend on a condition.
struct FoundCall {
  Lowerer& lowerer;
  const ast::Call& call;
  const SourceRange& range;
  Restored<Guards> outside{lowerer.guards, lowerer.guards.without_conditions()};

  /// The tensor as a value.
  [[nodiscard]] Tensor stored(const Tensor& t) const {
    const std::vector<std::int32_t> indices = free_labels(t);
    if (!indices.empty())
      lowerer.reports.fail(DiagnosticId::kNotScalar, t.range,
                           call.callee.name + " takes whole tensors, but this depends on the index variable `" +
                               lowerer.graph.label(indices[0]).name + "`");
    return value(lowerer.values.materialise(t, "", t.range), t.range);
  }
  /// The same in one dimension.
  [[nodiscard]] Tensor flat(const Tensor& t) const {
    return stored(t.rank() == 1 ? t : lowerer.algebra.flattened(stored(t), t.range));
  }
  [[nodiscard]] Tensor value(ValueId v, const SourceRange& place) const {
    return lowerer.values.tensor_of(v, lowerer.reports.source_text(place), place);
  }
  [[nodiscard]] Tensor along(Routine::Kind kind, const Tensor& t, Scalar operand, Scalar result) const {
    Routine routine;
    routine.kind = kind;
    routine.operands = {lowerer.algebra.routine_operand(t, operand, call)};
    return lowerer.algebra.emit_routine(std::move(routine), {{result, t.shape}}, range)[0];
  }
  [[nodiscard]] Tensor running_sum(const Tensor& t) const {
    return along(Routine::Kind::kCumsum, t, Scalar::kI64, Scalar::kI64);
  }
  [[nodiscard]] Tensor order_of(const Tensor& t) const {
    return along(Routine::Kind::kArgsort, t, t.scalar(), Scalar::kI64);
  }
  [[nodiscard]] Tensor taken(const Tensor& from, const Tensor& places, std::size_t axis = 0) const {
    return stored(taken_along(lowerer, from, places, axis, range));
  }
  /// The same as keys, whose derivatives are 0.
  [[nodiscard]] Tensor keys(const Tensor& from, const Tensor& places) const {
    const Tensor result = taken(from, places);
    lowerer.graph.hold_constant(*whole_value(result));
    return result;
  }
  [[nodiscard]] std::vector<Tensor> prelude(const std::string& name, std::vector<Tensor> args) const {
    for (Tensor& t : args) t.range = range;
    return call_prelude_for_all(lowerer, name, args, range);
  }
  /// A scalar argument of the prelude.
  [[nodiscard]] Tensor size(const Extent& e) const { return scalar_tensor(expr_of(lowerer.graph.program(), e)); }
  /// The extent that is the sum of a vector of integers or bools.
  [[nodiscard]] Extent found(const Tensor& counts, const Extent& estimate) const {
    const Reducer kind = counts.scalar() == Scalar::kBool ? Reducer::kCount : Reducer::kSum;
    const Tensor sum = reduce_axes(lowerer, {kind, {}, Scalar::kI64}, counts, {true}, false, range);
    return lowerer.shapes.found_extent(lowerer.values.materialise(sum, "", range), estimate, range);
  }
  /// The ascending places where the vector `mask` is true: its largest elements, of which equal ones are in order.
  [[nodiscard]] Tensor places(const Tensor& mask) const {
    const Dim length{found(mask, mask.shape[0].extent), "the length of " + call.callee.name, range};
    Routine routine;
    routine.kind = Routine::Kind::kTopk;
    routine.operands = {lowerer.algebra.routine_operand(mask, Scalar::kBool, call)};
    return lowerer.algebra.emit_routine(std::move(routine), {{Scalar::kBool, {length}}, {Scalar::kI64, {length}}},
                                        range)[1];
  }
  /// True for each element of an ascending vector that differs from the one before it.
  [[nodiscard]] Tensor firsts(const Tensor& ascending) const {
    return prelude("first_of_equals", {comparable(ascending)})[0];
  }
  /// Integers and bools as `i64`.
  [[nodiscard]] static Tensor comparable(const Tensor& t) {
    Tensor result = t;
    if (!ir::is_float(t.scalar())) result.body = converted(t.body, Scalar::kI64);
    result.weak = Weak::kNo;
    return result;
  }
};

void require_vector_of(Lowerer& lowerer, const Tensor& t, const std::string& name) {
  if (t.rank() != 1)
    lowerer.reports.fail(DiagnosticId::kRankMismatch, t.range,
                         name + " takes vectors, but this is " + lowerer.graph.text(t));
}

void require_tensor_of(Lowerer& lowerer, const Tensor& t, const std::string& name) {
  if (t.rank() == 0)
    lowerer.reports.fail(DiagnosticId::kRankMismatch, t.range, name + " takes a tensor, but this is a scalar");
}

}  // namespace

Tensor call_filter(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  const std::vector<Tensor> args = positional(lowerer, call, 2, 2, range, {"axis"});
  const Tensor& from = args[0];
  const Tensor& mask = args[1];
  require_tensor_of(lowerer, from, "filter");
  if (mask.scalar() != Scalar::kBool)
    lowerer.reports.fail(DiagnosticId::kTypeMismatch, mask.range,
                         "the mask of filter is of type bool, but this is " + lowerer.graph.text(mask) +
                             "; compare it: filter(x, c != 0)");
  const FoundCall found{lowerer, call, range};
  const ast::Expr* axis = named_argument(call, "axis");
  if (mask.rank() == 1) {
    const auto along = axis == nullptr ? 0 : static_cast<std::size_t>(axis_number(lowerer, *axis, from.rank()));
    lowerer.shapes.agree(from.shape[along], mask.shape[0], range, "between the tensor and the mask of filter");
    const Tensor whole = found.stored(from);
    return found.taken(whole, found.places(found.stored(mask)), along);
  }
  if (mask.rank() != from.rank())
    lowerer.reports.fail(DiagnosticId::kRankMismatch, mask.range,
                         "the mask of filter is a vector, or has the shape of the tensor, " + lowerer.graph.text(from) +
                             ", but this is " + lowerer.graph.text(mask));
  if (axis != nullptr)
    lowerer.reports.fail(DiagnosticId::kBadArgument, axis->range,
                         "axis= of filter goes with a mask that is a vector: this one chooses single elements");
  for (std::size_t d = 0; d < mask.rank(); ++d)
    lowerer.shapes.agree(from.shape[d], mask.shape[d], range, "between the tensor and the mask of filter");
  const Tensor whole = found.flat(from);
  return found.taken(whole, found.places(found.flat(mask)));
}

std::vector<Tensor> call_nonzero(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  const Tensor t = positional(lowerer, call, 1, 1, range)[0];
  require_tensor_of(lowerer, t, "nonzero");
  const FoundCall found{lowerer, call, range};
  Tensor mask = t;
  if (t.scalar() != Scalar::kBool) mask.body = ir::binary(BinaryOp::kNe, t.body, ir::zero_of(t.scalar()), range);
  mask.weak = Weak::kNo;
  const Tensor places = found.places(found.flat(mask));
  if (t.rank() == 1) return {places};
  std::vector<Tensor> subscripts;
  for (std::size_t d = 0; d < t.rank(); ++d) {
    Tensor subscript = lowerer.algebra.fresh(places);
    subscript.body = lowerer.algebra.split(subscript.body, t.shape, range)[d];
    subscripts.push_back(found.stored(subscript));
  }
  return subscripts;
}

Tensor call_unique(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  const Tensor t = positional(lowerer, call, 1, 1, range)[0];
  require_tensor_of(lowerer, t, "unique");
  const FoundCall found{lowerer, call, range};
  const Tensor sorted = found.along(Routine::Kind::kSort, found.flat(t), t.scalar(), t.scalar());
  return found.keys(sorted, found.places(found.stored(found.firsts(sorted))));
}

std::vector<Tensor> call_groups(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  std::vector<Tensor> keys = positional(lowerer, call, 1, 1000, range);
  const FoundCall found{lowerer, call, range};
  for (Tensor& key : keys) {
    require_vector_of(lowerer, key, "groups");
    lowerer.shapes.agree(keys[0].shape[0], key.shape[0], range, "between the keys of groups");
    key = found.stored(key);
  }
  // Lexicographic order: by the last key, then stably by the ones before it.
  Tensor order = found.order_of(keys.back());
  for (std::size_t k = keys.size() - 1; k-- > 0;)
    order = found.taken(order, found.order_of(found.taken(keys[k], order)));
  Tensor first;
  for (std::size_t k = 0; k < keys.size(); ++k) {
    keys[k] = found.taken(keys[k], order);
    const Tensor own = found.firsts(keys[k]);
    const auto either = [&](const std::vector<Expr>& e) { return ir::binary(BinaryOp::kOr, e[0], e[1], range); };
    first = k == 0 ? own : lowerer.algebra.elementwise({first, own}, Weak::kNo, range, either);
  }
  first = found.stored(first);
  const Tensor running = found.running_sum(first);
  const Tensor places = found.places(first);
  for (Tensor& key : keys) key = found.keys(key, places);
  keys.push_back(found.prelude("group_numbers", {order, running})[0]);
  keys.push_back(found.prelude("group_counts", {places, found.size(first.shape[0].extent)})[0]);
  return keys;
}

std::vector<Tensor> call_join(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  const std::vector<Tensor> args = positional(lowerer, call, 2, 2, range, {"kind"});
  const bool left = option_word(lowerer, call, "kind", {"inner", "left"}) == "left";
  for (const Tensor& t : args) require_vector_of(lowerer, t, "join");
  const FoundCall found{lowerer, call, range};
  const Extent rows = lowerer.shapes.length_of(args[0].shape[0].extent);
  const Extent others = lowerer.shapes.length_of(args[1].shape[0].extent);
  const Tensor all = found.stored(FoundCall::comparable(lowerer.algebra.joined(args[0], args[1], 0, range)));
  const Tensor order = found.order_of(all);
  const std::vector<Tensor> partners =
      found.prelude("join_partners", {order, found.taken(all, order), found.size(rows), found.size(others)});
  // Of each row: the number of results, and of all rows up to it.
  const Tensor wanted = left ? found.prelude("join_least_one", {partners[0]})[0] : partners[0];
  const Tensor running = found.running_sum(wanted);
  const Tensor marks =
      found.prelude("join_marks", {wanted, running, found.size(found.found(wanted, rows + others))})[0];
  const Tensor row = found.along(Routine::Kind::kCummax, marks, Scalar::kI64, Scalar::kI64);
  return {row, found.prelude("join_others", {row, wanted, running, partners[0], partners[1], partners[2]})[0]};
}

}  // namespace tdsl::frontend
