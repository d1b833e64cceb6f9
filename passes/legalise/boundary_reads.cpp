// Rewrites a read around the ends of a dimension. One at a periodic index, `mod(i + c, n)` or `(i + c) % n` in a
// dimension of n elements, becomes a choice between two affine reads, so that a task requests its neighbours' edges
// instead of the whole dimension:
//
//     compute [i in 0..%0] (%1[mod(sub(i, 1), %0)])
// becomes
//     compute [i in 0..%0] (select(ge(sub(i, 1), 0), %1[sub(i, 1)], %1[add(sub(i, 1), %0)]))
//
// The conditions prove that each read is in bounds where it is evaluated. A constant other than 1 and -1 is reduced to
// 0 .. n - 1 first, by a separate scalar.
//
// Over a longer range, or for another affine position, there is a place beyond each end. It is `around` the dimension
// if that may be shorter than the distance:
//
//     compute [i in 0..add(%0, 4)] (%1[mod(sub(i, 2), %0)])
// becomes
//     compute [i in 0..add(%0, 4)] (select(ge(sub(i, 2), 0),
//         select(lt(sub(i, 2), %0), %1[sub(i, 2)], %1[around(sub(sub(i, 2), %0), %0)]),
//         %1[around(add(sub(i, 2), %0), %0)]))
//
// A read at a clamped or mirrored position (`edge`, `reflect`, `symmetric`) becomes a choice between the position
// itself and its image in the dimension, so that loops over the interior read at affine subscripts:
//
//     compute [i in 0..%0] (%1[edge(sub(i, 1), %0)])
// becomes
//     compute [i in 0..%0] (select(ge(sub(i, 1), 0), %1[sub(i, 1)], %1[edge(sub(i, 1), %0)]))

#include "passes/passes.h"

#include <utility>
#include <vector>

#include "ir/analysis/boundary.h"
#include "ir/analysis/periodic.h"
#include "ir/graph/expr_build.h"
#include "passes/legalise/computes.h"
#include "passes/rewriting.h"
#include "passes/sparse/iteration.h"

namespace tdsl::passes {

using namespace ir;

namespace {

class BoundaryReads {
 public:
  explicit BoundaryReads(Legalised& one) : one_(one), labels_(one.labels()) {}

  Expr unrolled(const Expr& e) {
    return !e ? e
              : rewrite(e, [this](const Expr& x) { return std::holds_alternative<Read>(x->op) ? choice(x, 0) : x; });
  }
  [[nodiscard]] bool wraps() const { return wraps_; }
  [[nodiscard]] bool mirrors() const { return mirrors_; }
  /// A periodic subscript is left whose position goes beyond the ends by unknown distances.
  [[nodiscard]] bool turns_often() const { return turns_often_; }

 private:
  /// Chooses between the affine subscripts of dimension `d` and later dimensions.
  Expr choice(const Expr& e, std::size_t d) {
    const auto& r = std::get<Read>(e->op);
    const std::vector<Extent>& shape = one_.program().type(r.tensor).shape;
    for (; d < r.subscripts.size(); ++d) {
      const Hoist hoist = [this](const Expr& x) { return one_.hoisted(x); };
      const auto p = periodic_of(r.subscripts[d], labels_, hoist);
      if (p && p->extent == shape[d]) return places(e, d, *p);
      if (const auto t = turns_of(r.subscripts[d], shape[d], labels_, hoist)) return places(e, d, *t);
      if (const auto b = boundary_of(r.subscripts[d], labels_, hoist)) return places(e, d, *b);
      turns_often_ = turns_often_ || is_modulo(r.subscripts[d], shape[d], hoist);
    }
    return e;
  }

  /// True for `mod(x, n)` in a dimension of n elements, with an x that depends on index variables alone.
  static bool is_modulo(const Expr& e, const Extent& extent, const Hoist& hoist) {
    const auto* b = std::get_if<Binary>(&e->op);
    if (b == nullptr || (b->op != BinaryOp::kMod && b->op != BinaryOp::kRem)) return false;
    const auto x = affine_of(b->left, hoist);
    const auto n = x && !x->terms.empty() ? affine_of(b->right, hoist) : std::nullopt;
    return n && n->terms.empty() && n->constant == extent;
  }

  /// The read with another subscript in dimension `d`.
  Expr at(const Expr& e, std::size_t d, const Expr& subscript) {
    const auto& r = std::get<Read>(e->op);
    std::vector<Expr> subscripts = r.subscripts;
    subscripts[d] = subscript;
    return choice(read(e->type, r.tensor, std::move(subscripts), e->range), d + 1);
  }

  Expr places(const Expr& e, std::size_t d, const Boundary& b) {
    mirrors_ = true;
    const Expr inside = is_inside(b);
    const Expr affine = at(e, d, b.x);
    return inside ? select(inside, affine, choice(e, d + 1)) : affine;
  }

  /// Every condition holds in the interior, and those that lead to a place say at which end it is.
  Expr places(const Expr& e, std::size_t d, const Turns& t) {
    wraps_ = true;
    Expr place = at(e, d, t.x);
    if (t.above) place = select(binary(BinaryOp::kLt, t.x, t.n), place, at(e, d, t.above));
    if (t.below) place = select(binary(BinaryOp::kGe, t.x, constant_i64(0)), place, at(e, d, t.below));
    return place;
  }

  Expr places(const Expr& e, std::size_t d, const Periodic& p) {
    wraps_ = true;
    const auto steps = p.constant.constant();
    const Expr label = index_ref(p.label);
    if (steps && *steps == 0) return at(e, d, label);
    const bool back = steps && *steps == -1;
    const bool one_step = back || (steps && *steps == 1);
    const Expr moved = one_step ? p.sum : binary(BinaryOp::kAdd, label, turn(p));
    const Expr around = binary(back ? BinaryOp::kAdd : BinaryOp::kSub, moved, p.divisor);
    const Expr stays = back ? binary(BinaryOp::kGe, moved, constant_i64(0)) : binary(BinaryOp::kLt, moved, p.divisor);
    return select(stays, at(e, d, moved), at(e, d, around));
  }

  /// The constant reduced to 0 .. n - 1, once and on every rank.
  Expr turn(const Periodic& p) {
    const Expr steps = with_label(p.sum, p.label, constant_i64(0));
    const Expr divisor = binary(BinaryOp::kMax, p.divisor, constant_i64(1));
    Compute turn;
    turn.bodies = {binary(BinaryOp::kMod, steps, divisor)};
    for (const auto& [known, value] : turns_) {
      if (equal(known, turn.bodies[0])) return value;
    }
    const Expr body = turn.bodies[0];
    const Expr value = read(Scalar::kI64, one_.in_front(std::move(turn), {Scalar::kI64, {}, {}}, "_turn"), {});
    turns_.emplace_back(body, value);
    return value;
  }

  Legalised& one_;
  std::vector<Label> labels_;
  std::vector<std::pair<Expr, Expr>> turns_;
  bool wraps_ = false;
  bool mirrors_ = false;
  bool turns_often_ = false;
};

}  // namespace

Program boundary_reads(const Program& program, PassContext& context) {
  return legalised(program, context, [&](Legalised& one) {
    if (moves_elements(one.program(), one.node())) return;  // its kernel wraps around
    BoundaryReads reads(one);
    rewrite_expressions(one.compute(), [&](const Expr& e) { return reads.unrolled(e); });
    if (reads.wraps())
      context.applied(one.node().range, "a subscript that wraps around is a choice between two places");
    if (reads.turns_often())
      context.refused(one.node().range,
                      "a periodic subscript is looked up: the compiler does not know how far it leaves the dimension");
    if (reads.mirrors()) context.applied(one.node().range, "a clamped or mirrored subscript is affine in the interior");
  });
}

}  // namespace tdsl::passes
