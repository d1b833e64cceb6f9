#include "ir/analysis/by_value.h"

#include <algorithm>

#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"

namespace tdsl::ir {

namespace {

/// True unless the expression depends on the label other than by reads of the tensor.
bool is_free(const Expr& e, std::int32_t label, ValueId tensor) {
  if (is_label(e, label)) return false;
  if (const auto* r = std::get_if<Read>(&e->op); r != nullptr && r->tensor == tensor) return true;
  return std::ranges::all_of(children(*e), [&](const Expr& part) { return is_free(part, label, tensor); });
}

bool reads(const Expr& e, ValueId tensor) {
  bool found = false;
  for_each_read(e, [&](const Read& r) { found = found || r.tensor == tensor; });
  return found;
}

/// True if the operation visits the driver row by row, and no other compressed tensor.
bool visits_rows(const Compute& c) {
  if (!c.iteration || c.iteration->result != SparseIteration::Result::kDense) return false;
  const SparseIteration& iteration = *c.iteration;
  if (iteration.operands.size() != 1 || iteration.loops.size() != 2 || iteration.driver().labels.size() != 2)
    return false;
  for (std::size_t level = 0; level < 2; ++level) {
    const StoredLoop& loop = iteration.loops[level];
    if (loop.label != iteration.driver().labels[level] || loop.over != std::vector<int>{0}) return false;
  }
  return true;
}

}  // namespace

Expr weight_of(const Expr& product, const std::function<const Type&(ValueId)>& type) {
  const auto* b = std::get_if<Binary>(&product->op);
  if (b == nullptr || b->op != BinaryOp::kAbsentMul) return {};
  const auto is_element = [&](const Expr& e) {
    const auto* r = std::get_if<Read>(&e->op);
    return r != nullptr && type(r->tensor).is_compressed();
  };
  return is_element(b->left) ? b->right : is_element(b->right) ? b->left : Expr();
}

ByValue by_value(const Compute& c, const std::function<const Type&(ValueId)>& type) {
  if (!visits_rows(c) || c.out.size() + c.reduce.size() != 2 || c.bodies.size() != 1 || !c.left.empty() || c.base ||
      !c.monoid || !combines_freely(*c.monoid))
    return ByValue::kNone;
  const Expr& body = c.bodies.front();
  if (body->type == Scalar::kBool || is_complex(body->type)) return ByValue::kNone;
  const StoredOperand& x = c.iteration->driver();
  const auto is_out = [&](std::int32_t label) { return label < static_cast<std::int32_t>(c.out.size()); };
  const std::int32_t row = x.labels[0], column = x.labels[1];
  const bool free = is_free(body, row, x.tensor) && (!c.guard || is_free(c.guard, row, x.tensor));
  if (is_out(row)) return free && !is_out(column) ? ByValue::kTotals : ByValue::kNone;
  if (free) return c.monoid->kind == Monoid::Kind::kProd ? ByValue::kNone : ByValue::kCounts;
  if (!is_out(column) || c.guard || c.monoid->kind != Monoid::Kind::kSum || !is_float(body->type) ||
      type(x.tensor).scalar != body->type)
    return ByValue::kNone;
  const Expr weight = weight_of(body, type);
  return weight && is_free(weight, column, x.tensor) && !reads(weight, x.tensor) ? ByValue::kWeights : ByValue::kNone;
}

}  // namespace tdsl::ir
