#include "ir/differentiate/expr.h"

#include <algorithm>
#include <numbers>

#include "ir/differentiate/compute.h"
#include "ir/graph/expr_build.h"
#include "ir/graph/procedure.h"
#include "ir/graph/within.h"

namespace tdsl::ir {

namespace {

/// Piecewise constant functions.
bool is_step(UnaryOp op) {
  switch (op) {
    case UnaryOp::kFloor:
    case UnaryOp::kCeil:
    case UnaryOp::kTrunc:
    case UnaryOp::kRound:
    case UnaryOp::kSign:
    case UnaryOp::kNot:
    case UnaryOp::kIsNan:
    case UnaryOp::kIsInf: return true;
    default: return false;
  }
}

/// Number of operations; above a threshold results are stored rather than recomputed.
int cost(const Expr& e) {
  if (std::holds_alternative<Read>(e->op)) return 0;
  if (std::holds_alternative<Apply>(e->op)) return 1000;
  int total = std::holds_alternative<Unary>(e->op) || std::holds_alternative<Binary>(e->op) ? 1 : 0;
  for (const Expr& child : children(*e)) total += cost(child);
  return total;
}

bool same_subscripts(const Read& a, const Read& b) {
  return a.tensor == b.tensor &&
         std::ranges::equal(a.subscripts, b.subscripts, [](const Expr& x, const Expr& y) { return equal(x, y); });
}

bool same_condition(const Expr& a, const Expr& b) { return (!a && !b) || (a && b && equal(a, b)); }

Expr negated(const Expr& condition) { return unary(UnaryOp::kNot, condition); }

Expr one_like(const Expr& e) { return float_constant(e->type, 1.0); }

Expr square(const Expr& e) { return product_of(e, e); }

bool has_real_variables(const Procedure& p) {
  return !is_half(p.result->type) &&
         std::ranges::none_of(p.variables, [](const auto& v) { return is_complex(v.type) || is_half(v.type); });
}

// Note [Complex derivatives] The derivative of the loss L by z = x + iy is dL/dx + i dL/dy. For w = f(z) with a complex
// derivative f', that by z is the one by w times conj(f'(z)). Functions without one (abs, real, conj, …) have cases of
// their own.

}  // namespace

bool ExprDerivative::depends(const Expr& e) {
  if (!is_float(e->type)) return false;
  const auto known = depends_.find(e.id());
  if (known != depends_.end()) return known->second;
  const bool result = match(
      e->op, [](const Constant&) { return false; }, [](const IndexRef&) { return false; },
      [&](const Read& r) { return is_active_(r.tensor); }, [](const Argument&) { return false; },
      [&](const Unary& u) { return (!is_step(u.op) || is_complex(e->type)) && depends(u.operand); },
      [&](const Binary& b) {
        const bool left = depends(b.left);
        // Only the sign of copysign's second operand counts.
        return (b.op != BinaryOp::kCopysign && depends(b.right)) || left;
      },
      [&](const Select& s) {
        const bool taken = depends(s.when_true);
        return depends(s.when_false) || taken;
      },
      [&](const Cast& c) { return depends(c.operand); },
      [&](const Apply& a) {
        bool any = false;
        for (const Expr& argument : a.arguments) any = depends(argument) || any;
        return any;
      });
  depends_.emplace(e.id(), result);
  return result;
}

std::vector<Partial> ExprDerivative::partials(const Expr& e, const Expr& upstream) {
  root_ = e;
  partials_.clear();
  visit(e, upstream, {});
  return std::move(partials_);
}

Expr ExprDerivative::own(const Expr& e) const { return own_value_ && e.id() == root_.id() ? own_value_ : e; }

void ExprDerivative::add(const Read& read, const Expr& value, const Expr& condition) {
  for (Partial& p : partials_) {
    if (!same_subscripts(p.read, read) || !same_condition(p.condition, condition)) continue;
    p.value = sum_of(p.value, value);
    return;
  }
  partials_.push_back({read, condition, value});
}

void ExprDerivative::visit(const Expr& e, Expr upstream, const Expr& condition) {
  if (!depends(e) || is_float_constant(upstream, 0.0)) return;
  match(
      e->op, [](const Constant&) {}, [](const IndexRef&) {}, [&](const Read& r) { add(r, upstream, condition); },
      [](const Argument&) {}, [&](const Unary& u) { visit_unary(e, u, upstream, condition); },
      [&](const Binary& b) { visit_binary(e, b, upstream, condition); },
      [&](const Select& s) {
        // A subscript check also applies to the derivative, which may be the only remaining computation.
        if (within_of(e))
          return visit(s.when_true, select(s.condition, upstream, cast(upstream->type, s.when_false), e->range),
                       condition);
        visit(s.when_true, upstream, conjunction_of(condition, s.condition));
        visit(s.when_false, upstream, conjunction_of(condition, negated(s.condition)));
      },
      [&](const Cast& c) {
        const bool becomes_complex = is_complex(e->type) && !is_complex(c.operand->type);
        const Scalar type = operand_type(c.operand->type);
        visit(c.operand, cast(type, becomes_complex ? unary(UnaryOp::kReal, upstream) : upstream), condition);
      },
      [&](const Apply& a) {
        if (!has_real_variables(*a.procedure))
          throw NotDifferentiable{e->range, "the function `" + a.procedure->name +
                                                "`, whose statements have complex numbers, f16 or bf16, cannot be "
                                                "differentiated"};
        if (const ForeignRef& foreign = a.procedure->foreign)
          throw NotDifferentiable{
              e->range, "the function `" + foreign->name + "` of " + foreign->header + " cannot be differentiated"};
        for (std::size_t k = 0; k < a.arguments.size(); ++k) {
          if (!depends(a.arguments[k])) continue;
          const Expr slope = application(std::make_shared<const Procedure>(tangent_of(*a.procedure, k)), a.arguments);
          visit(a.arguments[k], cast(a.arguments[k]->type, product_of(upstream, slope)), condition);
        }
      });
}

void ExprDerivative::visit_unary(const Expr& e, const Unary& u, const Expr& upstream, const Expr& condition) {
  const Expr& x = u.operand;
  const Scalar type = e->type;
  const Expr zero = float_constant(type, 0.0);
  const Expr one = one_like(e);
  const auto times = [&](const Expr& slope) { visit(x, product_of(upstream, conjugated(slope)), condition); };
  const auto over = [&](const Expr& divisor) { visit(x, quotient_of(upstream, conjugated(divisor)), condition); };
  if (is_complex(x->type) && visit_part(u, upstream, condition)) return;
  switch (u.op) {
    case UnaryOp::kNeg: visit(x, negation_of(upstream), condition); return;
    case UnaryOp::kAbs: times(unary(UnaryOp::kSign, x)); return;
    case UnaryOp::kSqrt: over(product_of(float_constant(type, 2.0), own(e))); return;
    case UnaryOp::kExp: times(own(e)); return;
    case UnaryOp::kLog: over(x); return;
    case UnaryOp::kLog1p: over(sum_of(x, one)); return;
    case UnaryOp::kExpm1: times(sum_of(own(e), one)); return;
    case UnaryOp::kSin: times(unary(UnaryOp::kCos, x)); return;
    case UnaryOp::kCos: times(negation_of(unary(UnaryOp::kSin, x))); return;
    case UnaryOp::kTan: times(sum_of(square(own(e)), one)); return;
    case UnaryOp::kTanh: times(binary(BinaryOp::kSub, one, square(own(e)))); return;
    case UnaryOp::kErf:
      times(product_of(float_constant(type, 2.0 * std::numbers::inv_sqrtpi),
                       unary(UnaryOp::kExp, negation_of(square(x)))));
      return;
    case UnaryOp::kAsin: over(unary(UnaryOp::kSqrt, binary(BinaryOp::kSub, one, square(x)))); return;
    case UnaryOp::kAcos: over(negation_of(unary(UnaryOp::kSqrt, binary(BinaryOp::kSub, one, square(x))))); return;
    case UnaryOp::kAtan: over(sum_of(square(x), one)); return;
    case UnaryOp::kSinh: times(unary(UnaryOp::kCosh, x)); return;
    case UnaryOp::kCosh: times(unary(UnaryOp::kSinh, x)); return;
    case UnaryOp::kAsinh:
      over(is_complex(type) ? unary(UnaryOp::kSqrt, sum_of(square(x), one)) : binary(BinaryOp::kHypot, x, one));
      return;
    case UnaryOp::kAcosh:
      over(product_of(unary(UnaryOp::kSqrt, binary(BinaryOp::kSub, x, one)), unary(UnaryOp::kSqrt, sum_of(x, one))));
      return;
    case UnaryOp::kAtanh: over(binary(BinaryOp::kSub, one, square(x))); return;
    case UnaryOp::kCbrt: over(product_of(float_constant(type, 3.0), square(own(e)))); return;
    case UnaryOp::kLog2: over(product_of(float_constant(type, std::numbers::ln2), x)); return;
    case UnaryOp::kLog10: over(product_of(float_constant(type, std::numbers::ln10), x)); return;
    case UnaryOp::kExp2: times(product_of(float_constant(type, std::numbers::ln2), own(e))); return;
    case UnaryOp::kErfc:
      times(product_of(float_constant(type, -2.0 * std::numbers::inv_sqrtpi),
                       unary(UnaryOp::kExp, negation_of(square(x)))));
      return;
    case UnaryOp::kGamma: times(product_of(own(e), unary(UnaryOp::kDigamma, x))); return;
    case UnaryOp::kLgamma: times(unary(UnaryOp::kDigamma, x)); return;
    case UnaryOp::kDigamma: throw NotDifferentiable{e->range, "`digamma` cannot be differentiated"};
    case UnaryOp::kSigmoid: times(product_of(own(e), binary(BinaryOp::kSub, one, own(e)))); return;
    case UnaryOp::kRelu: visit(x, select(binary(BinaryOp::kGt, x, zero), upstream, zero), condition); return;
    case UnaryOp::kSparse:
    case UnaryOp::kDense: visit(x, upstream, condition); return;
    case UnaryOp::kReal:
    case UnaryOp::kImag:
    case UnaryOp::kConj:
    case UnaryOp::kArg:
    case UnaryOp::kBitNot:
    case UnaryOp::kPopcount:
    case UnaryOp::kFloor:
    case UnaryOp::kCeil:
    case UnaryOp::kTrunc:
    case UnaryOp::kRound:
    case UnaryOp::kSign:
    case UnaryOp::kNot:
    case UnaryOp::kIsNan:
    case UnaryOp::kIsInf: return;
  }
}

/// Functions of a complex operand without a complex derivative; false for others.
bool ExprDerivative::visit_part(const Unary& u, const Expr& upstream, const Expr& condition) {
  const Expr& x = u.operand;
  const Scalar type = x->type;
  const Scalar part = part_type(type);
  const Expr none = float_constant(part, 0.0);
  const auto size = [&] { return unary(UnaryOp::kAbs, x); };
  switch (u.op) {
    case UnaryOp::kReal: visit(x, cast(type, upstream), condition); return true;
    case UnaryOp::kImag: visit(x, binary(BinaryOp::kComplex, none, upstream), condition); return true;
    case UnaryOp::kConj: visit(x, conjugated(upstream), condition); return true;
    case UnaryOp::kAbs: visit(x, product_of(cast(type, upstream), unary(UnaryOp::kSign, x)), condition); return true;
    case UnaryOp::kArg: {
      // The direction in which the angle grows, by the distance from 0.
      const Expr turned = binary(BinaryOp::kComplex, negation_of(unary(UnaryOp::kImag, x)), unary(UnaryOp::kReal, x));
      visit(x, quotient_of(product_of(cast(type, upstream), turned), cast(type, square(size()))), condition);
      return true;
    }
    case UnaryOp::kSign: {
      // The part across z, by the distance from 0.
      const Expr direction = unary(UnaryOp::kSign, x);
      const Expr along = unary(UnaryOp::kReal, product_of(upstream, conjugated(direction)));
      const Expr across = binary(BinaryOp::kSub, upstream, product_of(cast(type, along), direction));
      const Expr at_zero = binary(BinaryOp::kEq, x, float_constant(type, 0.0));
      visit(x, select(at_zero, float_constant(type, 0.0), quotient_of(across, cast(type, size()))), condition);
      return true;
    }
    default: return false;
  }
}

void ExprDerivative::visit_binary(const Expr& e, const Binary& b, const Expr& given, const Expr& condition) {
  const bool both = depends(b.left) && depends(b.right);
  const Expr upstream = both && share_ && cost(given) >= 2 ? share_(given, condition) : given;
  switch (b.op) {
    case BinaryOp::kAdd:
      visit(b.left, upstream, condition);
      visit(b.right, upstream, condition);
      return;
    case BinaryOp::kSub:
      visit(b.left, upstream, condition);
      if (depends(b.right)) visit(b.right, negation_of(upstream), condition);
      return;
    case BinaryOp::kMul:
      if (equal(b.left, b.right)) {
        visit(b.left, product_of(product_of(float_constant(e->type, 2.0), upstream), conjugated(b.left)), condition);
        return;
      }
      visit(b.left, product_of(upstream, conjugated(b.right)), condition);
      visit(b.right, product_of(upstream, conjugated(b.left)), condition);
      return;
    case BinaryOp::kDiv:
      visit(b.left, quotient_of(upstream, conjugated(b.right)), condition);
      if (depends(b.right))
        visit(b.right, quotient_of(product_of(negation_of(upstream), conjugated(own(e))), conjugated(b.right)),
              condition);
      return;
    case BinaryOp::kComplex:
      visit(b.left, unary(UnaryOp::kReal, upstream), condition);
      visit(b.right, unary(UnaryOp::kImag, upstream), condition);
      return;
    case BinaryOp::kRem:
    case BinaryOp::kMod: {
      visit(b.left, upstream, condition);
      if (!depends(b.right)) return;
      // a - q * b with the integer q, rounded towards zero for rem and down for mod.
      const Expr ratio = binary(BinaryOp::kDiv, b.left, b.right);
      const Expr zero = float_constant(e->type, 0.0);
      const Expr down = unary(UnaryOp::kFloor, ratio);
      const Expr q = b.op == BinaryOp::kMod
                         ? down
                         : select(binary(BinaryOp::kLt, ratio, zero), unary(UnaryOp::kCeil, ratio), down);
      visit(b.right, product_of(negation_of(upstream), q), condition);
      return;
    }
    case BinaryOp::kPow: visit_power(e, b, upstream, condition); return;
    case BinaryOp::kAtan2: {
      const Expr squares = sum_of(square(b.left), square(b.right));
      if (depends(b.left)) visit(b.left, quotient_of(product_of(upstream, b.right), squares), condition);
      if (depends(b.right)) visit(b.right, quotient_of(product_of(negation_of(upstream), b.left), squares), condition);
      return;
    }
    case BinaryOp::kHypot: {
      // The slope is 0 at the origin, like that of `abs`.
      const Expr zero = float_constant(e->type, 0.0);
      const auto slope = [&](const Expr& operand) {
        return select(binary(BinaryOp::kEq, own(e), zero), zero, quotient_of(operand, own(e)));
      };
      if (depends(b.left)) visit(b.left, product_of(upstream, slope(b.left)), condition);
      if (depends(b.right)) visit(b.right, product_of(upstream, slope(b.right)), condition);
      return;
    }
    case BinaryOp::kCopysign:
      visit(b.left,
            product_of(upstream,
                       product_of(unary(UnaryOp::kSign, b.left), binary(BinaryOp::kCopysign, one_like(e), b.right))),
            condition);
      return;
    case BinaryOp::kMin:
    case BinaryOp::kMax: visit_extremum(b, upstream, condition); return;
    default: return;
  }
}

void ExprDerivative::visit_power(const Expr& e, const Binary& b, const Expr& upstream, const Expr& condition) {
  const Expr& x = b.left;
  const Expr& y = b.right;
  const Scalar type = e->type;
  if (depends(x)) {
    const Expr factor = cast(type, y);
    const auto* literal = std::get_if<Constant>(&y->op);
    Expr less;  // x ** (y - 1)
    if (is_float_constant(factor, 2.0)) {
      less = x;
    } else if (is_float_constant(factor, 1.0)) {
      less = float_constant(type, 1.0);
    } else if (is_float(y->type)) {
      less = binary(BinaryOp::kPow, x, binary(BinaryOp::kSub, y, float_constant(type, 1.0)));
    } else {
      less = binary(BinaryOp::kPow, x, binary(BinaryOp::kSub, y, constant(y->type, std::int64_t{1})));
    }
    Expr slope = product_of(factor, less);
    // The derivative of x ** 0 is 0 even where 0 ** -1 is infinite.
    if (literal == nullptr) {
      const Expr none = is_float(y->type) ? float_constant(y->type, 0.0) : constant(y->type, std::int64_t{0});
      slope = select(binary(BinaryOp::kEq, y, none), float_constant(type, 0.0), slope);
    }
    visit(x, product_of(upstream, conjugated(slope)), condition);
  }
  if (!depends(y)) return;
  // At x = 0 the power is 0 for every exponent above 0.
  const Expr zero = float_constant(type, 0.0);
  const Expr slope = product_of(own(e), unary(UnaryOp::kLog, x));
  const Expr at_zero = binary(BinaryOp::kEq, x, zero);
  const Expr flat = is_complex(type) ? at_zero : binary(BinaryOp::kAnd, at_zero, binary(BinaryOp::kGt, y, zero));
  visit(y, product_of(upstream, conjugated(select(flat, zero, slope))), condition);
}

void ExprDerivative::visit_extremum(const Binary& b, const Expr& upstream, const Expr& condition) {
  const Expr zero = float_constant(upstream->type, 0.0);
  const Expr half = product_of(float_constant(upstream->type, 0.5), upstream);
  const Expr tie = select(binary(BinaryOp::kEq, b.left, b.right), half, zero);
  const BinaryOp wins = b.op == BinaryOp::kMax ? BinaryOp::kGt : BinaryOp::kLt;
  if (depends(b.left)) visit(b.left, select(binary(wins, b.left, b.right), upstream, tie), condition);
  if (depends(b.right)) visit(b.right, select(binary(wins, b.right, b.left), upstream, tie), condition);
}

}  // namespace tdsl::ir
