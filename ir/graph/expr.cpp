#include "ir/graph/expr.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <string>

#include "ir/graph/check.h"
#include "ir/graph/procedure.h"
#include "ir/graph/scalar.h"
#include "runtime/kernels/scalar_math.h"

namespace tdsl::ir {

namespace {

Expr make(SourceRange range, Scalar type, ExprOp op) {
  return Expr(std::make_shared<const ExprNode>(ExprNode{range, type, std::move(op)}));
}

/// Calls `f` with the C++ type of an integer type.
template <class F>
auto with_integer(Scalar type, const F& f) {
  return rt::visit_element_type(type, [&](auto tag) {
    if constexpr (rt::scalar::Integer<typename decltype(tag)::type>) {
      return f(tag);
    } else {
      TDSL_CHECK(false, "an integer type");
      return f(std::type_identity<std::int64_t>{});
    }
  });
}

/// The literal as stored in an element of type `s`: rounded to the float type or wrapped to the integer type.
Literal stored(Scalar s, Literal value) {
  if (is_float(s)) return rounded(s, std::get<double>(value));
  if (!is_integer(s)) return value;
  return with_integer(s, [&](auto tag) {
    return Literal(static_cast<std::int64_t>(static_cast<typename decltype(tag)::type>(std::get<std::int64_t>(value))));
  });
}

const Literal* literal_of(const Expr& e) {
  const auto* c = std::get_if<Constant>(&e->op);
  return c == nullptr ? nullptr : &c->value;
}

bool is_integer_constant(const Expr& e, std::int64_t value) {
  const Literal* l = literal_of(e);
  return l != nullptr && is_integer(e->type) && std::get<std::int64_t>(*l) == value;
}

std::optional<Literal> fold_positions(BinaryOp op, std::int64_t a, std::int64_t n) {
  switch (op) {
    case BinaryOp::kEdge: return Literal(rt::scalar::edge(a, n));
    case BinaryOp::kReflect: return Literal(rt::scalar::reflect(a, n));
    case BinaryOp::kSymmetric: return Literal(rt::scalar::symmetric(a, n));
    case BinaryOp::kAround: return Literal(rt::scalar::around(a, n));
    default: return std::nullopt;
  }
}

/// Wrapping arithmetic of the integer type T.
template <class T>
std::optional<Literal> fold_integers(BinaryOp op, T a, T b) {
  rt::scalar::Faults faults;
  const auto whole = [&](T value) {
    return faults.any() ? std::nullopt : std::optional(Literal(static_cast<std::int64_t>(value)));
  };
  switch (op) {
    case BinaryOp::kAdd: return whole(rt::scalar::add(a, b));
    case BinaryOp::kSub: return whole(rt::scalar::subtract(a, b));
    case BinaryOp::kMul: return whole(rt::scalar::multiply(a, b));
    case BinaryOp::kDiv: {
      const T quotient = rt::scalar::divide(a, b, faults);
      return whole(quotient);
    }
    case BinaryOp::kRem: {
      const T rest = rt::scalar::remainder(a, b, faults);
      return whole(rest);
    }
    case BinaryOp::kPow: {
      const T power = rt::scalar::power(a, b, faults);
      return whole(power);
    }
    case BinaryOp::kMin: return whole(std::min(a, b));
    case BinaryOp::kMax: return whole(std::max(a, b));
    case BinaryOp::kBitAnd: return whole(rt::scalar::bit_and(a, b));
    case BinaryOp::kBitOr: return whole(rt::scalar::bit_or(a, b));
    case BinaryOp::kBitXor: return whole(rt::scalar::bit_xor(a, b));
    case BinaryOp::kShiftLeft: return whole(rt::scalar::shift_left(a, b));
    case BinaryOp::kShiftRight: return whole(rt::scalar::shift_right(a, b));
    case BinaryOp::kEq: return Literal(a == b);
    case BinaryOp::kNe: return Literal(a != b);
    case BinaryOp::kLt: return Literal(a < b);
    case BinaryOp::kLe: return Literal(a <= b);
    case BinaryOp::kGt: return Literal(a > b);
    case BinaryOp::kGe: return Literal(a >= b);
    default: return fold_positions(op, static_cast<std::int64_t>(a), static_cast<std::int64_t>(b));
  }
}

/// IEEE arithmetic, reproduced exactly at run time. `Real` is the element type.
template <class Real>
std::optional<Literal> fold_floats(BinaryOp op, double a, double b) {
  const Real x = static_cast<Real>(a);
  const Real y = static_cast<Real>(b);
  const auto real = [](Real value) { return Literal(static_cast<double>(value)); };
  switch (op) {
    case BinaryOp::kAdd: return real(x + y);
    case BinaryOp::kSub: return real(x - y);
    case BinaryOp::kMul: return real(x * y);
    case BinaryOp::kDiv: return real(x / y);
    case BinaryOp::kEq: return Literal(x == y);
    case BinaryOp::kNe: return Literal(x != y);
    case BinaryOp::kLt: return Literal(x < y);
    case BinaryOp::kLe: return Literal(x <= y);
    case BinaryOp::kGt: return Literal(x > y);
    case BinaryOp::kGe: return Literal(x >= y);
    default: return std::nullopt;
  }
}

std::optional<Literal> fold(BinaryOp op, const Expr& left, const Expr& right) {
  const Literal* a = literal_of(left);
  const Literal* b = literal_of(right);
  if (a == nullptr || b == nullptr || left->type != right->type || left->type == Scalar::kBool) return std::nullopt;
  if (op == BinaryOp::kComplex) {
    const double imaginary = std::get<double>(*b);
    return imaginary == 0 && !std::signbit(imaginary) ? std::optional(*a) : std::nullopt;
  }
  // Products and quotients have zeros of either sign in their imaginary parts.
  if (is_complex(left->type) && op != BinaryOp::kAdd) return std::nullopt;
  if (left->type == Scalar::kC64) return fold_floats<float>(op, std::get<double>(*a), std::get<double>(*b));
  if (left->type == Scalar::kC128) return fold_floats<double>(op, std::get<double>(*a), std::get<double>(*b));
  if (left->type == Scalar::kF32) return fold_floats<float>(op, std::get<double>(*a), std::get<double>(*b));
  if (left->type == Scalar::kF64) return fold_floats<double>(op, std::get<double>(*a), std::get<double>(*b));
  return with_integer(left->type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return fold_integers(op, static_cast<T>(std::get<std::int64_t>(*a)), static_cast<T>(std::get<std::int64_t>(*b)));
  });
}

/// `x + 0`, `x - 0`, `x * 1` on integers and `true && x`, `false || x`: the operand that the result equals, else null.
Expr neutral(BinaryOp op, const Expr& left, const Expr& right) {
  if (op == BinaryOp::kAdd && is_integer_constant(left, 0)) return right;
  if ((op == BinaryOp::kAdd || op == BinaryOp::kSub) && is_integer_constant(right, 0)) return left;
  if (op == BinaryOp::kMul && is_integer_constant(left, 1)) return right;
  if ((op == BinaryOp::kMul || op == BinaryOp::kDiv) && is_integer_constant(right, 1)) return left;
  if (!is_logical(op) || literal_of(left) == nullptr) return {};
  // The right operand of a decided `&&` or `||` is not evaluated.
  return std::get<bool>(*literal_of(left)) == (op == BinaryOp::kAnd) ? right : left;
}

std::optional<Literal> fold_cast(Scalar to, Scalar from, const Literal& value) {
  if (is_float(to)) {
    if (is_float(from)) return value;
    const std::int64_t whole =
        from == Scalar::kBool ? std::int64_t{std::get<bool>(value)} : std::get<std::int64_t>(value);
    // Via double, an i64 would be rounded twice on its way to f32.
    const auto as_float = [&](auto number) {
      return is_narrow(to) ? static_cast<double>(static_cast<float>(number)) : static_cast<double>(number);
    };
    return Literal(from == Scalar::kU64 ? as_float(static_cast<std::uint64_t>(whole)) : as_float(whole));
  }
  if (to == Scalar::kBool) {
    return is_float(from) ? Literal(std::get<double>(value) != 0.0) : Literal(std::get<std::int64_t>(value) != 0);
  }
  if (from == Scalar::kBool) return Literal(std::int64_t{std::get<bool>(value)});
  if (is_integer(from)) return value;
  // The run stops if a float does not fit; only values that certainly fit are folded.
  const double number = std::get<double>(value);
  const bool fits = with_integer(to, [&](auto tag) { return rt::scalar::fits<typename decltype(tag)::type>(number); });
  if (!fits || std::abs(number) > 9007199254740992.0) return std::nullopt;
  return Literal(static_cast<std::int64_t>(number));
}

std::size_t combine(std::size_t seed, std::size_t value) {
  return seed ^ (value + 0x9e3779b97f4a7c15U + (seed << 6U) + (seed >> 2U));
}

bool same_procedure(const ExprOp& a, const ExprOp& b) {
  const auto* x = std::get_if<Apply>(&a);
  return x == nullptr || x->procedure == std::get<Apply>(b).procedure ||
         x->procedure->text == std::get<Apply>(b).procedure->text;
}

}  // namespace

Expr constant(Scalar type, Literal value, SourceRange range) {
  TDSL_CHECK(holds(type, value), "a constant's literal must be of its type");
  return make(range, type, Constant{stored(type, value)});
}

Expr constant_i64(std::int64_t value, SourceRange range) { return make(range, Scalar::kI64, Constant{value}); }

Expr index_ref(std::int32_t label, SourceRange range) {
  TDSL_CHECK(label >= 0, "labels count from 0");
  return make(range, Scalar::kI64, IndexRef{label});
}

Expr read(Scalar element_type, ValueId tensor, std::vector<Expr> subscripts, SourceRange range) {
  TDSL_CHECK(tensor.valid(), "a read needs a tensor");
  for (const Expr& s : subscripts) TDSL_CHECK(s && s->type == Scalar::kI64, "subscripts are i64");
  return make(range, element_type, Read{tensor, std::move(subscripts)});
}

Expr argument(Scalar type, std::int32_t position, SourceRange range) {
  TDSL_CHECK(position >= 0, "arguments count from 0");
  return make(range, type, Argument{position});
}

Expr unary(UnaryOp op, Expr operand, SourceRange range) {
  TDSL_CHECK(operand, "operand missing");
  const auto type = result_type(op, operand->type);
  TDSL_CHECK(type.has_value(), std::string(name_of(op)) + " is not defined on " + std::string(name_of(operand->type)));
  if (is_rounding(op) && is_integer(*type)) return operand;
  if (const Literal* l = literal_of(operand)) {
    if (op == UnaryOp::kNot) return constant(*type, !std::get<bool>(*l), range);
    if (op == UnaryOp::kNeg && is_real(*type)) return constant(*type, -std::get<double>(*l), range);
    if (op == UnaryOp::kReal) return constant(*type, *l, range);
    const auto* whole = std::get_if<std::int64_t>(l);
    if (whole != nullptr && op == UnaryOp::kNeg) return constant(*type, rt::scalar::negate(*whole), range);
    if (whole != nullptr && op == UnaryOp::kBitNot) return constant(*type, rt::scalar::bit_not(*whole), range);
  }
  return make(range, *type, Unary{op, std::move(operand)});
}

Expr binary(BinaryOp op, Expr left, Expr right, SourceRange range) {
  TDSL_CHECK(left && right, "operand missing");
  const auto type = result_type(op, left->type, right->type);
  TDSL_CHECK(type.has_value(), std::string(name_of(op)) + " is not defined on " + std::string(name_of(left->type)) +
                                   " and " + std::string(name_of(right->type)));
  if (const auto value = fold(op, left, right)) return constant(*type, *value, range);
  if (Expr same = neutral(op, left, right)) return same;
  return make(range, *type, Binary{op, std::move(left), std::move(right)});
}

Expr select(Expr condition, Expr when_true, Expr when_false, SourceRange range) {
  TDSL_CHECK(condition && when_true && when_false, "operand missing");
  TDSL_CHECK(condition->type == Scalar::kBool, "a condition is bool");
  TDSL_CHECK(when_true->type == when_false->type, "both branches have one type");
  if (const Literal* l = literal_of(condition)) return std::get<bool>(*l) ? when_true : when_false;
  const Scalar type = when_true->type;
  return make(range, type, Select{std::move(condition), std::move(when_true), std::move(when_false)});
}

Expr cast(Scalar type, Expr operand, SourceRange range) {
  TDSL_CHECK(operand, "operand missing");
  if (operand->type == type) return operand;
  TDSL_CHECK(!is_complex(operand->type) || is_complex(type) || type == Scalar::kBool, "no complex number becomes real");
  if (const Literal* l = literal_of(operand)) {
    if (const auto value = fold_cast(type, operand->type, *l)) return constant(type, *value, range);
  }
  return make(range, type, Cast{std::move(operand)});
}

Expr application(ProcedureRef procedure, std::vector<Expr> arguments, SourceRange range) {
  TDSL_CHECK(procedure && procedure->result, "a procedure gives a result");
  TDSL_CHECK(procedure->parameters == arguments.size(), "a procedure takes one argument per parameter");
  for (std::size_t k = 0; k < arguments.size(); ++k)
    TDSL_CHECK(arguments[k] && arguments[k]->type == procedure->variables[k].type,
               "an argument has its parameter's type");
  const Scalar type = procedure->result->type;
  return make(range, type, Apply{std::move(procedure), std::move(arguments)});
}

std::int64_t own_number(const ExprOp& op) {
  return match(
      op,
      [](const Constant& c) {
        return match(
            c.value, [](bool b) { return std::int64_t{b}; }, [](std::int64_t i) { return i; },
            [](double d) { return std::bit_cast<std::int64_t>(d); },
            [](rt::Complex<double> z) { return std::bit_cast<std::int64_t>(z.re); });
      },
      [](const IndexRef& i) { return std::int64_t{i.label}; }, [](const Read& r) { return std::int64_t{r.tensor.id}; },
      [](const Argument& a) { return std::int64_t{a.position}; },
      [](const Unary& u) { return static_cast<std::int64_t>(u.op); },
      [](const Binary& b) { return static_cast<std::int64_t>(b.op); }, [](const Select&) { return std::int64_t{0}; },
      [](const Cast&) { return std::int64_t{0}; }, [](const Apply&) { return std::int64_t{0}; });
}

bool equal(const Expr& a, const Expr& b) {
  if (a.id() == b.id()) return true;
  if (!a || !b || a->type != b->type || a->op.index() != b->op.index()) return false;
  if (own_number(a->op) != own_number(b->op) || !same_procedure(a->op, b->op)) return false;
  const Children left = children(*a);
  const Children right = children(*b);
  if (left.size() != right.size()) return false;
  for (std::size_t k = 0; k < left.size(); ++k) {
    if (!equal(left[k], right[k])) return false;
  }
  return true;
}

std::size_t hash(const Expr& e) {
  if (!e) return 0;
  const auto* apply = std::get_if<Apply>(&e->op);
  const std::size_t own =
      apply != nullptr ? std::hash<std::string>()(apply->procedure->text) : static_cast<std::size_t>(own_number(e->op));
  std::size_t result = combine(e->op.index() * 8 + static_cast<std::size_t>(e->type), own);
  for (const Expr& child : children(*e)) result = combine(result, hash(child));
  return result;
}

Children children(const ExprNode& node) {
  return match(
      node.op, [](const Constant&) { return Children(); }, [](const IndexRef&) { return Children(); },
      [](const Read& r) { return Children(r.subscripts); }, [](const Argument&) { return Children(); },
      [](const Unary& u) { return Children(u.operand); }, [](const Binary& b) { return Children(b.left, b.right); },
      [](const Select& s) { return Children(s.condition, s.when_true, s.when_false); },
      [](const Cast& c) { return Children(c.operand); }, [](const Apply& a) { return Children(a.arguments); });
}

Expr with_children(const Expr& e, const std::vector<Expr>& parts) {
  const Children old = children(*e);
  TDSL_CHECK(old.size() == parts.size(), "the number of children is fixed");
  bool changed = false;
  for (std::size_t k = 0; k < old.size(); ++k) changed = changed || old[k].id() != parts[k].id();
  if (!changed) return e;
  const ExprOp op = match(
      e->op, [](const Constant& c) -> ExprOp { return c; }, [](const IndexRef& i) -> ExprOp { return i; },
      [&](const Read& r) -> ExprOp {
        return Read{r.tensor, parts};
      },
      [](const Argument& a) -> ExprOp { return a; },
      [&](const Unary& u) -> ExprOp {
        return Unary{u.op, parts[0]};
      },
      [&](const Binary& b) -> ExprOp {
        return Binary{b.op, parts[0], parts[1]};
      },
      [&](const Select&) -> ExprOp {
        return Select{parts[0], parts[1], parts[2]};
      },
      [&](const Cast&) -> ExprOp { return Cast{parts[0]}; },
      [&](const Apply& a) -> ExprOp {
        return Apply{a.procedure, parts};
      });
  return make(e->range, e->type, op);
}

}  // namespace tdsl::ir
