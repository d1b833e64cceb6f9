#include "ir/analysis/absence.h"

#include <cmath>
#include <utility>

#include "ir/analysis/support.h"
#include "ir/graph/clone.h"
#include "ir/graph/computes.h"

namespace tdsl::ir {

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
    return u->op == UnaryOp::kAbs || u->op == UnaryOp::kExp || (u->op == UnaryOp::kSqrt && clean(u->operand));
  if (const auto* s = std::get_if<Select>(&e->op)) return clean(s->when_true) && clean(s->when_false);
  // A tiny negative f64 becomes -0 as f32.
  if (const auto* c = std::get_if<Cast>(&e->op))
    return !(e->type == Scalar::kF32 && c->operand->type == Scalar::kF64) && clean(c->operand);
  const auto* b = std::get_if<Binary>(&e->op);
  if (b == nullptr) return false;
  // A sum is -0 only if both terms are.
  if (b->op == BinaryOp::kAdd) return clean(b->left) || clean(b->right);
  return (b->op == BinaryOp::kMin || b->op == BinaryOp::kMax) && clean(b->left) && clean(b->right);
}

Expr without_negative_zero(const Program& program, const Expr& e) {
  return has_no_negative_zero(program, e) ? e : binary(BinaryOp::kAdd, e, constant(e->type, 0.0), e->range);
}

class AbsenceWriter {
 public:
  explicit AbsenceWriter(Program& program) : program_(program) {}

  void region(Region& r) {
    std::vector<Node> nodes;
    for (Node& n : r.nodes) {
      for (Region* inner : regions_in(n)) region(*inner);
      auto* c = std::get_if<Compute>(&n.op);
      if (c == nullptr) {
        nodes.push_back(std::move(n));
        continue;
      }
      const Type& type = program_.type(n.results.at(0));
      const bool multiplies = c->combine && c->combine->kind == Monoid::Kind::kProd && c->base &&
                              is_float(type.scalar) && type.has_sparse();
      SupportFinder finder(program_, Products::kImplied);
      const bool both = multiplies && carries_absence(finder.of(c->bodies.at(0)));
      write_out(*c);
      multiplies ? multiply(std::move(n), both, nodes) : clean(std::move(n), nodes);
    }
    r.nodes = std::move(nodes);
  }

 private:
  void write_out(Compute& c) {
    WrittenOut written(program_);
    for (Expr& body : c.bodies) body = written.of(body);
    c.guard = written.of(c.guard);
    for (Expr& subscript : c.left) subscript = written.of(subscript);
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

  Program& program_;
};

}  // namespace

Program with_explicit_absence(Program program) {
  AbsenceWriter(program).region(program.body);
  return program;
}

}  // namespace tdsl::ir
