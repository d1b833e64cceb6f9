// Turns updates that write every element into definitions, and drops the base of updates of a constant tensor.
//
//     %3 = compute [i in 0..%0, k in 0..%1] (0.0)
//     %4 = compute [i in 0..%0, k in 0..%1] sum[j in 0..%2] (mul(%5[i, j], %6[j, k])) left [i, k] base %3 combine sum
// becomes
//     %3 = compute [i in 0..%0, k in 0..%1] (0.0)
//     %4 = compute [i in 0..%0, k in 0..%1] sum[j in 0..%2] (mul(%5[i, j], %6[j, k]))
//
// Likewise `combine(identity, total)` is `total` where total is a reduction by the same operator: the identity is
// assumed, never computed (the sign of a zero sum may differ).

#include "passes/passes.h"

#include <algorithm>

#include "ir/analysis/combined.h"
#include "ir/graph/affine.h"
#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"
#include "passes/rewriting.h"

namespace tdsl::passes {

using namespace ir;

namespace {

/// The out label that is the bare subscript of each result dimension; empty unless every subscript is a distinct bare
/// out label.
std::vector<std::size_t> permutation_of(const Compute& c) {
  std::vector<std::size_t> order;
  for (const Expr& e : c.left) {
    const std::int32_t label = bare_label(e);
    if (label < 0 || std::ranges::count(order, static_cast<std::size_t>(label)) > 0) return {};
    order.push_back(static_cast<std::size_t>(label));
  }
  return order.size() == c.out.size() ? order : std::vector<std::size_t>{};
}

bool covers(const Compute& c, const std::vector<std::size_t>& order, const Type& type) {
  for (std::size_t d = 0; d < order.size(); ++d) {
    const Label& l = c.out[order[d]];
    if (!(l.begin == Extent(0)) || !(l.end == type.shape[d])) return false;
  }
  return !order.empty();
}

/// Reorders the out labels by result dimension; `left` becomes labels 0, 1, ….
void reorder(Compute& c, const std::vector<std::size_t>& order) {
  std::vector<Expr> replacements(order.size());
  std::vector<Label> out;
  for (std::size_t d = 0; d < order.size(); ++d) {
    out.push_back(c.out[order[d]]);
    replacements[order[d]] = index_ref(static_cast<std::int32_t>(d));
  }
  c.out = std::move(out);
  rewrite_expressions(c, [&](const Expr& e) { return substitute_labels(e, replacements); });
}

void drop_update(Compute& c) {
  c.left.clear();
  c.base.reset();
  c.combine.reset();
}

/// True if the guard mentions reduce labels.
bool guard_mentions_reduce(const Compute& c) {
  for (std::size_t k = 0; k < c.reduce.size(); ++k) {
    if (mentions_label(c.guard, static_cast<std::int32_t>(c.out.size() + k))) return true;
  }
  return false;
}

/// Rewrites one update; true if it changed.
bool rewrite_update(Compute& c, const Type& type, const Expr& base_fill) {
  const std::vector<std::size_t> order = permutation_of(c);
  const Scalar s = type.scalar;
  if (!covers(c, order, type)) {
    if (c.combine || !base_fill || !c.base || reads(c.bodies[0], *c.base)) return false;
    c.base.reset();
    c.fill = equal(base_fill, zero_of(base_fill->type)) ? Expr() : base_fill;
    return true;
  }
  const bool from_identity = c.combine && base_fill && equal(base_fill, identity_of(*c.combine, s));
  const bool selects = c.guard && !c.combine && c.reduce.empty() && c.base && !base_fill;
  if ((c.combine && c.reduce.empty() && !from_identity) || selects) {
    if (!c.base) return false;
    reorder(c, order);
    const Expr old = read(s, *c.base, c.left);
    if (c.combine) c.bodies[0] = combined(*c.combine, old, c.bodies[0]);
    if (c.guard) c.bodies[0] = select(c.guard, c.bodies[0], old);
    c.guard = Expr();
    drop_update(c);
    return true;
  }
  if (c.combine && !from_identity) return false;
  // Without `combine`, a false guard keeps the base, so the base must be a constant.
  if (c.base) c.fill = Expr();
  const bool partial = c.guard && (!c.combine || c.reduce.empty());
  if (partial && c.base && !base_fill) return false;
  if (partial && !c.reduce.empty() && guard_mentions_reduce(c)) return false;
  if (partial && c.base) c.fill = equal(base_fill, zero_of(base_fill->type)) ? Expr() : base_fill;
  if (partial && !c.reduce.empty() && !c.fill) c.fill = base_fill;
  reorder(c, order);
  drop_update(c);
  return true;
}

/// The operand that `combine(identity, total)` equals, or null.
Expr without_identity(const std::vector<const Node*>& table, const Expr& body) {
  const auto* b = std::get_if<Binary>(&body->op);
  if (b == nullptr) return {};
  for (const auto& [one, other] : {std::pair(b->left, b->right), std::pair(b->right, b->left)}) {
    const auto* total = std::get_if<Read>(&other->op);
    if (total == nullptr) continue;
    Expr start = one;
    if (const auto* r = std::get_if<Read>(&one->op); r != nullptr && r->subscripts.empty()) {
      const Compute* c = compute_of(table, r->tensor);
      start = c == nullptr ? Expr() : constant_fill(*c);
    }
    const Compute* reduction = compute_of(table, total->tensor);
    if (!start || reduction == nullptr || !reduction->monoid || !reduction->left.empty()) continue;
    const Monoid& m = *reduction->monoid;
    if (!combines_freely(m)) continue;
    if (!equal(start, identity_of(m, other->type))) continue;
    if (equal(combined(m, one, other), body) || equal(combined(m, other, one), body)) return other;
  }
  return {};
}

class Updates {
 public:
  Updates(Program program, PassContext& context) : program_(std::move(program)), context_(context) {
    table_ = definitions(program_);
  }

  Program run() {
    for_each_compute(program_.body, [this](const Node& node, Compute& c) { visit(node, c); });
    return std::move(program_);
  }

 private:
  void visit(const Node& node, Compute& c) {
    const Type& type = program_.type(node.results[0]);
    rewrite_expressions(c, [&](const Expr& e) {
      return rewrite(e, [&](const Expr& x) {
        const Expr total = without_identity(table_, x);
        return total ? total : x;
      });
    });
    if (c.left.empty() || c.bodies.size() != 1) return;
    Expr base_fill = c.base ? Expr() : c.fill;
    if (c.base) {
      if (const Compute* base = compute_of(table_, *c.base)) base_fill = constant_fill(*base);
    }
    if (!c.base && !c.fill && type.scalar != Scalar::kBool) { base_fill = zero_of(type.scalar); }
    if (rewrite_update(c, type, base_fill))
      context_.applied(node.range, "the update writes every element: a definition");
  }

  Program program_;
  PassContext& context_;
  std::vector<const Node*> table_;
};

}  // namespace

Program updates(const Program& program, PassContext& context) { return Updates(program, context).run(); }

}  // namespace tdsl::passes
