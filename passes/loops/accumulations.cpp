#include "passes/loops/accumulations.h"

#include <set>
#include <utility>

#include "ir/analysis/combined.h"
#include "ir/graph/affine.h"
#include "ir/graph/computes.h"

namespace tdsl::passes {

using namespace ir;

namespace {

std::optional<Monoid> monoid_of(BinaryOp op) {
  switch (op) {
    case BinaryOp::kAdd: return Monoid{Monoid::Kind::kSum, {}, {}, {}};
    case BinaryOp::kMul: return Monoid{Monoid::Kind::kProd, {}, {}, {}};
    case BinaryOp::kMin: return Monoid{Monoid::Kind::kMin, {}, {}, {}};
    case BinaryOp::kMax: return Monoid{Monoid::Kind::kMax, {}, {}, {}};
    case BinaryOp::kOr: return Monoid{Monoid::Kind::kAny, {}, {}, {}};
    case BinaryOp::kAnd: return Monoid{Monoid::Kind::kAll, {}, {}, {}};
    default: return std::nullopt;
  }
}

/// `old op value`, optionally under a condition.
struct Accumulation {
  Monoid monoid;
  Expr value;
  Expr guard;
};

std::optional<Accumulation> accumulation_in(const Expr& body, const Expr& old);

/// One branch leaves the old value, or both combine into it by the same operator.
std::optional<Accumulation> accumulation_in_select(const Select& s, const Expr& old) {
  const bool keeps_true = equal(s.when_true, old);
  if (keeps_true || equal(s.when_false, old)) {
    auto inner = accumulation_in(keeps_true ? s.when_false : s.when_true, old);
    if (!inner) return std::nullopt;
    inner->guard = conjunction_of(keeps_true ? unary(UnaryOp::kNot, s.condition) : s.condition, inner->guard);
    return inner;
  }
  const auto when_true = accumulation_in(s.when_true, old);
  const auto when_false = accumulation_in(s.when_false, old);
  if (!when_true || !when_false || when_true->guard || when_false->guard) return std::nullopt;
  if (!equal(when_true->monoid, when_false->monoid)) return std::nullopt;
  return Accumulation{when_true->monoid, select(s.condition, when_true->value, when_false->value), {}};
}

std::optional<Accumulation> accumulation_in(const Expr& body, const Expr& old) {
  if (const auto* s = std::get_if<Select>(&body->op)) return accumulation_in_select(*s, old);
  const auto* b = std::get_if<Binary>(&body->op);
  if (b == nullptr) return std::nullopt;
  if (b->op == BinaryOp::kSub && equal(b->left, old)) {
    return Accumulation{{Monoid::Kind::kSum, {}, {}, {}}, unary(UnaryOp::kNeg, b->right), {}};
  }
  const auto monoid = monoid_of(b->op);
  if (!monoid) return std::nullopt;
  if (equal(b->left, old)) return Accumulation{*monoid, b->right, {}};
  // && and || evaluate their operands in order, so only the left operand may be the old value.
  if (equal(b->right, old) && !is_logical(b->op)) return Accumulation{*monoid, b->left, {}};
  // (old + a) + b accumulates a + b; sums in loops may be re-associated.
  if (auto inner = accumulation_in(b->left, old); inner && equal(inner->monoid, *monoid) && !inner->guard) {
    inner->value = combined(*monoid, inner->value, b->right);
    return inner;
  }
  return std::nullopt;
}

/// The element of `version` that the statement writes, as an expression.
Expr written_element(const Program& program, const Compute& c, ValueId version) {
  std::vector<Expr> subscripts = c.left;
  if (c.left.empty()) {
    for (std::size_t d = 0; d < c.out.size(); ++d) {
      const Expr label = index_ref(static_cast<std::int32_t>(d));
      subscripts.push_back(binary(BinaryOp::kSub, label, expr_of_polynomial(c.out[d].begin)));
    }
  }
  return read(program.type(version).scalar, version, std::move(subscripts));
}

/// The version of carried value `k` that a statement without base reads and overwrites, if any.
std::optional<ValueId> overwritten_version(const Compute& c, const std::set<ValueId>& versions) {
  for (const ValueId v : values_read(c)) {
    if (versions.contains(v)) return v;
  }
  return std::nullopt;
}

}  // namespace

bool normalise_accumulation(const Program& program, Compute& c, ValueId old, ValueReads allowed) {
  if (c.combine || !c.reduce.empty()) return false;
  const Expr element = written_element(program, c, old);
  auto found = accumulation_in(c.bodies[0], element);
  if (!found) return false;
  const bool reads_old = reads(found->value, old) || (found->guard && reads(found->guard, old));
  if (reads_old && allowed == ValueReads::kOthers) return false;
  if (c.left.empty() && !c.base && program.type(old).rank() > 0) c.left = std::get<Read>(element->op).subscripts;
  c.base = old;
  c.combine = found->monoid;
  c.bodies[0] = found->value;
  c.guard = conjunction_of(c.guard, found->guard);
  return true;
}

bool normalise_accumulations(const Program& program, LoopBody& body, ValueReads allowed) {
  bool any = false;
  for (const LoopBody::Carried& k : body.carried) {
    std::set<ValueId> versions{k.argument};
    for (Node& node : body.statements) {
      Compute& c = std::get<Compute>(node.op);
      const ValueId result = node.results[0];
      std::optional<ValueId> old = c.base;
      if (!old && c.left.empty() && program.type(result).rank() == program.type(k.argument).rank() &&
          program.type(result).scalar == program.type(k.argument).scalar &&
          program.type(result).shape == program.type(k.argument).shape &&
          (result == k.yield || program.type(result).rank() > 0)) {
        old = overwritten_version(c, versions);
      }
      if (!old || !versions.contains(*old)) continue;
      versions.insert(result);
      any = normalise_accumulation(program, c, *old, allowed) || any;
    }
  }
  return any;
}

}  // namespace tdsl::passes
