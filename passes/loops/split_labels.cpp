// Splits a summed index variable that subscripts use as quotient and remainder of one size into two: a tile, and a
// position in it. Sums over matrices that are stored tile by tile, or reshaped, become plain sums of products.
//
//     compute [i in 0..%0] sum[k in 0..%1*%2] (mul(%3[i, div(k, %2), rem(k, %2)], %4[k]))
// becomes
//     compute [i in 0..%0] sum[k in 0..%1, k1 in 0..%2] (mul(%3[i, k, k1], %4[add(mul(k, %2), k1)]))
//
// The order of points is unchanged. The size divides the range, or the range divided by it is the extent of the
// dimension that the quotient subscripts, as in `stored[n / b, …]`:
//
//     %3:f64[%0/%1, %1] "A" = input "A"
//     %4 = compute [] sum[k in 0..%0] (%3[div(k, %1), rem(k, %1)])
// becomes
//     check %0%%1 <= 0 "…"
//     %4 = compute [] sum[k in 0..%0/%1, k1 in 0..%1] (%3[k, k1])
//
// There a remainder means that the last points are outside of the tensor: the check stops the run as they would. Such a
// read must be evaluated at every point. Index variables of the result are not split: loops over them divide.

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "ir/graph/affine.h"
#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"
#include "passes/loops/subscripts.h"
#include "passes/passes.h"
#include "passes/region_rewriter.h"
#include "passes/rewriting.h"

namespace tdsl::passes {

using namespace ir;

namespace {

bool is_division(const Binary& b) { return b.op == BinaryOp::kDiv || b.op == BinaryOp::kRem; }

/// Number of occurrences of the label in a dividend.
int divides(const Expr& e, std::int32_t label) {
  int count = 0;
  for_each_node(e, [&](const ExprNode& n) {
    const auto* b = std::get_if<Binary>(&n.op);
    count += b != nullptr && is_division(*b) && mentions_label(b->left, label) ? 1 : 0;
  });
  return count;
}

/// The divisor of the first quotient or remainder of the label in the body.
std::optional<Extent> divisor_of(const Compute& c, std::int32_t label) {
  std::optional<Extent> found;
  for_each_node(c.bodies[0], [&](const ExprNode& n) {
    const auto* b = std::get_if<Binary>(&n.op);
    if (b != nullptr && is_division(*b) && bare_label(b->left) == label && !found) found = extent_of(b->right);
  });
  return found;
}

/// True if both operands are evaluated wherever the expression is.
bool evaluates_both(BinaryOp op) {
  return op == BinaryOp::kAdd || op == BinaryOp::kSub || op == BinaryOp::kMul || op == BinaryOp::kDiv ||
         op == BinaryOp::kMin || op == BinaryOp::kMax;
}

/// Calls `f` on the reads that are evaluated at every point.
template <class F>
void for_each_certain_read(const Expr& e, const F& f) {
  if (const auto* r = std::get_if<Read>(&e->op)) {
    f(*r);
  } else if (const auto* u = std::get_if<Unary>(&e->op)) {
    for_each_certain_read(u->operand, f);
  } else if (const auto* b = std::get_if<Binary>(&e->op); b != nullptr && evaluates_both(b->op)) {
    for_each_certain_read(b->left, f);
    for_each_certain_read(b->right, f);
  }
}

/// A way to split a label.
struct Split {
  Extent outer;
  Extent inner;
  /// The tensor that ends at the last full tile, and the number of elements after it; none if there is no remainder.
  std::optional<ValueId> ends_at_tile{};
  Extent rest{};
};

class Splitting : public RegionRewriter {
 public:
  Splitting(const Program& program, PassContext& context) : RegionRewriter(program, context) {
    for (const Node& n : program.body.nodes) {
      if (std::holds_alternative<Dimension>(n.op)) natural_.push_back(Extent::of(n.results[0]));
      const auto* check = std::get_if<Check>(&n.op);
      if (check != nullptr && check->relation == Check::Relation::kAtMost && !check->guard && check->left == Extent(0))
        natural_.push_back(check->right);
    }
  }

 private:
  void rewrite_node(Node node, std::vector<Node>& earlier) override {
    if (auto* c = std::get_if<Compute>(&node.op); c != nullptr && c->monoid && !locates(*c->monoid)) {
      for (std::size_t r = 0; r < c->reduce.size(); ++r) {
        const auto found = split_of(*c, r, program_.type(node.results[0]));
        if (!found || !split(*c, r, *found)) continue;
        if (found->ends_at_tile) earlier.push_back(check_of(*c, r, *found, node.range));
        context_.applied(node.range, "a sum over quotients and remainders runs over both");
        --r;  // the outer part may divide further
      }
    }
    keep(std::move(node), earlier);
  }

  [[nodiscard]] std::optional<Split> split_of(const Compute& c, std::size_t r, const Type& result) const {
    const auto label = static_cast<std::int32_t>(c.out.size() + r);
    const auto inner = divisor_of(c, label);
    if (!inner || !(c.reduce[r].begin == Extent(0)) || c.out.size() + c.reduce.size() >= kMostLabels ||
        !is_size(c, *inner))
      return std::nullopt;
    const Extent& end = c.reduce[r].end;
    const auto exact = exact_quotient(end, *inner);
    if (exact && is_size(c, *exact)) return Split{*exact, *inner};
    const Extent tiles = Extent::quotient(end, *inner);
    if (!is_size(c, tiles)) return std::nullopt;
    if (exact) return Split{tiles, *inner};
    const auto tensor = ending_at(c, label, *inner, tiles);
    const auto rest = tensor ? points_of_others(c, r, result, Extent::remainder(end, *inner)) : std::nullopt;
    return rest ? std::optional(Split{tiles, *inner, tensor, *rest}) : std::nullopt;
  }

  /// A tensor that is read at every point and has this extent where the label's quotient subscripts it.
  [[nodiscard]] std::optional<ValueId> ending_at(const Compute& c, std::int32_t label, const Extent& inner,
                                                 const Extent& tiles) const {
    std::optional<ValueId> found;
    if (c.guard || c.bodies.size() != 1) return found;
    for_each_certain_read(c.bodies[0], [&](const Read& r) {
      const Type& type = program_.type(r.tensor);
      for (std::size_t d = 0; d < r.subscripts.size(); ++d) {
        const auto* b = std::get_if<Binary>(&r.subscripts[d]->op);
        if (b != nullptr && b->op == BinaryOp::kDiv && bare_label(b->left) == label && extent_of(b->right) == inner &&
            type.shape[d] == tiles && !type.has_sparse() && !found)
          found = r.tensor;
      }
    });
    return found;
  }

  /// `rest` times the numbers of values of all other labels: positive exactly if there is a point in the rest.
  [[nodiscard]] std::optional<Extent> points_of_others(const Compute& c, std::size_t r, const Type& result,
                                                       Extent rest) const {
    std::vector<Label> others = all_labels(c);
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(c.out.size() + r));
    for (const Label& l : others) {
      const bool natural = l.begin == Extent(0) && (is_size(c, l.end) || std::ranges::count(natural_, l.end) > 0 ||
                                                    std::ranges::count(result.shape, l.end) > 0);
      const auto product = natural ? product_if_small(rest, l.end) : std::nullopt;
      if (!product) return std::nullopt;
      rest = *product;
    }
    return rest;
  }

  [[nodiscard]] Node check_of(const Compute& c, std::size_t r, const Split& split, const SourceRange& range) const {
    const auto name = [this](ValueId v) {
      const std::string& written = program_.info(v).name;
      return written.empty() ? "a size" : written;
    };
    Check check;
    check.relation = Check::Relation::kAtMost;
    check.left = split.rest;
    check.right = Extent(0);
    check.message =
        fmt::format("the last subscripts `{}` are outside of {}: its tiles of {} do not cover the dimension",
                    c.reduce[r].name, quoted(program_, *split.ends_at_tile, "a tensor"), split.inner.to_string(name));
    return {range, {}, std::move(check)};
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

  /// Splits reduce label `r`; true if this removes divisions everywhere.
  bool split(Compute& c, std::size_t r, const Split& into) const {
    Compute parts = c;
    const std::string name = c.reduce[r].name;
    const auto at = static_cast<std::ptrdiff_t>(r);
    parts.reduce[r] = {name, 0, into.outer};
    parts.reduce.insert(parts.reduce.begin() + at + 1, renamed_apart({{name, 0, into.inner}}, all_labels(c)).front());
    const auto first = static_cast<std::int32_t>(c.out.size() + r);
    std::vector<Expr> replacements;
    for (std::int32_t l = 0; l < static_cast<std::int32_t>(c.out.size() + c.reduce.size()); ++l)
      replacements.push_back(index_ref(l <= first ? l : l + 1));
    replacements[static_cast<std::size_t>(first)] =
        expr_of_polynomial(Extent::of(label_value(first)) * into.inner + Extent::of(label_value(first + 1)));
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

  std::vector<Extent> natural_;  ///< dimensions, and sizes that the program has checked not to be negative
};

}  // namespace

Program split_labels(const Program& program, PassContext& context) { return Splitting(program, context).run(); }

}  // namespace tdsl::passes
