#include "ir/differentiate/place.h"

#include <algorithm>

#include "ir/differentiate/adjoints.h"
#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"

namespace tdsl::ir {

namespace {

/// True if the expression is that extent.
bool is_extent(const ExtentFacts& facts, const Expr& e, const Extent& extent) {
  const auto form = facts.affine(e);
  return form && form->coefficients.empty() && facts.same(form->offset, extent);
}

const Binary* binary_of(const Expr& e, BinaryOp op) {
  const auto* b = std::get_if<Binary>(&e->op);
  return b != nullptr && b->op == op ? b : nullptr;
}

/// The row-major position that the subscripts decompose; null if they do not.
Expr position_of(const ExtentFacts& facts, const std::vector<Expr>& subscripts, const Type& tensor) {
  if (subscripts.size() == 1) return subscripts[0];
  const auto* last = subscripts.empty() ? nullptr : binary_of(subscripts.back(), BinaryOp::kRem);
  if (last == nullptr) return {};
  Expr rest = last->left;
  for (std::size_t d = subscripts.size(); d-- > 1;) {
    const auto* part = binary_of(subscripts[d], BinaryOp::kRem);
    if (part == nullptr || !equal(part->left, rest) || !is_extent(facts, part->right, tensor.shape[d])) return {};
    rest = binary(BinaryOp::kDiv, rest, part->right);
  }
  return equal(rest, subscripts[0]) ? last->left : Expr();
}

/// The labels whose row-major position `e` is, outermost first; empty if it is not one.
std::vector<std::int32_t> labels_of_position(const ExtentFacts& facts, const Expr& e,
                                             const std::vector<Label>& labels) {
  std::vector<std::int32_t> found;
  Expr rest = e;
  for (;;) {
    const auto* sum = binary_of(rest, BinaryOp::kAdd);
    const std::int32_t own = bare_label(sum != nullptr ? sum->right : rest);
    if (own < 0 || std::ranges::find(found, own) != found.end()) return {};
    const Label& l = labels[static_cast<std::size_t>(own)];
    if (!(l.begin == Extent())) return {};
    found.insert(found.begin(), own);
    if (sum == nullptr) return found;
    const auto* product = binary_of(sum->left, BinaryOp::kMul);
    if (product == nullptr || !is_extent(facts, product->right, l.end)) return {};
    rest = product->left;
  }
}

}  // namespace

std::optional<Placement> unflattened(const ExtentFacts& facts, const std::vector<Expr>& subscripts, const Type& tensor,
                                     const std::vector<Label>& labels) {
  const Expr position = position_of(facts, subscripts, tensor);
  const std::vector<std::int32_t> points =
      position ? labels_of_position(facts, position, labels) : std::vector<std::int32_t>{};
  if (points.size() + subscripts.size() < 3) return std::nullopt;
  Extent elements = 1;
  for (const Extent& e : tensor.shape) elements = elements * e;
  Extent count = 1;
  for (const std::int32_t l : points) count = count * labels[static_cast<std::size_t>(l)].end;
  if (!facts.same(elements, count)) return std::nullopt;

  Placement p;
  p.out = plain_labels(tensor.shape);
  Expr flat;
  for (std::size_t d = 0; d < p.out.size(); ++d) {
    const Expr own = index_ref(static_cast<std::int32_t>(d));
    flat = d == 0 ? own : index_sum(binary(BinaryOp::kMul, flat, expr_of(tensor.shape[d])), own);
  }
  p.labels.resize(labels.size());
  for (std::size_t k = points.size(); k-- > 0;) {
    const auto l = static_cast<std::size_t>(points[k]);
    const Expr extent = expr_of(labels[l].end);
    p.labels[l] = k == 0 ? flat : binary(BinaryOp::kRem, flat, extent);
    flat = binary(BinaryOp::kDiv, flat, extent);
  }
  for (std::size_t l = 0; l < labels.size(); ++l) {
    if (p.labels[l]) continue;
    p.labels[l] = index_ref(static_cast<std::int32_t>(p.out.size() + p.reduce.size()));
    p.reduce.push_back(labels[l]);
  }
  return p;
}

}  // namespace tdsl::ir
