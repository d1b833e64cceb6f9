#include "ir/stored_walk.h"

#include <algorithm>
#include <cmath>

#include "ir/affine.h"
#include "ir/support.h"

namespace tdsl::ir {

namespace {

template <class F>
void for_each_read(const Compute& c, const F& f) {
  const auto visit = [&](const Expr& e) {
    for_each_node(e, [&](const ExprNode& n) {
      if (const auto* r = std::get_if<Read>(&n.op))
        f(*r);
    });
  };
  for (const Expr& body : c.bodies)
    visit(body);
  if (c.guard)
    visit(c.guard);
}

std::int32_t label_of(const Expr& e) {
  const auto* i = std::get_if<IndexRef>(&e->op);
  return i == nullptr ? -1 : i->label;
}

bool depends_on_data(const Read& r) {
  return std::ranges::any_of(r.subscripts, [](const Expr& subscript) {
    bool found = false;
    for_each_node(subscript, [&](const ExprNode& n) {
      const auto* inner = std::get_if<Read>(&n.op);
      found = found || (inner != nullptr && !inner->subscripts.empty());
    });
    return found;
  });
}

bool fails(const Compute& c) {
  return std::ranges::any_of(c.bodies, may_fail) || (c.guard && may_fail(c.guard));
}

Expr zero_of(Scalar type) { return identity_of({type == Scalar::kBool ? Monoid::Kind::kAny : Monoid::Kind::kSum, {}, {}, {}}, type); }

/// What is there where no point is visited.
Expr identity_in(const Compute& c) {
  const Scalar type = c.bodies[0]->type;
  return c.monoid ? identity_of(*c.monoid, type) : zero_of(type);
}

/// Whether points that are left out of a reduction leave what the compute says is there without them.
bool starts_as_identity(const Compute& c) { return !c.fill || equal(c.fill, identity_in(c)); }

/// Whether a walk can do it at all: each point once, in any result that begins as the identity.
bool is_plain(const Compute& c) {
  const bool locates = c.monoid && (c.monoid->kind == Monoid::Kind::kArgMin || c.monoid->kind == Monoid::Kind::kArgMax);
  bool gathers = false;
  for_each_read(c, [&](const Read& r) { gathers = gathers || depends_on_data(r); });
  return c.bodies.size() == 1 && c.left.empty() && !c.base && !c.combine && !c.in_any_order && !locates && !gathers && !fails(c) &&
         starts_as_identity(c);
}

/// Whether an expression that is 0 since its support is false is 0 and not -0.
bool is_positive_zero(const Program& program, const Expr& e) {
  const auto positive = [&](const Expr& part) { return is_positive_zero(program, part); };
  if (!is_float(e->type))
    return true;
  if (const auto* c = std::get_if<Constant>(&e->op))
    return !std::signbit(std::get<double>(c->value));
  if (const auto* r = std::get_if<Read>(&e->op))
    return program.type(r->tensor).has_sparse();
  if (const auto* u = std::get_if<Unary>(&e->op))
    return u->op == UnaryOp::kAbs || (u->op == UnaryOp::kSqrt && positive(u->operand));
  if (const auto* s = std::get_if<Select>(&e->op))
    return positive(s->when_true) && positive(s->when_false);
  if (const auto* c = std::get_if<Cast>(&e->op))
    return positive(c->operand);
  const auto* b = std::get_if<Binary>(&e->op);
  if (b == nullptr)
    return false;
  switch (b->op) {
    case BinaryOp::kAbsentMul:
    case BinaryOp::kMutualMul:
    case BinaryOp::kAbsentDiv: return true;
    case BinaryOp::kAdd: return positive(b->left) || positive(b->right);
    case BinaryOp::kSub: return positive(b->left);
    case BinaryOp::kMin:
    case BinaryOp::kMax: return positive(b->left) && positive(b->right);
    default: return false;
  }
}

/// Whether the index variable runs over the whole dimension.
bool covers(const Compute& c, std::int32_t label, const Extent& extent) {
  const auto index = static_cast<std::size_t>(label);
  const Label& l = index < c.out.size() ? c.out[index] : c.reduce[index - c.out.size()];
  return l.begin == Extent(0) && l.end == extent;
}

/// Whether what a user's reduction combines comes in index order: rows, then elements, then what is dense.
bool keeps_order(const Compute& c, std::int32_t row, std::int32_t column) {
  if (!c.monoid || c.monoid->kind != Monoid::Kind::kUser)
    return true;
  std::vector<std::int32_t> order;
  for (const std::int32_t label : {row, column}) {
    if (static_cast<std::size_t>(label) >= c.out.size())
      order.push_back(label);
  }
  for (std::size_t k = 0; k < order.size(); ++k) {
    if (static_cast<std::size_t>(order[k]) != c.out.size() + k)
      return false;
  }
  return true;
}

/// The walk over the elements that `element` reads, if its subscripts allow one.
std::optional<StoredWalk> walk_over(const Program& program, const Compute& c, const Read& element) {
  const ValueInfo& info = program.info(element.tensor);
  if (!info.compressed || info.type.rank() != 2)
    return std::nullopt;
  const std::int32_t row = label_of(element.subscripts[0]);
  const std::int32_t column = label_of(element.subscripts[1]);
  if (row < 0 || column < 0 || row == column || !covers(c, row, info.type.shape[0]) || !covers(c, column, info.type.shape[1]))
    return std::nullopt;
  if (!keeps_order(c, row, column))
    return std::nullopt;
  const bool same_labels = c.out.size() == 2 && row == 0 && column == 1;
  const StoredWalk walk{element.tensor, row, column, same_labels && equal(identity_in(c), zero_of(c.bodies[0]->type))};
  return reads_walked(c, walk, element.tensor) ? std::optional(walk) : std::nullopt;
}

bool holds_without(const Support& s, const std::vector<Expr>& reads, ValueId tensor) {
  std::vector<bool> present;
  for (const Expr& e : reads) {
    const auto* r = std::get_if<Read>(&e->op);
    present.push_back(r == nullptr || r->tensor != tensor);
  }
  return holds(s, present);
}

}  // namespace

bool reads_walked(const Compute& compute, const StoredWalk& walk, ValueId matrix) {
  bool found = false, same = true;
  for_each_read(compute, [&](const Read& r) {
    if (r.tensor != matrix)
      return;
    found = true;
    same = same && r.subscripts.size() == 2 && label_of(r.subscripts[0]) == walk.row && label_of(r.subscripts[1]) == walk.column;
  });
  return found && same;
}

std::optional<StoredWalk> stored_walk(const Program& program, const Compute& compute) {
  bool any = false;
  for_each_read(compute, [&](const Read& r) { any = any || program.info(r.tensor).compressed; });
  if (!any || !is_plain(compute))
    return std::nullopt;
  std::vector<Expr> reads;
  const Support support = support_of(program, compute, &reads);
  SupportFinder finder(program, Products::kExplicit);
  const Support guard = finder.of(compute.guard);
  const bool zero_is_positive = compute.monoid || is_positive_zero(program, compute.bodies[0]);
  for (const Expr& e : reads) {
    const auto* r = std::get_if<Read>(&e->op);
    const std::optional<StoredWalk> walk = r == nullptr ? std::nullopt : walk_over(program, compute, *r);
    if (!walk || holds_without(support, reads, walk->tensor))
      continue;
    // Without a reduction, what is not visited is 0: bit for bit what the body would be.
    if (zero_is_positive || !holds_without(guard, finder.reads(), walk->tensor))
      return walk;
  }
  return std::nullopt;
}

}  // namespace tdsl::ir
