#include "codegen/guard_bounds.h"

#include <algorithm>

#include "codegen/affine.h"

namespace tdsl::codegen {

std::vector<Expr> conjuncts(const Expr& e) {
  const auto* b = std::get_if<ir::Binary>(&e->op);
  if (b == nullptr || b->op != ir::BinaryOp::kAnd) return {e};
  std::vector<Expr> parts = conjuncts(b->left);
  const std::vector<Expr> right = conjuncts(b->right);
  parts.insert(parts.end(), right.begin(), right.end());
  return parts;
}

namespace {

bool is_label(const Expr& e, int label) {
  const auto* r = std::get_if<ir::IndexRef>(&e->op);
  return r != nullptr && r->label == label;
}

bool is_safe(const KernelTemplate& kernel, const Expr& e) {
  bool safe = !may_fail(e);
  ir::for_each_node(e, [&](const ir::ExprNode& n) {
    // What tells that such a read is inside may be that there is something to loop over.
    safe = safe && !kernel.trusted.contains(&n);
    const auto checked = kernel.checked.find(&n);
    if (checked == kernel.checked.end()) return;
    safe = safe && std::ranges::none_of(checked->second, [](const auto& extent) { return extent.has_value(); });
  });
  return safe;
}

/// Whether the loops around fix the value.
bool is_fixed(const KernelTemplate& kernel, const Expr& e, const std::set<int>& open) {
  bool fixed = true;
  ir::for_each_node(e, [&](const ir::ExprNode& n) {
    if (const auto* r = std::get_if<ir::IndexRef>(&n.op)) fixed = fixed && open.contains(r->label);
    fixed = fixed && !kernel.gathers.contains(&n);
  });
  return fixed;
}

}  // namespace

std::vector<GuardBound> guard_bounds(const KernelTemplate& kernel, int label, const std::set<int>& open,
                                     std::set<const ir::ExprNode*>& used) {
  std::vector<GuardBound> bounds;
  bool all_so_far = true;
  const auto add = [&](const Expr& value, bool from_below, bool past) {
    const bool safe = is_safe(kernel, value);
    if (!is_fixed(kernel, value, open) || (!safe && !all_so_far)) return false;
    bounds.push_back({value, from_below, past, safe});
    return true;
  };
  for (const Expr& part : conjuncts(kernel.compute.guard)) {
    const auto* b = std::get_if<ir::Binary>(&part->op);
    const bool strict = b != nullptr && b->op == ir::BinaryOp::kLt;
    const bool compares = strict || (b != nullptr && b->op == ir::BinaryOp::kLe);
    const bool bounds_label = compares && ((is_label(b->right, label) && add(b->left, true, strict)) ||
                                           (is_label(b->left, label) && add(b->right, false, !strict)));
    if (bounds_label) used.insert(part.id());
    all_so_far = all_so_far && used.contains(part.id());
  }
  return bounds;
}

Expr without_parts(const Expr& guard, const std::set<const ir::ExprNode*>& used) {
  if (!guard || used.empty()) return guard;
  Expr rest;
  for (const Expr& part : conjuncts(guard)) {
    if (!used.contains(part.id())) rest = rest ? ir::binary(ir::BinaryOp::kAnd, rest, part) : part;
  }
  return rest;
}

}  // namespace tdsl::codegen
