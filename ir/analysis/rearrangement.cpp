#include "ir/analysis/rearrangement.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ir/analysis/periodic.h"
#include "ir/graph/expr_build.h"

namespace tdsl::ir {

namespace {

/// 0, but not -0.0.
bool is_plain_zero(const Expr& e) { return equal(e, zero_of(e->type)); }

class RearrangedParts {
 public:
  RearrangedParts(const Compute& c, const std::function<const Type&(ValueId)>& type, const Hoist& hoist)
      : compute_(c), type_(type), hoist_(hoist) {}

  std::optional<std::vector<Rearranged>> run() {
    Rearranged all;
    if (compute_.guard && !limit(compute_.guard, true, all)) return std::nullopt;
    all.guarded = static_cast<bool>(compute_.guard);
    if (!parts_of(compute_.bodies[0], all) || parts_.empty()) return std::nullopt;
    return std::move(parts_);
  }

 private:
  bool parts_of(const Expr& e, const Rearranged& here) {
    if (const auto* s = std::get_if<Select>(&e->op)) {
      Rearranged then = here, otherwise = here;
      then.guarded = otherwise.guarded = true;
      return limit(s->condition, true, then) && limit(s->condition, false, otherwise) && parts_of(s->when_true, then) &&
             parts_of(s->when_false, otherwise);
    }
    // Elements of tensors with sparse dimensions are never -0.
    if (const auto* b = std::get_if<Binary>(&e->op);
        b != nullptr && b->op == BinaryOp::kAdd && (is_plain_zero(b->left) || is_plain_zero(b->right)))
      return parts_of(is_plain_zero(b->left) ? b->right : b->left, here);
    const auto* r = std::get_if<Read>(&e->op);
    return r == nullptr ? is_plain_zero(e) : part(e, *r, here);
  }

  bool part(const Expr& e, const Read& r, Rearranged here) {
    const Type& operand = type_(r.tensor);
    if (operand.rank() != 2 || !operand.has_sparse()) return false;
    here.tensor = r.tensor;
    here.place = e->range;
    for (std::size_t d = 0; d < 2; ++d) {
      if (!subscript(r.subscripts[d], operand.shape[d], here.at[d])) return false;
    }
    if (here.at[0].label == here.at[1].label) return false;
    parts_.push_back(std::move(here));
    return true;
  }

  bool subscript(const Expr& e, const Extent& extent, Rearranged::Subscript& at) {
    if (const std::optional<Affine> form = affine_of(e, hoist_)) {
      const std::optional<std::int64_t> factor =
          form->terms.size() == 1 ? form->terms[0].coefficient.constant() : std::nullopt;
      if (!factor || *factor == 0) return false;
      at = {form->terms[0].label, *factor, form->constant};
      return true;
    }
    if (const std::optional<ValueId> index = index_vector(e, type_)) {
      at = {bare_label(std::get<Read>(e->op).subscripts[0]), 1, {}, false, index, extent};
      return true;
    }
    const std::optional<Periodic> p = periodic_of(e, compute_.out, hoist_);
    if (!p || !(p->extent == extent) || !(compute_.out[static_cast<std::size_t>(p->label)].end == extent)) return false;
    at = {p->label, 1, p->constant, true};
    return true;
  }

  // --- Conditions on one index variable

  /// Narrows the ranges to the points at which the condition has the value.
  bool limit(const Expr& condition, bool value, Rearranged& here) {
    if (const auto* u = std::get_if<Unary>(&condition->op); u != nullptr && u->op == UnaryOp::kNot)
      return limit(u->operand, !value, here);
    const auto* b = std::get_if<Binary>(&condition->op);
    if (b == nullptr) return false;
    if (b->op == (value ? BinaryOp::kAnd : BinaryOp::kOr))
      return limit(b->left, value, here) && limit(b->right, value, here);
    return b->left->type == Scalar::kI64 && b->right->type == Scalar::kI64 &&
           compare(value ? b->op : opposite(b->op), *b, here);
  }
  static BinaryOp opposite(BinaryOp op) {
    switch (op) {
      case BinaryOp::kLt: return BinaryOp::kGe;
      case BinaryOp::kLe: return BinaryOp::kGt;
      case BinaryOp::kGt: return BinaryOp::kLe;
      case BinaryOp::kGe: return BinaryOp::kLt;
      case BinaryOp::kEq: return BinaryOp::kNe;
      case BinaryOp::kNe: return BinaryOp::kEq;
      default: return op;
    }
  }
  bool compare(BinaryOp op, const Binary& b, Rearranged& here) {
    const std::optional<Affine> form = affine_of(binary(BinaryOp::kSub, b.left, b.right), hoist_);
    const std::optional<std::int64_t> factor =
        form && form->terms.size() == 1 ? form->terms[0].coefficient.constant() : std::nullopt;
    if (!factor || (*factor != 1 && *factor != -1)) return false;
    // label `op` edge
    const bool turned = *factor < 0;
    const Extent edge = turned ? form->constant : Extent(0) - form->constant;
    Rearranged::Range& range = here.range[static_cast<std::size_t>(form->terms[0].label)];
    const bool less = op == BinaryOp::kLt || op == BinaryOp::kLe;
    const bool greater = op == BinaryOp::kGt || op == BinaryOp::kGe;
    const bool reaches = op == BinaryOp::kLe || op == BinaryOp::kGe || op == BinaryOp::kEq;
    if (!less && !greater && op != BinaryOp::kEq) return false;
    if (op == BinaryOp::kEq || less != turned) range.to.push_back(reaches ? edge + Extent(1) : edge);
    if (op == BinaryOp::kEq || greater != turned) range.from.push_back(reaches ? edge : edge + Extent(1));
    return true;
  }

  const Compute& compute_;
  const std::function<const Type&(ValueId)>& type_;
  const Hoist& hoist_;
  std::vector<Rearranged> parts_;
};

bool only_places(const Compute& c) {
  const bool from_zero = std::ranges::all_of(c.out, [](const Label& l) { return l.begin == Extent(0); });
  return c.bodies.size() == 1 && c.out.size() == 2 && from_zero && c.reduce.empty() && !c.monoid && c.left.empty() &&
         !c.base && !c.combine && !c.in_any_order && (!c.fill || is_plain_zero(c.fill));
}

bool at_least(const Extent& a, std::int64_t least) {
  const std::optional<std::int64_t> known = a.constant();
  return known && *known >= least;
}

/// True if the subscript is within 0..extent over the index variables' ranges.
bool is_inside(const Rearranged::Subscript& s, const Extent& extent, const Label& label,
               const Rearranged::Range& range) {
  if (s.around || s.index) return true;  // elements of an index vector are checked where they are used
  std::vector<Extent> first = range.from, last;
  first.push_back(label.begin);
  for (const Extent& to : range.to) last.push_back(to - Extent(1));
  last.push_back(label.end - Extent(1));
  const auto value = [&](const Extent& x) { return x * Extent(s.factor) + s.offset; };
  const std::vector<Extent>& low = s.factor > 0 ? first : last;
  const std::vector<Extent>& high = s.factor > 0 ? last : first;
  return std::ranges::any_of(low, [&](const Extent& x) { return at_least(value(x), 0); }) &&
         std::ranges::any_of(high, [&](const Extent& x) { return at_least(extent - value(x), 1); });
}

}  // namespace

std::optional<std::vector<Rearranged>> rearrangement(const Compute& compute,
                                                     const std::function<const Type&(ValueId)>& type,
                                                     const Hoist& hoist) {
  return only_places(compute) ? RearrangedParts(compute, type, hoist).run() : std::nullopt;
}

std::optional<ValueId> index_vector(const Expr& subscript, const std::function<const Type&(ValueId)>& type) {
  const auto* r = std::get_if<Read>(&subscript->op);
  if (r == nullptr || r->subscripts.size() != 1 || bare_label(r->subscripts[0]) < 0) return std::nullopt;
  const Type& vector = type(r->tensor);
  return vector.scalar == Scalar::kI64 && !vector.has_sparse() ? std::optional(r->tensor) : std::nullopt;
}

std::optional<std::vector<Rearranged>> rearrangement(const Program& program, const Compute& compute) {
  const auto type = [&](ValueId v) -> const Type& { return program.type(v); };
  auto parts = rearrangement(compute, type, read_scalar);
  for (const Rearranged& part : parts ? *parts : std::vector<Rearranged>{}) {
    for (std::size_t d = 0; d < 2; ++d) {
      const auto label = static_cast<std::size_t>(part.at[d].label);
      const std::optional<ValueId>& index = part.at[d].index;
      if (index && !(program.type(*index).shape[0] == compute.out[label].end)) return std::nullopt;
      if (part.guarded &&
          !is_inside(part.at[d], program.type(part.tensor).shape[d], compute.out[label], part.range[label]))
        return std::nullopt;
    }
  }
  return parts;
}

}  // namespace tdsl::ir
