#include "codegen/loops/masked_lines.h"

#include <algorithm>

#include "codegen/operations/vector_forms.h"
#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"

namespace tdsl::codegen {

namespace {

/// Operations of a value above which a branch per few elements costs less.
constexpr int kMostOperations = 20;

int operation_count(const Expr& e) {
  int count = 0;
  ir::for_each_node(e, [&](const ir::ExprNode& n) {
    if (std::holds_alternative<ir::Unary>(n.op) || std::holds_alternative<ir::Binary>(n.op)) ++count;
  });
  return count;
}

/// True if the subscript moves to the next element with the label.
bool advances(const Expr& e, int label) {
  if (ir::is_label(e, label)) return true;
  const auto* b = std::get_if<ir::Binary>(&e->op);
  if (b == nullptr || (b->op != ir::BinaryOp::kAdd && b->op != ir::BinaryOp::kSub)) return false;
  if (!ir::mentions_label(b->right, label)) return advances(b->left, label);
  return b->op == ir::BinaryOp::kAdd && !ir::mentions_label(b->left, label) && advances(b->right, label);
}

class MaskCheck {
 public:
  MaskCheck(const ComputeKernel& kernel, int label) : kernel_(kernel), label_(label) {}

  /// True if the expression can be computed at all points, whether they count or not, in vectors.
  [[nodiscard]] bool anywhere(const Expr& e) const {
    bool anywhere = library_calls(e) == 0;
    ir::for_each_node(e, [&](const ir::ExprNode& n) {
      anywhere = anywhere && !may_fail(n) && !std::holds_alternative<ir::Select>(n.op);
      if (const auto* r = std::get_if<ir::Read>(&n.op)) anywhere = anywhere && reads_in_order(n, *r);
    });
    return anywhere;
  }

  [[nodiscard]] bool reads_along(const Expr& e) const {
    bool found = false;
    ir::for_each_read(e, [&](const ir::Read& r) {
      found = found || std::ranges::any_of(r.subscripts, [&](const Expr& s) { return ir::mentions_label(s, label_); });
    });
    return found;
  }

 private:
  /// Reads that are neither checked nor in bounds by a condition are in bounds everywhere.
  [[nodiscard]] bool reads_in_order(const ir::ExprNode& n, const ir::Read& r) const {
    if (kernel_.checked.contains(&n) || kernel_.trusted.contains(&n) || kernel_.gathers.contains(&n)) return false;
    for (std::size_t d = 0; d < r.subscripts.size(); ++d) {
      if (!ir::mentions_label(r.subscripts[d], label_)) continue;
      if (d + 1 < r.subscripts.size() || !advances(r.subscripts[d], label_)) return false;
    }
    return true;
  }

  const ComputeKernel& kernel_;
  int label_;
};

bool has_several_parts(const Expr& condition) {
  const auto* b = std::get_if<ir::Binary>(&condition->op);
  return b != nullptr && ir::is_logical(b->op);
}

/// The line with the value's own condition in its mask: `cast(c)` counts, `select(c, x, identity)` skips.
MaskedLine with_condition_of_value(MaskedLine line, const ComputeKernel& kernel) {
  if (!line.value) return line;
  const Expr value = line.value;
  const auto take = [&](const Expr& condition, Expr rest) {
    if (line.mask || has_several_parts(condition)) line = {ir::conjunction_of(line.mask, condition), std::move(rest)};
  };
  if (const auto* c = std::get_if<ir::Cast>(&value->op)) {
    if (kernel.compute.monoid->kind == ir::Monoid::Kind::kSum && c->operand->type == ir::Scalar::kBool)
      take(c->operand, {});
  } else if (const auto* s = std::get_if<ir::Select>(&value->op)) {
    const bool skips = kernel.compute.monoid->kind == ir::Monoid::Kind::kSum
                           ? ir::is_zero(s->when_false)
                           : ir::equal(s->when_false, ir::identity_of(*kernel.compute.monoid, kernel.type));
    if (skips) take(s->condition, s->when_true);
  }
  return line;
}

}  // namespace

std::optional<MaskedLine> masked_line(const ComputeKernel& kernel, int label, const Expr& guard) {
  const ir::Compute& c = kernel.compute;
  if (!c.monoid || !kernel.scattered.empty() || !kernel.gathers.empty() || ir::stored_loops(c) != nullptr)
    return std::nullopt;
  using Kind = ir::Monoid::Kind;
  using Mask = nest::LineReduction::Mask;
  const Kind kind = c.monoid->kind;
  const bool reduces = kind == Kind::kSum || kind == Kind::kProd || kind == Kind::kMin || kind == Kind::kMax;
  const bool in_lanes = ir::is_real(kernel.type) || kernel.type == ir::Scalar::kI32 || kernel.type == ir::Scalar::kI64;
  if (!reduces || !in_lanes) return std::nullopt;
  if (c.by_search) return MaskedLine{std::get<ir::Cast>(c.bodies.front()->op).operand, {}, Mask::kFirst};
  const MaskCheck check(kernel, label);
  MaskedLine line = with_condition_of_value({guard, c.bodies.front()}, kernel);
  if (!line.mask || operation_count(line.mask) > kMostOperations || !check.anywhere(line.mask) ||
      !check.reads_along(line.mask))
    return std::nullopt;
  if (line.value && (operation_count(line.value) > kMostOperations || !check.anywhere(line.value)))
    line.masks = Mask::kOnly;
  return line;
}

}  // namespace tdsl::codegen
