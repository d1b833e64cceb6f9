#include "ir/analysis/diagonal.h"

#include <algorithm>
#include <vector>

#include "ir/graph/affine.h"
#include "ir/graph/expr_build.h"
#include "ir/graph/inequalities.h"

namespace tdsl::ir {

namespace {

using Labels = std::optional<std::array<std::int32_t, 2>>;

/// Larger distances do not bound the points of a loop (codegen/loops/guard_bounds.h).
constexpr std::int64_t kMostApart = std::int64_t{1} << 40;

/// The index variables of `i == j + c` and `i + j == c`, with a constant c.
Labels equated(const Expr& e, BinaryOp op) {
  const auto* b = std::get_if<Binary>(&e->op);
  if (b == nullptr || b->op != op || b->left->type != Scalar::kI64) return std::nullopt;
  const std::optional<Extent> left = polynomial_of(b->left);
  const std::optional<Extent> right = polynomial_of(b->right);
  if (!left || !right) return std::nullopt;
  Extent rest = *left - *right;
  std::array<std::int32_t, 2> labels{};
  std::size_t count = 0;
  for (const ValueId v : rest.values()) {
    if (v.id > label_value(0).id) continue;  // a size
    const std::optional<LinearForm> form = linear_in(rest, v);
    if (!form || (form->coefficient != 1 && form->coefficient != -1) || count == 2) return std::nullopt;
    labels[count++] = label_value(0).id - v.id;
    rest = form->rest;
  }
  const std::optional<std::int64_t> apart = rest.constant();
  if (count != 2 || !apart || *apart < -kMostApart || *apart > kMostApart) return std::nullopt;
  std::ranges::sort(labels);
  return labels;
}

/// True if the value where the condition holds may differ from 0.
bool is_on_true(const Select& s) { return is_zero(s.when_false); }

}  // namespace

Labels diagonal_of(const Expr& e) {
  const auto* s = std::get_if<Select>(&e->op);
  if (s == nullptr) return std::nullopt;
  if (!is_on_true(*s)) return is_zero(s->when_true) ? equated(s->condition, BinaryOp::kNe) : std::nullopt;
  for (const Expr& part : conjuncts(s->condition)) {
    if (const Labels labels = equated(part, BinaryOp::kEq)) return labels;
  }
  return std::nullopt;
}

const Expr& value_on_diagonal(const Expr& e) {
  const auto& s = std::get<Select>(e->op);
  return is_on_true(s) ? s.when_true : s.when_false;
}

}  // namespace tdsl::ir
