#include "ir/analysis/iteration_rules.h"

#include <algorithm>
#include <cmath>

#include "ir/analysis/lookups.h"
#include "ir/analysis/periodic.h"
#include "ir/analysis/rearrangement.h"
#include "ir/graph/affine.h"
#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"

namespace tdsl::ir {

namespace {

template <class F>
void for_each_read_of_values(const Compute& c, const F& f) {
  for (const Expr& body : c.bodies) for_each_read(body, f);
  if (c.guard) for_each_read(c.guard, f);
}

std::vector<std::int32_t> labels_of(const Read& r) {
  std::vector<std::int32_t> labels;
  for (const Expr& subscript : r.subscripts) labels.push_back(bare_label(subscript));
  return labels;
}

template <class T>
bool contains(const std::vector<T>& list, const T& x) {
  return std::ranges::find(list, x) != list.end();
}

/// True if the expression reads an element of a tensor.
bool reads_elements(const Expr& e) {
  bool found = false;
  for_each_read(e, [&](const Read& r) { found = found || !r.subscripts.empty(); });
  return found;
}

bool depends_on_data(const Read& r) { return std::ranges::any_of(r.subscripts, reads_elements); }

/// True if elements of a large tensor are read at a position that is a function of labels by which no tile is cut
/// (`x[min(i, 2)]`): such reads are processed in panels (Note [Gathers]), with each point in one panel, which sparse
/// iteration does not support. Periodic subscripts later become two reads (passes/legalise/boundary_reads), and tensors
/// read under a condition are fetched whole.
bool meets_panels(const Program& program, const Compute& c) {
  // An expression of scalars only is a value computed before the operation; which value is irrelevant here.
  const Hoist is_value = [](const Expr& e) -> std::optional<ValueId> {
    if (const auto v = read_scalar(e)) return v;
    return mentions_labels(e) || reads_elements(e) || may_fail(e) ? std::nullopt : std::optional(ValueId{0});
  };
  const std::vector<Label> labels = all_labels(c);
  const TypeOf type = [&](ValueId v) -> const Type& { return program.type(v); };
  return std::ranges::any_of(lookups_of(c, type, is_value), [&](const Lookup& lookup) {
    const auto& r = std::get<Read>(lookup.read->op);
    bool panels = false;
    for (std::size_t d = 0; d < r.subscripts.size(); ++d)
      panels = panels || (lookup.data[d] && !periodic_of(r.subscripts[d], labels, is_value));
    return panels && !lookup.conditional;
  });
}

bool fails(const Compute& c) { return std::ranges::any_of(c.bodies, may_fail) || (c.guard && may_fail(c.guard)); }

/// The value of elements for which no point is visited.
Expr identity_in(const Compute& c) {
  const Scalar type = c.bodies[0]->type;
  return c.monoid ? identity_of(*c.monoid, type) : zero_of(type);
}

/// True if elements without points have the identity as their value, so that sparse iteration may skip points.
bool starts_as_identity(const Compute& c) { return !c.fill || equal(c.fill, identity_in(c)); }

/// True if an expression that is 0 because its support is false is 0 and not -0.
bool is_positive_zero(const Program& program, const Expr& e) {
  const auto positive = [&](const Expr& part) { return is_positive_zero(program, part); };
  if (!is_float(e->type)) return true;
  if (const auto* c = std::get_if<Constant>(&e->op)) return !std::signbit(std::get<double>(c->value));
  if (const auto* r = std::get_if<Read>(&e->op)) return program.type(r->tensor).has_sparse();
  if (const auto* u = std::get_if<Unary>(&e->op))
    return u->op == UnaryOp::kAbs || (u->op == UnaryOp::kSqrt && positive(u->operand));
  if (const auto* s = std::get_if<Select>(&e->op)) return positive(s->when_true) && positive(s->when_false);
  if (const auto* c = std::get_if<Cast>(&e->op)) return positive(c->operand);
  const auto* b = std::get_if<Binary>(&e->op);
  if (b == nullptr) return false;
  switch (b->op) {
    case BinaryOp::kAbsentMul:
    case BinaryOp::kMutualMul:
    case BinaryOp::kAbsentDiv: return true;
    case BinaryOp::kAdd: return positive(b->left) || positive(b->right);
    case BinaryOp::kSub: return positive(b->left);
    case BinaryOp::kMin:
    case BinaryOp::kMax: return positive(b->left) && positive(b->right);
    default: return false;
  }
}

/// True if the index variable covers the whole dimension.
bool covers(const Compute& c, std::int32_t label, const Extent& extent) {
  const Label& l = label_of(c, label);
  return l.begin == Extent(0) && l.end == extent;
}

/// The index variables of a read for iteration or lookup: plain, each once, over whole dimensions.
std::optional<StoredOperand> operand_of(const Program& program, const Compute& c, const Read& r) {
  const Type& type = program.type(r.tensor);
  if (!type.is_compressed() || r.subscripts.empty()) return std::nullopt;
  const StoredOperand operand{r.tensor, labels_of(r)};
  for (std::size_t d = 0; d < operand.labels.size(); ++d) {
    const std::int32_t label = operand.labels[d];
    if (label < 0 || std::ranges::count(operand.labels, label) > 1 || !covers(c, label, type.shape[d]))
      return std::nullopt;
  }
  return operand;
}

/// True if the support may hold where the operands' elements are absent.
bool holds_without(const Support& s, const std::vector<Expr>& reads, const std::vector<StoredOperand>& operands) {
  std::vector<bool> present;
  for (const Expr& e : reads) {
    const auto* r = std::get_if<Read>(&e->op);
    present.push_back(r == nullptr || !contains(operands, StoredOperand{r->tensor, labels_of(*r)}));
  }
  return holds(s, present);
}

/// True if the read is a lookup, which becomes a gather (passes/legalise/gathers.cpp).
bool looks_up(const Compute& c, const Read& r) {
  for (std::size_t d = 0; d < r.subscripts.size(); ++d) {
    if (is_data_subscript(r, d, read_scalar) && !periodic_of(r.subscripts[d], c.out, read_scalar)) return true;
  }
  return false;
}

}  // namespace

IterationRules::IterationRules(const Program& program, const Compute& compute)
    : program_(program), c_(compute), guards_(program, Products::kExplicit) {
  support_ = support_of(program, compute, &reads_);
  guard_ = guards_.of(compute.guard);
  zero_is_positive_ = compute.monoid || is_positive_zero(program, compute.bodies[0]);
  const auto add = [&](const Read& r) {
    const auto operand = operand_of(program, compute, r);
    if (operand && !contains(operands_, *operand)) operands_.push_back(*operand);
  };
  for (const Expr& e : reads_) {
    if (const auto* r = std::get_if<Read>(&e->op)) add(*r);
  }
  for_each_read_of_values(compute, add);
}

bool IterationRules::supported() const {
  const bool position = c_.monoid && locates(*c_.monoid);
  bool gathers = false;
  for_each_read_of_values(c_, [&](const Read& r) { gathers = gathers || depends_on_data(r); });
  return c_.bodies.size() == 1 && c_.left.empty() && !c_.base && !c_.combine && !c_.in_any_order && !position &&
         !gathers && !fails(c_) && starts_as_identity(c_) && !meets_panels(program_, c_);
}

bool IterationRules::are_needed(const std::vector<StoredOperand>& operands) const {
  if (holds_without(support_, reads_, operands)) return false;
  // Without a reduction, unvisited elements are 0: bitwise the value of the body.
  return zero_is_positive_ || !holds_without(guard_, guards_.reads(), operands);
}

bool IterationRules::keeps_order(const SparseIteration& iteration) const {
  if (!c_.monoid || c_.monoid->kind != Monoid::Kind::kUser) return true;
  std::size_t next = c_.out.size();
  for (const StoredLoop& loop : iteration.loops) {
    if (static_cast<std::size_t>(loop.label) >= c_.out.size() && static_cast<std::size_t>(loop.label) != next++)
      return false;
  }
  return true;
}

SparseIteration::Result IterationRules::result_of(const SparseIteration& iteration) const {
  using enum SparseIteration::Result;
  if (!equal(identity_in(c_), zero_of(c_.bodies[0]->type)) || c_.out.empty() || iteration.loops.size() < c_.out.size())
    return kDense;
  // Levels of other operands restart for each element of the driver.
  bool in_order = c_.out.size() <= iteration.driver().labels.size();
  for (std::size_t d = 0; d < c_.out.size() && in_order; ++d)
    in_order = iteration.loops[d].label == static_cast<std::int32_t>(d);
  // Accumulation starts from absent elements: sums and `any`.
  const bool adds = c_.monoid && (c_.monoid->kind == Monoid::Kind::kSum || c_.monoid->kind == Monoid::Kind::kAny);
  const bool by_rows = adds && c_.out.size() == 2 && iteration.row() == 0 && iteration.has_loop(1);
  return in_order ? kOrdered : by_rows ? kAccumulated : kDense;
}

bool IterationRules::moves_elements() const {
  const auto parts = rearrangement(program_, c_);
  return parts && std::ranges::all_of(
                      *parts, [&](const Rearranged& part) { return program_.type(part.tensor).is_compressed(); });
}

bool IterationRules::computes_points() const {
  const bool from_zero = std::ranges::all_of(c_.out, [](const Label& l) { return l.begin == Extent(0); });
  if (c_.bodies.size() != 1 || c_.out.size() != 2 || !from_zero || !c_.reduce.empty() || c_.monoid ||
      !c_.left.empty() || c_.base || c_.combine || (c_.fill && !is_zero(c_.fill)))
    return false;
  bool dense = true;
  for_each_read_of_values(
      c_, [&](const Read& r) { dense = dense && !program_.type(r.tensor).is_compressed() && !looks_up(c_, r); });
  return dense;
}

bool IterationRules::assembles() const {
  const bool by_operator = !c_.combine || (c_.combine->kind != Monoid::Kind::kUser && !locates(*c_.combine));
  if (c_.bodies.size() != 1 || c_.left.size() < 2 || c_.base || c_.monoid || !by_operator ||
      (c_.fill && !is_zero(c_.fill)))
    return false;
  bool dense = true;
  const auto add = [&](const Read& r) { dense = dense && !program_.type(r.tensor).is_compressed(); };
  for_each_read_of_values(c_, add);
  for (const Expr& e : c_.left) for_each_read(e, add);
  return dense;
}

std::size_t levels_iterated(const SparseIteration& iteration, const StoredOperand& operand, std::size_t depth) {
  const auto begin = iteration.loops.begin(), end = begin + static_cast<std::ptrdiff_t>(depth);
  auto from = begin;
  for (std::size_t level = 0; level < operand.labels.size(); ++level) {
    const auto loop = std::ranges::find(begin, end, operand.labels[level], &StoredLoop::label);
    if (loop < from || loop == end) return level;
    from = loop + 1;
  }
  return operand.labels.size();
}

bool visits(const Compute& compute, const SparseIteration& iteration, ValueId tensor) {
  bool found = false, same = true;
  for_each_read_of_values(compute, [&](const Read& r) {
    if (r.tensor != tensor) return;
    found = true;
    if (iteration.loops.empty()) return;
    const std::vector<std::int32_t> labels = labels_of(r);
    same = same && (labels == iteration.driver().labels || contains(iteration.operands, StoredOperand{tensor, labels}));
  });
  return found && same;
}

}  // namespace tdsl::ir
