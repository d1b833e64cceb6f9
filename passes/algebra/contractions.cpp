// Turns sums of products of two expressions into products of two tensors, which run as matrix products: the operand
// expressions are precomputed once per element. Regroups the factors of a term, which only affects rounding, overflow
// and underflow.
//
//     %4 = compute [i in 0..d, j in 0..d] sum[k in 0..n] (mul(sub(%1[k, i], %2[i]), sub(%1[k, j], %2[j])))
// becomes
//     %5 = compute [k in 0..n, i in 0..d] (sub(%1[k, i], %2[i]))
//     %6 = compute [k in 0..n, j in 0..d] (sub(%1[k, j], %2[j]))
//     %4 = compute [i in 0..d, j in 0..d] sum[k in 0..n] (mul(%5[k, i], %6[k, j]))
//
// A factor whose index variables are all in another one is a weight, and multiplies that operand. So do plain tensors
// if no order of contraction can do less, whatever the sizes:
//
//     %4 = compute [i in 0..d, j in 0..d] sum[k in 0..n] (mul(mul(%1[k, i], %2[k]), %1[k, j]))
// becomes
//     %5 = compute [k in 0..n, j in 0..d] (mul(%1[k, j], %2[k]))
//     %4 = compute [i in 0..d, j in 0..d] sum[k in 0..n] (mul(%1[k, i], %5[k, j]))
//
// Leaves other sums of products of three or more tensors, whose order sizes decide, to `start_choices`. A guard that
// compares index variables of the result, other than for equality, moves behind the product if all reads are still in
// bounds.

#include "passes/passes.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ir/analysis/contraction.h"
#include "ir/graph/affine.h"
#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"
#include "passes/algebra/parts.h"
#include "passes/region_rewriter.h"

namespace tdsl::passes {

using namespace ir;

namespace {

/// A matrix product does not pay off if the result is no longer than this along an operand's own index variable.
constexpr std::int64_t kFewColumns = 4;

/// True for a tensor read at distinct index variables: a matrix product takes it directly.
bool is_operand(const FactorGroup& group) {
  if (group.factors.size() != 1 || !group.divisors.empty() || group.negative) return false;
  const auto* r = std::get_if<Read>(&group.factors.front()->op);
  return r != nullptr && !r->subscripts.empty() && reads_each_label_once(*r);
}

class Contractions : public RegionRewriter {
 public:
  using RegionRewriter::RegionRewriter;

 private:
  void rewrite_node(Node node, std::vector<Node>& earlier) override {
    if (auto* c = std::get_if<Compute>(&node.op)) visit(node, *c, earlier);
    keep(std::move(node), earlier);
  }

  void visit(Node& node, Compute& c, std::vector<Node>& before) {
    const bool sums = c.bodies.size() == 1 && c.monoid && c.monoid->kind == Monoid::Kind::kSum &&
                      is_float(c.bodies[0]->type) && !c.in_any_order;
    if (!sums || (c.guard && !may_move(c))) return;
    const std::vector<FactorGroup> groups = factor_groups(c.bodies[0]);
    if (!is_matrix_product(groups, c.out.size(), c.reduce.size()) || !is_wide(c, groups) || reads_sparse(c)) return;
    const bool computes = std::ranges::any_of(groups, [](const FactorGroup& g) { return !is_operand(g); });
    const bool plain = std::ranges::all_of(groups, [](const FactorGroup& g) { return is_product_of_tensors(g); });
    if ((!computes || (plain && !are_weights(c, groups))) && !c.guard) return;
    std::vector<Node> operands;
    std::vector<Expr> elements;
    for (const FactorGroup& group : groups) {
      const Expr element = is_operand(group) ? group.factors.front()
                                             : computed_ahead(program_, c, group.expression(), node.range, operands);
      if (!element) return;
      elements.push_back(element);
    }
    for (Node& n : operands) before.push_back(std::move(n));
    c.bodies = {binary(BinaryOp::kMul, elements[0], elements[1], c.bodies[0]->range)};
    if (computes) context_.applied(node.range, "operands are computed ahead, so that the sum is a product of matrices");
    if (c.guard) guard_behind(node, c, before);
  }

  /// True if the guard may select from the whole product: it keeps half of the result or all but a line of it, and
  /// every read that it protects is in bounds without it.
  [[nodiscard]] bool may_move(const Compute& c) const {
    if (mentions_labels(c.guard, c.out.size()) || !c.left.empty() || c.base || c.combine) return false;
    using enum BinaryOp;
    const auto* b = std::get_if<Binary>(&c.guard->op);
    if (b == nullptr || (b->op != kLt && b->op != kLe && b->op != kGt && b->op != kGe && b->op != kNe) ||
        !polynomial_of(b->left) || !polynomial_of(b->right))
      return false;
    Compute everywhere = c;
    everywhere.guard = {};
    return !can_fail(program_, everywhere);
  }

  /// True if each operand has an out label of its own that is longer than kFewColumns.
  static bool is_wide(const Compute& c, const std::vector<FactorGroup>& groups) {
    const auto is_wide_beside = [&](LabelSet own) {
      std::int64_t most = 1;
      for (std::size_t l = 0; l < c.out.size(); ++l) {
        const auto length = (c.out[l].end - c.out[l].begin).constant();
        if ((own >> l & 1) != 0) most = length ? std::max(most, *length) : kFewColumns + 1;
      }
      return most > kFewColumns;
    };
    return is_wide_beside(groups[0].labels & ~groups[1].labels) && is_wide_beside(groups[1].labels & ~groups[0].labels);
  }

  [[nodiscard]] bool reads_sparse(const Compute& c) const {
    return std::ranges::any_of(values_read(c), [this](ValueId v) { return program_.type(v).has_sparse(); });
  }

  static bool is_product_of_tensors(const FactorGroup& group) {
    return group.divisors.empty() && !group.negative && std::ranges::all_of(group.factors, [](const Expr& f) {
             const auto* r = std::get_if<Read>(&f->op);
             return r != nullptr && !r->subscripts.empty() &&
                    std::ranges::all_of(r->subscripts, [](const Expr& s) { return bare_label(s) >= 0; });
           });
  }

  /// True if the fewest operations for all sizes multiply each further factor of a group into its first one: it has a
  /// summed index variable, and the other group does not cover it or is as large.
  static bool are_weights(const Compute& c, const std::vector<FactorGroup>& groups) {
    const LabelSet summed = ~((LabelSet{1} << c.out.size()) - 1);
    const auto elements = [&](LabelSet labels) {
      Extent count(1);
      for (std::int32_t l = 0; l < static_cast<std::int32_t>(c.out.size() + c.reduce.size()); ++l) {
        if ((labels >> l & 1) != 0) count = count * (label_of(c, l).end - label_of(c, l).begin);
      }
      return count;
    };
    const bool alike = elements(groups[0].labels) == elements(groups[1].labels);
    for (std::size_t g = 0; g < groups.size(); ++g) {
      for (std::size_t k = 1; k < groups[g].factors.size(); ++k) {
        const LabelSet own = label_set(groups[g].factors[k]);
        const bool covered = (own & ~groups[1 - g].labels) == 0;
        if ((own & summed) == 0 || (covered && !alike)) return false;
      }
    }
    return true;
  }

  /// Computes the whole product, then selects the elements for which the guard holds.
  void guard_behind(Node& node, Compute& c, std::vector<Node>& before) {
    Compute product = c;
    product.guard = {};
    product.fill = {};
    Type type{c.bodies[0]->type, {}, {}};
    std::vector<Expr> subscripts;
    for (std::size_t l = 0; l < c.out.size(); ++l) {
      const Expr here = index_ref(static_cast<std::int32_t>(l));
      type.shape.push_back(c.out[l].end - c.out[l].begin);
      subscripts.push_back(c.out[l].begin == Extent(0) ? here
                                                       : index_difference(here, expr_of_polynomial(c.out[l].begin)));
    }
    const ValueId v = program_.new_value(type, "", node.range);
    before.push_back({node.range, {v}, std::move(product)});
    c.bodies = {read(type.scalar, v, std::move(subscripts), node.range)};
    if (!c.fill) c.fill = identity_of(*c.monoid, type.scalar);
    c.reduce.clear();
    c.monoid.reset();
    context_.applied(node.range, "computed as a whole product, of which the condition then takes a part");
  }
};

}  // namespace

Program contractions(const Program& program, PassContext& context) { return Contractions(program, context).run(); }

}  // namespace tdsl::passes
