// Rewrites a read at a periodic index, `mod(i + c, n)` or `(i + c) % n` in a dimension of n elements, as a choice
// between two affine reads, so that a task requests its neighbours' edges instead of the whole dimension:
//
//     compute [i in 0..%0] (%1[mod(sub(i, 1), %0)])
// becomes
//     compute [i in 0..%0] (select(ge(sub(i, 1), 0), %1[sub(i, 1)], %1[add(sub(i, 1), %0)]))
//
// The conditions prove that each read is in bounds where it is evaluated. A constant other than 1 and -1 is reduced to
// 0 .. n - 1 first, by a separate scalar.

#include "passes/passes.h"

#include <utility>
#include <vector>

#include "ir/analysis/periodic.h"
#include "passes/legalise/computes.h"
#include "passes/rewriting.h"
#include "passes/sparse/iteration.h"

namespace tdsl::passes {

using namespace ir;

namespace {

class PeriodicReads {
 public:
  explicit PeriodicReads(Legalised& one) : one_(one), labels_(one.labels()) {}

  Expr unrolled(const Expr& e) {
    return !e ? e
              : rewrite(e, [this](const Expr& x) { return std::holds_alternative<Read>(x->op) ? choice(x, 0) : x; });
  }
  [[nodiscard]] bool found() const { return found_; }

 private:
  /// Chooses between the affine subscripts of dimension `d` and later dimensions.
  Expr choice(const Expr& e, std::size_t d) {
    const auto& r = std::get<Read>(e->op);
    const std::vector<Extent>& shape = one_.program().type(r.tensor).shape;
    for (; d < r.subscripts.size(); ++d) {
      const auto p = periodic_of(r.subscripts[d], labels_, [this](const Expr& x) { return one_.hoisted(x); });
      if (p && p->extent == shape[d]) return places(e, d, *p);
    }
    return e;
  }

  Expr places(const Expr& e, std::size_t d, const Periodic& p) {
    found_ = true;
    const auto& r = std::get<Read>(e->op);
    const auto at = [&](const Expr& subscript) {
      std::vector<Expr> subscripts = r.subscripts;
      subscripts[d] = subscript;
      return choice(read(e->type, r.tensor, std::move(subscripts), e->range), d + 1);
    };
    const auto steps = p.constant.constant();
    const Expr label = index_ref(p.label);
    if (steps && *steps == 0) return at(label);
    const bool back = steps && *steps == -1;
    const bool one_step = back || (steps && *steps == 1);
    const Expr moved = one_step ? p.sum : binary(BinaryOp::kAdd, label, turn(p));
    const Expr around = binary(back ? BinaryOp::kAdd : BinaryOp::kSub, moved, p.divisor);
    const Expr stays = back ? binary(BinaryOp::kGe, moved, constant_i64(0)) : binary(BinaryOp::kLt, moved, p.divisor);
    return select(stays, at(moved), at(around));
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
  bool found_ = false;
};

}  // namespace

Program periodic_reads(const Program& program, PassContext& context) {
  return legalised(program, context, [&](Legalised& one) {
    if (moves_elements(one.program(), one.node())) return;  // its kernel wraps around
    PeriodicReads reads(one);
    rewrite_expressions(one.compute(), [&](const Expr& e) { return reads.unrolled(e); });
    if (reads.found())
      context.applied(one.node().range, "a subscript that wraps around is a choice between two places");
  });
}

}  // namespace tdsl::passes
