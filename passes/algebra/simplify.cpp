// Folds constants and applies identities that hold for every operand, IEEE special values included: 2.0 * 3.0, x * 1.0,
// x - 0.0, -(-x), !(a < b), linear integer arithmetic, select(c, x, x), reads of constant scalars. Never x * 0.0 or x +
// 0.0, which are not identities.
//
//     %2 = compute [] (mul(2.0, 3.0))
//     %3 = compute [i in 0..%0] (mul(mul(%1[i], 1.0), %2))
// becomes
//     %2 = compute [] (6.0)
//     %3 = compute [i in 0..%0] (mul(%1[i], 6.0))
//
// The ranges of index variables settle quotients and remainders, so that the check of a storage in tiles is known to
// hold:
//
//     %3 = compute [] all[o in 0..%1, p in 0..%2] (eq(div(add(mul(o, %2), p), %2), o))
//     assert %3 "…"
// becomes
//     %3 = compute [] (true)
//
// Removes a guard that is `true`, and an assertion of `true`.

#include "passes/passes.h"

#include <cmath>
#include <optional>
#include <set>

#include "ir/graph/affine.h"
#include "ir/graph/clone.h"
#include "ir/graph/within.h"
#include "passes/loops/subscripts.h"
#include "passes/rewriting.h"

namespace tdsl::passes {

using namespace ir;

namespace {

bool is_the_float(const Expr& e, double value) {
  const auto* c = std::get_if<Constant>(&e->op);
  if (c == nullptr || !is_float(e->type)) return false;
  const double held = std::get<double>(c->value);
  return held == value && std::signbit(held) == std::signbit(value);
}

bool is_integer_constant(const Expr& e, std::int64_t value) {
  const auto* c = std::get_if<Constant>(&e->op);
  return c != nullptr && is_integer(e->type) && std::get<std::int64_t>(c->value) == value;
}

bool is_bool_constant(const Expr& e, bool value) {
  const auto* c = std::get_if<Constant>(&e->op);
  return c != nullptr && e->type == Scalar::kBool && std::get<bool>(c->value) == value;
}

/// The value of an integer compared with itself.
std::optional<bool> value_of_equals(BinaryOp op) {
  switch (op) {
    case BinaryOp::kEq:
    case BinaryOp::kLe:
    case BinaryOp::kGe: return true;
    case BinaryOp::kNe:
    case BinaryOp::kLt:
    case BinaryOp::kGt: return false;
    default: return std::nullopt;
  }
}

Expr simplify_binary(const Expr& whole, const Binary& b) {
  if (const auto value = value_of_equals(b.op); value && is_integer(b.left->type) && equal(b.left, b.right))
    return constant(Scalar::kBool, *value);
  const bool one_left = is_the_float(b.left, 1.0) || is_integer_constant(b.left, 1);
  const bool one_right = is_the_float(b.right, 1.0) || is_integer_constant(b.right, 1);
  switch (b.op) {
    case BinaryOp::kMul:
      if (one_left) return b.right;
      if (one_right) return b.left;
      break;
    case BinaryOp::kDiv:
      if (one_right) return b.left;
      break;
    case BinaryOp::kSub:
      // x - (+0.0) is x for every x, including both zeros.
      if (is_the_float(b.right, 0.0)) return b.left;
      if (is_integer(whole->type) && equal(b.left, b.right)) return constant(whole->type, std::int64_t{0});
      break;
    case BinaryOp::kAdd:
      // x + (-0.0) is x for every x; x + (+0.0) is not.
      if (is_the_float(b.right, -0.0)) return b.left;
      if (is_the_float(b.left, -0.0)) return b.right;
      if (const auto* n = std::get_if<Unary>(&b.right->op); n != nullptr && n->op == UnaryOp::kNeg) {
        return binary(BinaryOp::kSub, b.left, n->operand, whole->range);
      }
      break;
    case BinaryOp::kMin:
    case BinaryOp::kMax:
      if (equal(b.left, b.right)) return b.left;
      break;
    case BinaryOp::kAnd:
      if (is_bool_constant(b.right, true) || equal(b.left, b.right)) return b.left;
      if (is_bool_constant(b.left, true)) return b.right;
      break;
    case BinaryOp::kOr:
      if (is_bool_constant(b.right, false) || equal(b.left, b.right)) return b.left;
      if (is_bool_constant(b.left, false)) return b.right;
      break;
    default: break;
  }
  return whole;
}

/// The complementary comparison, for totally ordered operands.
std::optional<BinaryOp> negated(BinaryOp op) {
  switch (op) {
    case BinaryOp::kEq: return BinaryOp::kNe;
    case BinaryOp::kNe: return BinaryOp::kEq;
    case BinaryOp::kLt: return BinaryOp::kGe;
    case BinaryOp::kLe: return BinaryOp::kGt;
    case BinaryOp::kGt: return BinaryOp::kLe;
    case BinaryOp::kGe: return BinaryOp::kLt;
    default: return std::nullopt;
  }
}

Expr simplify_unary(const Expr& whole, const Unary& u) {
  if (const auto* inner = std::get_if<Unary>(&u.operand->op)) {
    const bool undone = inner->op == u.op && (u.op == UnaryOp::kNeg || u.op == UnaryOp::kNot);
    if (undone) return inner->operand;
    const bool flips = u.op == UnaryOp::kAbs && inner->op == UnaryOp::kNeg && !is_unsigned(whole->type);
    if (flips) return unary(UnaryOp::kAbs, inner->operand, whole->range);
  }
  const auto* b = std::get_if<Binary>(&u.operand->op);
  if (u.op != UnaryOp::kNot || b == nullptr || !is_comparison(b->op)) return whole;
  // With NaN both a < b and a >= b are false; only == and != are each other's negation there.
  const bool ordered = !is_float(b->left->type) || b->op == BinaryOp::kEq || b->op == BinaryOp::kNe;
  const auto op = negated(b->op);
  return ordered && op ? binary(*op, b->left, b->right, whole->range) : whole;
}

/// True for `all` over `true` and `any` over `false`, whatever the ranges and the guard.
bool is_decided(const Compute& c) {
  if (!c.monoid || c.bodies.size() != 1 || !c.left.empty() || c.base || c.combine || c.fill) return false;
  return (c.monoid->kind == Monoid::Kind::kAll && is_bool_constant(c.bodies[0], true)) ||
         (c.monoid->kind == Monoid::Kind::kAny && is_bool_constant(c.bodies[0], false));
}

/// Adds the scalars that are `true`.
void find_true(const Region& region, std::set<ValueId>& found) {
  for_each_node(region, [&](const Node& node) {
    const auto* c = std::get_if<Compute>(&node.op);
    const Expr value = c != nullptr && c->out.empty() ? constant_fill(*c) : Expr();
    if (value && is_bool_constant(value, true)) found.insert(node.results[0]);
  });
}

void remove_assertions(Region& region, const std::set<ValueId>& of) {
  std::erase_if(region.nodes, [&](const Node& node) {
    const auto* a = std::get_if<Assert>(&node.op);
    return a != nullptr && of.contains(a->condition);
  });
  for (Node& node : region.nodes) {
    for (Region* inner : regions_in(node)) remove_assertions(*inner, of);
  }
}

class Simplifier {
 public:
  explicit Simplifier(Program program) : program_(std::move(program)), table_(definitions(program_)) {}

  Program run() {
    for_each_compute(program_.body, [this](Node&, Compute& c) { visit(c); });
    std::set<ValueId> holds;
    find_true(program_.body, holds);
    if (!holds.empty()) remove_assertions(program_.body, holds);
    return std::move(program_);
  }

 private:
  void visit(Compute& c) {
    const std::vector<const Label*> labels = labels_of(c);
    rewrite_expressions(c, [&](const Expr& e) {
      const Expr settled = divides_labels(e) ? Subscripts(Type{Scalar::kI64, {}, {}}, labels).settled(e) : e;
      const Expr simple = without_checks(rewrite(settled, [&](const Expr& x) { return simplified(x); }),
                                         [&](const Within& w) { return is_inside(w, labels); });
      return with_settled_subscripts(program_, simple, labels);
    });
    if (is_decided(c)) {
      c.reduce.clear();
      c.monoid.reset();
      c.guard = Expr();
    }
    if (c.guard && is_bool_constant(c.guard, true)) c.guard = Expr();
  }

  /// True if the ranges of the index variables prove the subscript check.
  static bool is_inside(const Within& w, const std::vector<const Label*>& labels) {
    const auto extent = subscript_polynomial(w.extent);
    return extent && Subscripts(Type{Scalar::kI64, {*extent}, {}}, labels).inside(w.subscript, *extent);
  }

  Expr simplified(const Expr& e) const {
    const Expr folded = folded_again(e);
    return match(
        folded->op, [&](const Constant&) { return folded; }, [&](const IndexRef&) { return folded; },
        [&](const Read& r) { return constant_read(folded, r); }, [&](const Argument&) { return folded; },
        [&](const Unary& u) { return simplify_unary(folded, u); },
        [&](const Binary& b) { return integer_polynomial(simplify_binary(folded, b)); },
        [&](const Select& s) { return equal(s.when_true, s.when_false) ? s.when_true : folded; },
        [&](const Cast&) { return folded; }, [&](const Apply&) { return folded; });
  }

  /// The factories fold, but parsed text and children that have become constants need another pass.
  static Expr folded_again(const Expr& e) {
    if (const auto* u = std::get_if<Unary>(&e->op)) return unary(u->op, u->operand, e->range);
    if (const auto* b = std::get_if<Binary>(&e->op)) return binary(b->op, b->left, b->right, e->range);
    if (const auto* s = std::get_if<Select>(&e->op)) return select(s->condition, s->when_true, s->when_false, e->range);
    if (const auto* c = std::get_if<Cast>(&e->op)) return cast(e->type, c->operand, e->range);
    return e;
  }

  /// Normalises linear i64 arithmetic: terms in a fixed order, the constant last. Exact, since integers wrap.
  static Expr integer_polynomial(const Expr& e) {
    if (e->type != Scalar::kI64 || !std::holds_alternative<Binary>(e->op)) return e;
    const auto polynomial = polynomial_of(e);
    if (!polynomial || !is_linear(*polynomial)) return e;
    const Expr normal = expr_of_polynomial(*polynomial);
    return equal(normal, e) ? e : normal;
  }

  /// Folds reads of constant scalars. Elements of constant tensors stay reads, since out-of-bounds reads stop the run.
  Expr constant_read(const Expr& e, const Read& r) const {
    if (!r.subscripts.empty()) return e;
    const Compute* c = compute_of(table_, r.tensor);
    const Expr fill = c == nullptr ? Expr() : constant_fill(*c);
    return fill ? fill : e;
  }

  Program program_;
  std::vector<const Node*> table_;
};

}  // namespace

Program simplify(const Program& program, PassContext& /*context*/) { return Simplifier(program).run(); }

}  // namespace tdsl::passes
