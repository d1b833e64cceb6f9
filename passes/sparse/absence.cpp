// Expresses the value semantics of sparse types by operators:
//
//     %3:f64[%0] = compute [i in 0..%0] sum[j in 0..%0] (mul(%1[i, j], %2[j]))              %1 stored sparse
// becomes
//     %3:f64[%0] = compute [i in 0..%0] sum[j in 0..%0] (absent_mul(%1[i, j], %2[j]))
//
// Afterwards storage does not affect values: operators decide which factors and numerators win where they are 0, no -0
// is stored in a sparse tensor, and `sparse(x)` and `dense(x)` are gone:
//
//     compute [i, j] (mul(%A[i, j], %D[i, j]))
//         (add(absent_mul(%A[i, j], %D[i, j]), 0.0))              into f64[n, sparse m]
//     compute [i] sum[j] (div(neg(%A[i, j]), %x[j]))
//         sum[j] (absent_div(neg(%A[i, j]), %x[j]))
//     compute [i] sum[j] (mul(dense(%A[i, j]), %x[j]))
//         sum[j] (mul(%A[i, j], %x[j]))
//
// Inputs contain no -0: reading a file into a sparse type removes it.
//
// Precondition: no Gradient, since derivatives are taken of plain products. Postcondition: no operator `sparse` or
// `dense`, no product with implicit semantics.

#include <cmath>
#include <utility>
#include <vector>

#include "ir/analysis/support.h"
#include "ir/graph/clone.h"
#include "ir/graph/computes.h"
#include "passes/passes.h"
#include "passes/region_rewriter.h"
#include "passes/rewriting.h"

namespace tdsl::passes {

using namespace ir;

namespace {

bool is_constant_other_than(const Expr& e, std::int64_t value) {
  const auto* c = std::get_if<Constant>(&e->op);
  const auto* whole = c == nullptr ? nullptr : std::get_if<std::int64_t>(&c->value);
  return whole != nullptr && *whole != value;
}

/// Rewrites one expression so that the semantics of sparse types is explicit.
class WrittenOut {
 public:
  explicit WrittenOut(const Program& program) : finder_(program, Products::kImplied) {}

  Expr of(const Expr& e) {
    if (!e) return e;
    std::vector<Expr> parts = children(*e);
    for (Expr& part : parts) part = of(part);
    const Expr same = with_children(e, parts);
    if (const auto* u = std::get_if<Unary>(&same->op);
        u != nullptr && (u->op == UnaryOp::kSparse || u->op == UnaryOp::kDense))
      return u->operand;
    const auto* before = std::get_if<Binary>(&e->op);
    if (before == nullptr) return same;
    const auto& b = std::get<Binary>(same->op);
    if (before->op == BinaryOp::kMul) return product(*before, b, same);
    return before->op == BinaryOp::kDiv ? quotient(*before, b, same) : same;
  }

 private:
  [[nodiscard]] bool wins(const Expr& e) { return carries_absence(finder_.of(e)); }

  Expr product(const Binary& before, const Binary& b, const Expr& same) {
    if (!is_float(same->type)) return same;
    const bool left = wins(before.left);
    const bool right = wins(before.right);
    if (left && right) return binary(BinaryOp::kMutualMul, b.left, b.right, same->range);
    if (left) return binary(BinaryOp::kAbsentMul, b.left, b.right, same->range);
    return right ? binary(BinaryOp::kAbsentMul, b.right, b.left, same->range) : same;
  }
  Expr quotient(const Binary& before, const Binary& b, const Expr& same) {
    // For integers only a zero divisor matters.
    const bool harmless = !is_float(same->type) && is_constant_other_than(b.right, 0);
    return wins(before.left) && !harmless ? binary(BinaryOp::kAbsentDiv, b.left, b.right, same->range) : same;
  }

  SupportFinder finder_;
};

/// True if the value is never -0.
bool has_no_negative_zero(const Program& program, const Expr& e) {
  const auto clean = [&](const Expr& part) { return has_no_negative_zero(program, part); };
  if (!is_float(e->type)) return true;
  if (const auto* c = std::get_if<Constant>(&e->op))
    return std::get<double>(c->value) != 0 || !std::signbit(std::get<double>(c->value));
  if (const auto* r = std::get_if<Read>(&e->op)) return program.type(r->tensor).has_sparse();
  if (const auto* u = std::get_if<Unary>(&e->op))
    return u->op == UnaryOp::kAbs || (u->op == UnaryOp::kExp && is_real(e->type)) ||
           (u->op == UnaryOp::kSqrt && clean(u->operand));
  if (const auto* s = std::get_if<Select>(&e->op)) return clean(s->when_true) && clean(s->when_false);
  // A tiny negative f64 becomes -0 as f32.
  if (const auto* c = std::get_if<Cast>(&e->op)) {
    const Scalar from = c->operand->type;
    const bool rounds = is_half(e->type) || (is_narrow(e->type) && !is_narrow(from) && !is_half(from));
    return !(rounds && is_float(from)) && clean(c->operand);
  }
  const auto* b = std::get_if<Binary>(&e->op);
  if (b == nullptr) return false;
  // A sum is -0 only if both terms are.
  if (b->op == BinaryOp::kAdd) return clean(b->left) || clean(b->right);
  return (b->op == BinaryOp::kMin || b->op == BinaryOp::kMax) && clean(b->left) && clean(b->right);
}

Expr without_negative_zero(const Program& program, const Expr& e) {
  return has_no_negative_zero(program, e) ? e : binary(BinaryOp::kAdd, e, constant(e->type, 0.0), e->range);
}

class AbsenceWriter : public RegionRewriter {
 public:
  using RegionRewriter::RegionRewriter;

 private:
  [[nodiscard]] bool enters(const Node&) const override { return true; }

  void rewrite_node(Node n, std::vector<Node>& into) override {
    auto* c = std::get_if<Compute>(&n.op);
    if (c == nullptr) return keep(std::move(n), into);
    const Type& type = program_.type(n.results.at(0));
    const bool multiplies =
        c->combine && c->combine->kind == Monoid::Kind::kProd && c->base && is_float(type.scalar) && type.has_sparse();
    SupportFinder finder(program_, Products::kImplied);
    const bool both = multiplies && carries_absence(finder.of(c->bodies.at(0)));
    WrittenOut written(program_);
    rewrite_expressions(*c, [&](const Expr& e) { return written.of(e); });
    multiplies ? multiply(std::move(n), both, into) : clean(std::move(n), into);
  }

  /// `S[left] *= e` for a sparse S: first the points' contributions are multiplied, then S's elements by the result.
  void multiply(Node n, bool both, std::vector<Node>& into) {
    auto& c = std::get<Compute>(n.op);
    const ValueId base = *std::exchange(c.base, std::nullopt);
    const ValueId result = n.results[0];
    const Type type = program_.type(result);
    c.fill = constant(type.scalar, 1.0);
    n.results[0] = program_.new_value({type.scalar, type.shape, {}}, "", n.range);
    const std::vector<Expr> at = plain_subscripts(type.rank());
    const Expr product = binary(both ? BinaryOp::kMutualMul : BinaryOp::kAbsentMul, read(type.scalar, base, at),
                                read(type.scalar, n.results[0], at));
    const SourceRange range = n.range;
    into.push_back(std::move(n));
    into.push_back(elementwise(result, without_negative_zero(program_, product), range));
  }

  /// Appends the node so that it stores no -0 in a sparse tensor.
  void clean(Node n, std::vector<Node>& into) {
    auto& c = std::get<Compute>(n.op);
    const Type type = program_.type(n.results[0]);
    using Kind = Monoid::Kind;
    const auto sums = [](const std::optional<Monoid>& m) { return m && m->kind == Kind::kSum; };
    const auto picks = [](const std::optional<Monoid>& m) {
      return !m || m->kind == Kind::kMin || m->kind == Kind::kMax;
    };
    // A sum starts at 0, or at an element of the base.
    const bool needless = !type.has_sparse() || !is_float(type.scalar) ||
                          (sums(c.monoid) && (picks(c.combine) || sums(c.combine))) || (!c.monoid && sums(c.combine));
    if (!needless && picks(c.monoid) && picks(c.combine)) {
      for (Expr& body : c.bodies) body = without_negative_zero(program_, body);
    }
    if (needless || (picks(c.monoid) && picks(c.combine))) {
      into.push_back(std::move(n));
      return;
    }
    const ValueId result = n.results[0];
    const Type dense{type.scalar, type.shape, {}};
    if (c.base) {
      const ValueId copy = program_.new_value(dense, "", n.range);
      into.push_back(elementwise(copy, read(type.scalar, *c.base, plain_subscripts(type.rank())), n.range));
      c.base = copy;
    }
    n.results[0] = program_.new_value(dense, "", n.range);
    const Expr stored = without_negative_zero(program_, read(type.scalar, n.results[0], plain_subscripts(type.rank())));
    const SourceRange range = n.range;
    into.push_back(std::move(n));
    into.push_back(elementwise(result, stored, range));
  }

  [[nodiscard]] Node elementwise(ValueId result, const Expr& body, const SourceRange& range) const {
    Compute c;
    c.out = numbered_labels(program_.type(result).shape);
    c.bodies = {body};
    return {range, {result}, std::move(c)};
  }
};

}  // namespace

Program absence(const Program& program, PassContext& context) { return AbsenceWriter(program, context).run(); }

}  // namespace tdsl::passes
