// Splits a sum over an index variable that is only read divided into a sum over quotient and remainder, which exposes
// products between reshapes as products.
//
//     %6 = compute [i in 0..%0] sum[k in 0..%1*%2] (mul(%3[i, div(k, %2), rem(k, %2)], %4[k]))
// becomes
//     %6 = compute [i in 0..%0] sum[k in 0..%1, k1 in 0..%2] (mul(%3[i, k, k1], %4[add(mul(k, %2), k1)]))
//
// Works on any reduction but argmin and argmax. The divisor and the quotient of the ranges are products of extents.

#include "passes/passes.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "ir/graph/affine.h"
#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"
#include "passes/loops/subscripts.h"
#include "passes/region_rewriter.h"

namespace tdsl::passes {

using namespace ir;

namespace {

/// Number of occurrences of the label in a dividend.
int divides(const Expr& e, std::int32_t label) {
  int count = 0;
  for_each_node(e, [&](const ExprNode& n) {
    const auto* b = std::get_if<Binary>(&n.op);
    count +=
        b != nullptr && (b->op == BinaryOp::kDiv || b->op == BinaryOp::kRem) && mentions_label(b->left, label) ? 1 : 0;
  });
  return count;
}

class SplitSums : public RegionRewriter {
 public:
  using RegionRewriter::RegionRewriter;

 private:
  void rewrite_node(Node node, std::vector<Node>& earlier) override {
    if (auto* c = std::get_if<Compute>(&node.op); c != nullptr && c->monoid) split_reduce_labels(*c);
    keep(std::move(node), earlier);
  }

  /// sum[k in 0..b * c](A[i, k / c, k % c]) runs over b and c.
  void split_reduce_labels(Compute& c) const {
    if (locates(*c.monoid)) return;
    for (std::size_t r = 0; r < c.reduce.size(); ++r) {
      const auto inner = divisor_of(c, static_cast<std::int32_t>(c.out.size() + r));
      if (inner && split(c, r, *inner)) --r;  // the outer part may divide further
    }
  }

  /// The divisor of the first quotient or remainder of the label in the body.
  static std::optional<Extent> divisor_of(const Compute& c, std::int32_t label) {
    std::optional<Extent> found;
    for_each_node(c.bodies[0], [&](const ExprNode& n) {
      const auto* b = std::get_if<Binary>(&n.op);
      if (b != nullptr && (b->op == BinaryOp::kDiv || b->op == BinaryOp::kRem) && bare_label(b->left) == label &&
          !found)
        found = extent_of(b->right);
    });
    return found;
  }

  /// True for a product of positive numbers and extents of tensors that are read.
  [[nodiscard]] bool is_size(const Compute& c, const Extent& e) const {
    std::vector<Extent> sizes;
    for (const ValueId v : values_read(c)) {
      const std::vector<Extent>& shape = program_.type(v).shape;
      sizes.insert(sizes.end(), shape.begin(), shape.end());
    }
    Extent rest = e;
    for (const Extent& size : sizes) {
      if (const auto less = size.constant() ? std::nullopt : exact_quotient(rest, size)) rest = *less;
    }
    return rest.constant() && *rest.constant() > 0;
  }

  /// Splits reduce label `r` into two, the inner one over `inner`; true if this removes all of its divisions.
  bool split(Compute& c, std::size_t r, const Extent& inner) const {
    const Label label = c.reduce[r];
    const auto outer = exact_quotient(label.end, inner);
    if (!(label.begin == Extent(0)) || !outer || !is_size(c, inner) || !is_size(c, *outer) ||
        c.out.size() + c.reduce.size() >= kMostLabels)
      return false;
    Compute parts = c;
    const auto at = static_cast<std::ptrdiff_t>(r);
    parts.reduce[r] = {label.name, 0, *outer};
    parts.reduce.insert(parts.reduce.begin() + at + 1, renamed_apart({{label.name, 0, inner}}, all_labels(c)).front());
    const auto first = static_cast<std::int32_t>(c.out.size() + r);
    std::vector<Expr> replacements;
    for (std::int32_t l = 0; l < static_cast<std::int32_t>(c.out.size() + c.reduce.size()); ++l)
      replacements.push_back(index_ref(l <= first ? l : l + 1));
    replacements[static_cast<std::size_t>(first)] =
        expr_of_polynomial(Extent::of(label_value(first)) * inner + Extent::of(label_value(first + 1)));
    const std::vector<const Label*> labels = labels_of(parts);
    bool settled = true;
    const auto placed = [&](const Expr& e) {
      const Expr result = e ? with_settled_subscripts(program_, substitute_labels(e, replacements), labels) : e;
      settled = settled && (!result || !divides(result, first) || divides(result, first) < divides(e, first));
      return result;
    };
    for (Expr& body : parts.bodies) body = placed(body);
    parts.guard = placed(parts.guard);
    for (Expr& left : parts.left) left = placed(left);
    if (settled) c = std::move(parts);
    return settled;
  }
};

}  // namespace

Program split_sums(const Program& program, PassContext& context) { return SplitSums(program, context).run(); }

}  // namespace tdsl::passes
