// Precomputes expensive subexpressions that depend on only some of the index variables and so repeat over many points.
//
//     %4 = compute [b in 0..bins] sum[i in 0..n] (f64(lt(%1[i], div(f64(b), f64(bins)))))
// becomes
//     %5 = compute [b in 0..bins] (div(f64(b), f64(bins)))
//     %4 = compute [b in 0..bins] sum[i in 0..n] (f64(lt(%1[i], %5[b])))
//
// Keeps subexpressions that are invariant in the innermost loop only: compilers hoist them.

#include "passes/passes.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ir/analysis/contraction.h"
#include "passes/algebra/parts.h"
#include "passes/region_rewriter.h"

namespace tdsl::passes {

using namespace ir;

namespace {

/// Not worth precomputing for this number of points.
constexpr std::int64_t kFewPoints = 4;

/// True if the operation alone costs several additions.
bool takes_long(const ExprNode& n) {
  if (const auto* u = std::get_if<Unary>(&n.op)) {
    using enum UnaryOp;
    return u->op != kNeg && u->op != kNot && u->op != kAbs && u->op != kRelu && u->op != kIsNan && u->op != kIsInf &&
           u->op != kSign && (!is_part(u->op) || u->op == kArg);
  }
  if (const auto* b = std::get_if<Binary>(&n.op)) {
    using enum BinaryOp;
    return b->op == kDiv || b->op == kAbsentDiv || b->op == kRem || b->op == kMod || b->op == kPow;
  }
  return std::holds_alternative<Apply>(n.op);
}

/// True for an expression with such an operation, subscripts excepted.
bool takes_long(const Expr& e) {
  if (std::holds_alternative<Read>(e->op)) return false;
  return takes_long(*e) || std::ranges::any_of(children(*e), [](const Expr& child) { return takes_long(child); });
}

class RepeatedParts : public RegionRewriter {
 public:
  using RegionRewriter::RegionRewriter;

 private:
  void rewrite_node(Node node, std::vector<Node>& earlier) override {
    if (auto* c = std::get_if<Compute>(&node.op);
        c != nullptr && c->bodies.size() == 1 && !c->out.empty() && !c->in_any_order)
      c->bodies = {without_parts(c->bodies[0], *c, node.range, earlier)};
    keep(std::move(node), earlier);
  }

  /// The expression with its largest worthwhile subexpressions precomputed.
  Expr without_parts(const Expr& e, const Compute& c, SourceRange range, std::vector<Node>& before) {
    if (std::holds_alternative<Read>(e->op) || !takes_long(e)) return e;
    if (is_repeated(label_set(e), c) && !reads_sparse(e)) {
      const Expr element = computed_ahead(program_, c, e, range, before);
      if (element) context_.applied(range, "a part that is the same for many points is computed ahead");
      return element ? element : e;
    }
    std::vector<Expr> parts = children(*e);
    for (Expr& part : parts) part = without_parts(part, c, range, before);
    return with_children(e, parts);
  }

  /// True if values at these labels repeat over many points that are not all in one innermost loop.
  static bool is_repeated(LabelSet labels, const Compute& c) {
    const std::size_t outs = c.out.size();
    const auto has = [&](std::size_t l) { return (labels >> l & 1) != 0; };
    bool many = false;
    std::size_t own = 0;
    for (std::size_t l = 0; l < outs + c.reduce.size(); ++l) {
      const Label& label = l < outs ? c.out[l] : c.reduce[l - outs];
      const auto length = (label.end - label.begin).constant();
      many = many || (!has(l) && (!length || *length > kFewPoints));
      own += has(l) ? 1 : 0;
    }
    // Sums choose their own loop order; kernels themselves precompute subexpressions of two index variables in
    // product-like nests.
    return many && (c.monoid ? own == 1 : has(outs - 1));
  }

  [[nodiscard]] bool reads_sparse(const Expr& e) const {
    return any_read(e, [this](const Read& r) { return program_.type(r.tensor).has_sparse(); });
  }
};

}  // namespace

Program repeated_parts(const Program& program, PassContext& context) { return RepeatedParts(program, context).run(); }

}  // namespace tdsl::passes
