#include "codegen/loops/guard_bounds.h"

#include <algorithm>
#include <optional>

#include "ir/graph/affine.h"
#include "ir/graph/expr_build.h"
#include "ir/graph/inequalities.h"

namespace tdsl::codegen {

namespace {

bool is_safe(const ComputeKernel& kernel, const Expr& e) {
  bool safe = !ir::may_fail(e);
  ir::for_each_node(e, [&](const ir::ExprNode& n) {
    // Such a read may be in bounds only because the loop is nonempty.
    safe = safe && !kernel.trusted.contains(&n);
    const auto checked = kernel.checked.find(&n);
    if (checked == kernel.checked.end()) return;
    safe = safe && std::ranges::none_of(checked->second, [](const auto& extent) { return extent.has_value(); });
  });
  return safe;
}

/// True if the value is constant within the enclosing loops over `open`.
bool is_fixed(const ComputeKernel& kernel, const Expr& e, const std::set<int>& open) {
  bool fixed = true;
  ir::for_each_node(e, [&](const ir::ExprNode& n) {
    if (const auto* r = std::get_if<ir::IndexRef>(&n.op)) fixed = fixed && open.contains(r->label);
    fixed = fixed && !kernel.gathers.contains(&n);
  });
  return fixed;
}

}  // namespace

std::vector<GuardBound> guard_bounds(const ComputeKernel& kernel, int label, const std::set<int>& open,
                                     std::set<const ir::ExprNode*>& used) {
  std::vector<GuardBound> bounds;
  bool all_so_far = true;
  const auto add = [&](const Expr& value, bool from_below, bool past) {
    const bool safe = is_safe(kernel, value);
    if (!is_fixed(kernel, value, open) || (!safe && !all_so_far)) return false;
    bounds.push_back({value, from_below, past, safe});
    return true;
  };
  for (const Expr& part : ir::conjuncts(kernel.compute.guard)) {
    const auto* b = std::get_if<ir::Binary>(&part->op);
    const bool strict = b != nullptr && b->op == ir::BinaryOp::kLt;
    const bool compares = strict || (b != nullptr && b->op == ir::BinaryOp::kLe);
    const auto at = [&](const Expr& value) { return add(value, true, false) && add(value, false, true); };
    const bool equals = b != nullptr && b->op == ir::BinaryOp::kEq;
    const bool bounds_label =
        (compares && ((ir::is_label(b->right, label) && add(b->left, true, strict)) ||
                      (ir::is_label(b->left, label) && add(b->right, false, !strict)))) ||
        (equals && ((ir::is_label(b->right, label) && at(b->left)) || (ir::is_label(b->left, label) && at(b->right))));
    if (bounds_label) used.insert(part.id());
    all_so_far = all_so_far && used.contains(part.id());
  }
  return bounds;
}

Expr without_parts(const Expr& guard, const std::set<const ir::ExprNode*>& used) {
  if (!guard || used.empty()) return guard;
  Expr rest;
  for (const Expr& part : ir::conjuncts(guard)) {
    if (!used.contains(part.id())) rest = ir::conjunction_of(rest, part);
  }
  return rest;
}

namespace {

using Bound = SymbolicBound;

/// Limits on the numbers in a bound, so that computing it does not overflow.
constexpr std::int64_t kLargestConstant = std::int64_t{1} << 40;
constexpr std::int64_t kLargestSlope = 1 << 10;

class Finder {
 public:
  Finder(const OperationProgram& program, const ComputeKernel& kernel, ValueId target)
      : program_(program),
        kernel_(kernel),
        target_(target),
        inequalities_([this](const Expr& e) { return form(e); }, ir::Inequalities::Of::kEquality) {}

  PointBounds run() {
    const ir::Compute& c = kernel_.compute;
    PointBounds found;
    found.all = true;
    bool safe = true;
    for (const Expr& part : ir::conjuncts(c.guard)) {
      const std::vector<Bound> bounds = safe ? bounds_in(part) : std::vector<Bound>{};
      found.bounds.insert(found.bounds.end(), bounds.begin(), bounds.end());
      if (bounds.empty())
        found.all = false;
      else
        found.said.insert(part.id());
      safe = safe && !fails(part);
    }
    const Expr& body = c.bodies.front();
    if (!safe || fails(body)) return found;
    for (const Expr& part : inequalities_.around(body)) {
      const std::vector<Bound> bounds = bounds_in(part);
      found.bounds.insert(found.bounds.end(), bounds.begin(), bounds.end());
    }
    return found;
  }

 private:
  [[nodiscard]] bool fails(const Expr& e) const {
    bool fails = ir::may_fail(e);
    ir::for_each_node(e, [&](const ir::ExprNode& n) { fails = fails || kernel_.checked.contains(&n); });
    return fails;
  }

  /// Bounds equivalent to the condition; none if it has other parts.
  [[nodiscard]] std::vector<Bound> bounds_in(const Expr& part) const {
    std::vector<Bound> bounds;
    if (fails(part)) return bounds;
    for (const ir::Inequality& inequality : inequalities_.of(part)) {
      const std::optional<Bound> bound = bound_of(inequality);
      if (!bound) return {};
      bounds.push_back(*bound);
    }
    return bounds;
  }

  /// The inequality as a bound of the column if it contains the column's label, else of the row.
  [[nodiscard]] std::optional<Bound> bound_of(const ir::Inequality& inequality) const {
    const auto coefficient = [&](std::int32_t label) {
      const auto found = inequality.coefficients.find(label);
      return found == inequality.coefficients.end() ? 0 : found->second;
    };
    const int label = coefficient(1) != 0 ? 1 : 0;
    const std::int64_t own = coefficient(label);
    const bool others = std::ranges::any_of(inequality.coefficients, [](const auto& term) { return term.first > 1; });
    if ((own != 1 && own != -1) || others || values_that_are_no_sizes(inequality.offset) > 1) return std::nullopt;
    const ir::AffineExpr solved = ir::scaled(inequality, -own);
    return Bound{label, own == -1, label == 0 ? 0 : -own * coefficient(0), solved.offset};
  }

  /// The expression as a sum of labels, numbers and host values; nullopt for others.
  [[nodiscard]] std::optional<ir::AffineExpr> form(const Expr& e) const {
    const auto form = ir::affine_in_labels(e, [](ValueId v) { return Extent::of(v); });
    if (!form) return std::nullopt;
    for (const auto& [label, coefficient] : form->coefficients) {
      if (coefficient > kLargestSlope || coefficient < -kLargestSlope) return std::nullopt;
    }
    for (const auto& [atoms, coefficient] : form->offset.terms()) {
      const bool number = atoms.empty() && coefficient <= kLargestConstant && coefficient >= -kLargestConstant;
      const bool value = atoms.size() == 1 && atoms[0]->kind == Extent::Atom::Kind::kValue &&
                         program_.is_host(atoms[0]->value) && (coefficient == 1 || coefficient == -1);
      if (!number && !value) return std::nullopt;
    }
    return form;
  }

  /// The number of values that are not extents of the result: these may be any integers.
  [[nodiscard]] std::size_t values_that_are_no_sizes(const Extent& e) const {
    const std::vector<ValueId> values = e.values();
    const std::vector<Extent>& shape = program_.type(target_).shape;
    return static_cast<std::size_t>(std::ranges::count_if(
        values, [&](ValueId v) { return std::ranges::find(shape, Extent::of(v)) == shape.end(); }));
  }

  const OperationProgram& program_;
  const ComputeKernel& kernel_;
  ValueId target_;
  ir::Inequalities inequalities_;
};

}  // namespace

PointBounds point_bounds(const OperationProgram& program, const RecordedOp& op, const ComputeKernel& kernel,
                         ValueId target) {
  const ir::Compute& c = kernel.compute;
  const bool from_zero = std::ranges::all_of(c.out, [](const ir::Label& l) { return l.begin == Extent(0); });
  if (c.out.size() != 2 || !from_zero || !c.left.empty() || op.has_base()) return {};
  // Zeros: no row.
  if (!c.guard && c.reduce.empty() && ir::is_zero(c.bodies.front())) return {{{0, false, 0, Extent(-1)}}, {}, true};
  return Finder(program, kernel, target).run();
}

}  // namespace tdsl::codegen
