#include "ir/eval/complex_bounds.h"
#include "ir/eval/expr.h"
#include "ir/graph/check.h"

// The operators of expressions: runtime/kernels/scalar_math.h supplies the values, bounds.h the bounds.

namespace tdsl::ir::eval {

namespace {

namespace scalar = rt::scalar;

template <class T>
Real apply(UnaryOp op, Real a, bool operand_nonnegative) {
  switch (op) {
    case UnaryOp::kNeg: return negate(a);
    case UnaryOp::kAbs: return {std::fabs(a.value), a.bound};
    case UnaryOp::kSqrt: return sqrt<T>(a, operand_nonnegative);
    case UnaryOp::kExp: return exp<T>(a);
    case UnaryOp::kLog: return monotone<T>(a, [](T x) { return scalar::log(x); });
    case UnaryOp::kLog1p: return monotone<T>(a, [](T x) { return scalar::log1p(x); });
    case UnaryOp::kExpm1: return monotone<T>(a, [](T x) { return scalar::expm1(x); });
    case UnaryOp::kSin: return wave<T>(a, [](T x) { return scalar::sin(x); });
    case UnaryOp::kCos: return wave<T>(a, [](T x) { return scalar::cos(x); });
    case UnaryOp::kTan: return tan<T>(a);
    case UnaryOp::kTanh: return monotone<T>(a, [](T x) { return scalar::tanh(x); });
    case UnaryOp::kErf: return monotone<T>(a, [](T x) { return scalar::erf(x); });
    case UnaryOp::kAsin: return monotone<T>(a, [](T x) { return scalar::asin(x); });
    case UnaryOp::kAcos: return monotone<T>(a, [](T x) { return scalar::acos(x); });
    case UnaryOp::kAtan: return monotone<T>(a, [](T x) { return scalar::atan(x); });
    case UnaryOp::kSinh: return monotone<T>(a, [](T x) { return scalar::sinh(x); });
    case UnaryOp::kCosh: return monotone<T>(a, [](T x) { return scalar::cosh(x); });
    case UnaryOp::kAsinh: return monotone<T>(a, [](T x) { return scalar::asinh(x); });
    case UnaryOp::kAcosh: return monotone<T>(a, [](T x) { return scalar::acosh(x); });
    case UnaryOp::kAtanh: return monotone<T>(a, [](T x) { return scalar::atanh(x); });
    case UnaryOp::kCbrt: return monotone<T>(a, [](T x) { return scalar::cbrt(x); });
    case UnaryOp::kLog2: return monotone<T>(a, [](T x) { return scalar::log2(x); });
    case UnaryOp::kLog10: return monotone<T>(a, [](T x) { return scalar::log10(x); });
    case UnaryOp::kExp2: return monotone<T>(a, [](T x) { return scalar::exp2(x); });
    case UnaryOp::kErfc: return monotone<T>(a, [](T x) { return scalar::erfc(x); });
    case UnaryOp::kGamma: return between_poles<T>(a, [](T x) { return scalar::gamma(x); });
    case UnaryOp::kLgamma: return between_poles<T>(a, [](T x) { return scalar::lgamma(x); });
    case UnaryOp::kDigamma: return between_poles<T>(a, [](T x) { return scalar::digamma(x); });
    case UnaryOp::kSigmoid: return sigmoid<T>(a);
    case UnaryOp::kFloor: return exact_monotone(a, [](double x) { return scalar::floor(x); });
    case UnaryOp::kCeil: return exact_monotone(a, [](double x) { return scalar::ceil(x); });
    case UnaryOp::kTrunc: return exact_monotone(a, [](double x) { return scalar::trunc(x); });
    case UnaryOp::kRound: return exact_monotone(a, [](double x) { return scalar::round(x); });
    case UnaryOp::kSign: return exact_monotone(a, [](double x) { return scalar::sign(x); });
    case UnaryOp::kRelu: return exact_monotone(a, [](double x) { return scalar::relu(x); });
    case UnaryOp::kSparse:
    case UnaryOp::kDense: return a;
    case UnaryOp::kReal:
    case UnaryOp::kImag:
    case UnaryOp::kConj:
    case UnaryOp::kArg:
    case UnaryOp::kBitNot:
    case UnaryOp::kPopcount:
    case UnaryOp::kNot:
    case UnaryOp::kIsNan:
    case UnaryOp::kIsInf: break;
  }
  TDSL_CHECK(false, "this operator gives no float");
  return {};
}

/// Operators on complex numbers with parts of type T.
template <class T>
Real apply_complex(UnaryOp op, Real a) {
  using Number = rt::Complex<T>;
  const auto function = [&](auto f) { return complex_function<T>(op, a, f); };
  // Which part of a number that is not finite is inf and which nan is open.
  const auto of_parts = [&](Real x) { return Real{x.value, is_finite(a) ? x.bound : kOpen, x.imag}; };
  switch (op) {
    case UnaryOp::kNeg: return complex_negate(a);
    case UnaryOp::kReal: return of_parts({a.value, a.bound});
    case UnaryOp::kImag: return of_parts({a.imag, a.bound});
    case UnaryOp::kConj: return {a.value, a.bound, -a.imag};
    case UnaryOp::kAbs: return of_parts(complex_abs<T>(a));
    case UnaryOp::kArg: return of_parts(complex_arg<T>(a));
    case UnaryOp::kSign: return of_parts(complex_sign<T>(a));
    case UnaryOp::kSqrt: return function([](Number z) { return scalar::sqrt(z); });
    case UnaryOp::kExp: return function([](Number z) { return scalar::exp(z); });
    case UnaryOp::kLog: return function([](Number z) { return scalar::log(z); });
    case UnaryOp::kLog1p: return function([](Number z) { return scalar::log1p(z); });
    case UnaryOp::kExpm1: return function([](Number z) { return scalar::expm1(z); });
    case UnaryOp::kSin: return function([](Number z) { return scalar::sin(z); });
    case UnaryOp::kCos: return function([](Number z) { return scalar::cos(z); });
    case UnaryOp::kTan: return function([](Number z) { return scalar::tan(z); });
    case UnaryOp::kTanh: return function([](Number z) { return scalar::tanh(z); });
    case UnaryOp::kAsin: return function([](Number z) { return scalar::asin(z); });
    case UnaryOp::kAcos: return function([](Number z) { return scalar::acos(z); });
    case UnaryOp::kAtan: return function([](Number z) { return scalar::atan(z); });
    case UnaryOp::kSinh: return function([](Number z) { return scalar::sinh(z); });
    case UnaryOp::kCosh: return function([](Number z) { return scalar::cosh(z); });
    case UnaryOp::kAsinh: return function([](Number z) { return scalar::asinh(z); });
    case UnaryOp::kAcosh: return function([](Number z) { return scalar::acosh(z); });
    case UnaryOp::kAtanh: return function([](Number z) { return scalar::atanh(z); });
    case UnaryOp::kLog2: return function([](Number z) { return scalar::log2(z); });
    case UnaryOp::kLog10: return function([](Number z) { return scalar::log10(z); });
    case UnaryOp::kSparse:
    case UnaryOp::kDense: return a;
    default: break;
  }
  TDSL_CHECK(false, "this operator is not defined on complex numbers");
  return {};
}

template <class T>
Real apply(BinaryOp op, Real a, Real b) {
  switch (op) {
    case BinaryOp::kAdd: return add<T>(a, b);
    case BinaryOp::kSub: return subtract<T>(a, b);
    case BinaryOp::kRem: return remainder<T>(a, b);
    case BinaryOp::kMod: return mod<T>(a, b);
    case BinaryOp::kPow: return power<T>(a, b);
    case BinaryOp::kMin: return min(a, b);
    case BinaryOp::kMax: return max(a, b);
    case BinaryOp::kAtan2: return atan2<T>(a, b);
    case BinaryOp::kHypot: return hypot<T>(a, b);
    case BinaryOp::kCopysign: return copysign(a, b);
    default: break;
  }
  TDSL_CHECK(false, "this operator gives no float");
  return {};
}

/// Calls `f` with the C++ type of an integer type and returns its value as elements are stored: of u64 the bits.
template <class F>
std::int64_t of_integer(Scalar type, const F& f) {
  return rt::visit_element_type(type, [&](auto tag) -> std::int64_t {
    if constexpr (scalar::Integer<typename decltype(tag)::type>) {
      return static_cast<std::int64_t>(f(tag));
    } else {
      TDSL_CHECK(false, "this operator gives no integer");
      return 0;
    }
  });
}

template <class T>
T apply(UnaryOp op, T a) {
  switch (op) {
    case UnaryOp::kNeg: return scalar::negate(a);
    case UnaryOp::kAbs: return scalar::abs(a);
    case UnaryOp::kSign: return scalar::sign(a);
    case UnaryOp::kRelu: return scalar::relu(a);
    case UnaryOp::kBitNot: return scalar::bit_not(a);
    case UnaryOp::kFloor:
    case UnaryOp::kCeil:
    case UnaryOp::kRound:
    case UnaryOp::kSparse:
    case UnaryOp::kDense: return a;
    default: break;
  }
  TDSL_CHECK(false, "this operator gives no integer");
  return 0;
}

/// Operators of positions and keys, which are i64.
std::int64_t apply_positions(BinaryOp op, std::int64_t a, std::int64_t b) {
  switch (op) {
    case BinaryOp::kKeyedBits: return scalar::keyed_bits(a, b);
    case BinaryOp::kKeyedBelow: return scalar::keyed_below(a, b);
    case BinaryOp::kEdge: return scalar::edge(a, b);
    case BinaryOp::kReflect: return scalar::reflect(a, b);
    case BinaryOp::kSymmetric: return scalar::symmetric(a, b);
    case BinaryOp::kAround: return scalar::around(a, b);
    default: break;
  }
  TDSL_CHECK(false, "this operator gives no integer");
  return 0;
}

template <class T>
T apply(BinaryOp op, T a, T b, scalar::Faults& faults) {
  switch (op) {
    case BinaryOp::kAdd: return scalar::add(a, b);
    case BinaryOp::kSub: return scalar::subtract(a, b);
    case BinaryOp::kMul: return scalar::multiply(a, b);
    case BinaryOp::kDiv: return scalar::divide(a, b, faults);
    case BinaryOp::kAbsentDiv: return scalar::absent_divide(a, b, faults);
    case BinaryOp::kRem: return scalar::remainder(a, b, faults);
    case BinaryOp::kPow: return scalar::power(a, b, faults);
    case BinaryOp::kMod: return scalar::mod(a, b, faults);
    case BinaryOp::kMin: return scalar::min(a, b);
    case BinaryOp::kMax: return scalar::max(a, b);
    case BinaryOp::kBitAnd: return scalar::bit_and(a, b);
    case BinaryOp::kBitOr: return scalar::bit_or(a, b);
    case BinaryOp::kBitXor: return scalar::bit_xor(a, b);
    case BinaryOp::kShiftLeft: return scalar::shift_left(a, b);
    case BinaryOp::kShiftRight: return scalar::shift_right(a, b);
    default: return static_cast<T>(apply_positions(op, static_cast<std::int64_t>(a), static_cast<std::int64_t>(b)));
  }
}

std::int64_t apply_bools(BinaryOp op, std::int64_t a, std::int64_t b) {
  switch (op) {
    case BinaryOp::kBitAnd: return a & b;
    case BinaryOp::kBitOr: return a | b;
    case BinaryOp::kBitXor: return a ^ b;
    default: break;
  }
  TDSL_CHECK(false, "this operator gives no bool");
  return 0;
}

template <class T>
bool compare(BinaryOp op, T a, T b) {
  switch (op) {
    case BinaryOp::kEq: return scalar::equal(a, b);
    case BinaryOp::kNe: return scalar::not_equal(a, b);
    case BinaryOp::kLt: return scalar::less(a, b);
    case BinaryOp::kLe: return scalar::less_equal(a, b);
    case BinaryOp::kGt: return scalar::greater(a, b);
    case BinaryOp::kGe: return scalar::greater_equal(a, b);
    default: break;
  }
  TDSL_CHECK(false, "not a comparison");
  return false;
}

}  // namespace

Real CompiledExpr::real_unary(const Step& s) {
  const auto op = static_cast<UnaryOp>(s.op);
  const bool nonnegative = nodes_[s.operands[0]].nonnegative;
  const Real a = real_at(s.operands[0]);
  if (is_complex(nodes_[s.operands[0]].type))
    return is_narrow(s.type) ? apply_complex<float>(op, a) : apply_complex<double>(op, a);
  return s.type == Scalar::kF32 ? apply<float>(op, a, nonnegative) : apply<double>(op, a, nonnegative);
}

namespace {

/// True if another legal evaluation may give 0 here.
bool may_be_zero(Real a) { return std::isnan(a.bound) || magnitude(a) <= a.bound; }

/// The result of a product or quotient if the factor or numerator `a` may be absent, which differs from `whole`.
Real unless_absent(Real whole, Real a) {
  if (magnitude(a) == 0 && a.bound == 0) return {0, 0};
  const bool open = may_be_zero(a) && !is_finite(whole);
  if (magnitude(a) == 0) return {0, open ? kOpen : std::max(whole.bound, magnitude(whole))};
  return {whole.value, open ? kOpen : whole.bound, whole.imag};
}

template <class T>
Real float_product(BinaryOp op, Real a, Real b) {
  Real whole;
  if constexpr (rt::kIsComplex<T>) {
    whole = complex_multiply<rt::PartOf<T>>(a, b);
  } else {
    whole = multiply<T>(a, b);
  }
  if (op == BinaryOp::kMul) return whole;
  const Real left = unless_absent(whole, a);
  return op == BinaryOp::kAbsentMul || (magnitude(a) == 0 && a.bound == 0) ? left : unless_absent(left, b);
}

template <class T>
Real float_quotient(BinaryOp op, Real a, Real b) {
  Real whole;
  if constexpr (rt::kIsComplex<T>) {
    whole = complex_divide<rt::PartOf<T>>(a, b);
  } else {
    whole = divide<T>(a, b);
  }
  return op == BinaryOp::kDiv ? whole : unless_absent(whole, a);
}

template <class T>
Real complex_binary(BinaryOp op, Real a, Real b) {
  switch (op) {
    case BinaryOp::kAdd: return complex_add<T>(a, b);
    case BinaryOp::kSub: return complex_add<T>(a, complex_negate(b));
    case BinaryOp::kMul:
    case BinaryOp::kAbsentMul:
    case BinaryOp::kMutualMul: return float_product<rt::Complex<T>>(op, a, b);
    case BinaryOp::kDiv:
    case BinaryOp::kAbsentDiv: return float_quotient<rt::Complex<T>>(op, a, b);
    case BinaryOp::kPow: return complex_power<T>(a, b);
    default: break;
  }
  TDSL_CHECK(false, "this operator gives no complex number");
  return {};
}

}  // namespace

Real CompiledExpr::keyed(const Step& s) {
  const Whole key = whole_at(s.operands[0]);
  const Whole index = whole_at(s.operands[1]);
  const bool normal = static_cast<BinaryOp>(s.op) == BinaryOp::kKeyedNormal;
  const double value =
      normal ? scalar::keyed_normal(key.value, index.value) : scalar::keyed_uniform(key.value, index.value);
  if (std::max(key.bound, index.bound) > 0) return {value, kOpen};
  return {value, normal ? std::fabs(value) * kLibraryUlps * kEpsilon<double> : 0};
}

Real CompiledExpr::real_binary(const Step& s) {
  const auto op = static_cast<BinaryOp>(s.op);
  if (is_keyed(op)) return keyed(s);
  const Real a = real_at(s.operands[0]);
  Real b;
  if (is_float(nodes_[s.operands[1]].type)) {
    b = real_at(s.operands[1]);
  } else if (is_complex(s.type)) {
    const Whole exponent = whole_at(s.operands[1]);
    return is_narrow(s.type) ? complex_power<float>(a, exponent) : complex_power<double>(a, exponent);
  } else {
    const Whole exponent = whole_at(s.operands[1]);
    b = {static_cast<double>(exponent.value), exponent.bound};
  }
  if (op == BinaryOp::kComplex) return {a.value, std::hypot(a.bound, b.bound), b.value};
  if (is_complex(s.type)) return is_narrow(s.type) ? complex_binary<float>(op, a, b) : complex_binary<double>(op, a, b);
  if (op == BinaryOp::kMul || op == BinaryOp::kAbsentMul || op == BinaryOp::kMutualMul)
    return s.type == Scalar::kF32 ? float_product<float>(op, a, b) : float_product<double>(op, a, b);
  if (op == BinaryOp::kDiv || op == BinaryOp::kAbsentDiv)
    return s.type == Scalar::kF32 ? float_quotient<float>(op, a, b) : float_quotient<double>(op, a, b);
  return s.type == Scalar::kF32 ? apply<float>(op, a, b) : apply<double>(op, a, b);
}

namespace {

/// Rounding to a float of two bytes, from the ends of the operand's interval: it is monotone.
Real to_half(Scalar type, Real a) {
  const double result = rounded(type, a.value);
  if (a.bound == 0) return {result, 0};
  if (std::isinf(a.bound)) return {result, kOpen};
  const double low = rounded(type, a.value - a.bound);
  const double high = rounded(type, a.value + a.bound);
  if (low == result && high == result) return {result, 0};
  return {result, std::max(detail::known(std::fabs(low - result)), detail::known(std::fabs(high - result)))};
}

}  // namespace

Real CompiledExpr::real_cast(const Step& s) {
  const Step& operand = nodes_[s.operands[0]];
  if (is_float(operand.type)) {
    const Real a = real_at(s.operands[0]);
    if (is_complex(s.type)) return is_narrow(s.type) ? to_c64(a) : a;
    if (is_half(s.type)) return to_half(s.type, a);
    return s.type == Scalar::kF32 && !is_half(operand.type) ? to_f32(a) : a;
  }
  const Whole a = whole_at(s.operands[0]);
  const auto as_float = [&](auto number) {
    return is_narrow(s.type) ? static_cast<double>(static_cast<float>(number))
                             : rounded(s.type, static_cast<double>(number));
  };
  const bool bits = operand.type == Scalar::kU64;
  return {bits ? as_float(static_cast<std::uint64_t>(a.value)) : as_float(a.value), a.bound};
}

Whole CompiledExpr::whole_unary(const Step& s) {
  const auto op = static_cast<UnaryOp>(s.op);
  const Step& operand = nodes_[s.operands[0]];
  if (op == UnaryOp::kIsNan || op == UnaryOp::kIsInf) {
    if (!is_float(operand.type)) return {0, whole_at(s.operands[0]).bound};
    const Real a = real_at(s.operands[0]);
    const bool result = op == UnaryOp::kIsNan ? scalar::isnan(a.value) || scalar::isnan(a.imag)
                                              : scalar::isinf(a.value) || scalar::isinf(a.imag);
    const bool parts_open = is_complex(operand.type) && !is_finite(a);
    return {result ? 1 : 0, std::isinf(a.bound) || parts_open ? kOpen : 0};
  }
  const Whole a = whole_at(s.operands[0]);
  if (op == UnaryOp::kSparse || op == UnaryOp::kDense) return a;
  if (op == UnaryOp::kNot) return {a.value == 0 ? 1 : 0, a.bound};
  const std::int64_t value = of_integer(operand.type, [&](auto tag) {
    const auto number = static_cast<typename decltype(tag)::type>(a.value);
    if (op == UnaryOp::kPopcount) return scalar::popcount(number);
    return static_cast<std::int64_t>(apply(op, number));
  });
  return {value, a.bound};
}

Whole CompiledExpr::comparison(const Step& s) {
  const auto op = static_cast<BinaryOp>(s.op);
  if (!is_float(nodes_[s.operands[0]].type)) {
    const Whole a = whole_at(s.operands[0]);
    const Whole b = whole_at(s.operands[1]);
    const bool result = nodes_[s.operands[0]].type == Scalar::kU64
                            ? compare(op, static_cast<std::uint64_t>(a.value), static_cast<std::uint64_t>(b.value))
                            : compare(op, a.value, b.value);
    return {result ? 1 : 0, std::max(a.bound, b.bound)};
  }
  const Real a = real_at(s.operands[0]);
  const Real b = real_at(s.operands[1]);
  const double open = order_open(a, b) ? kOpen : 0;
  if (a.imag != b.imag && op == BinaryOp::kEq) return {0, open};
  if (a.imag != b.imag && op == BinaryOp::kNe) return {1, open};
  return {compare(op, a.value, b.value) ? 1 : 0, open};
}

Whole CompiledExpr::logical(const Step& s) {
  const bool deciding = static_cast<BinaryOp>(s.op) == BinaryOp::kOr;
  const Whole a = whole_at(s.operands[0]);
  if ((a.value != 0) == deciding) return a;
  const Whole b = whole_at(s.operands[1]);
  const bool decided = (b.value != 0) == deciding && b.bound == 0;
  return {b.value, decided ? 0 : std::max(a.bound, b.bound)};
}

Whole CompiledExpr::whole_binary(const Step& s) {
  const auto op = static_cast<BinaryOp>(s.op);
  if (is_comparison(op)) return comparison(s);
  if (is_logical(op)) return logical(s);
  const Whole a = whole_at(s.operands[0]);
  const Whole b = whole_at(s.operands[1]);
  if (s.type == Scalar::kBool) return {apply_bools(op, a.value, b.value), std::max(a.bound, b.bound)};
  scalar::Faults faults;
  const std::int64_t value = of_integer(s.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return apply(op, static_cast<T>(a.value), static_cast<T>(b.value), faults);
  });
  if (faults.any()) stop(s.range, faults.message());
  return {value, std::max(a.bound, b.bound)};
}

Whole CompiledExpr::whole_cast(const Step& s) {
  const Step& operand = nodes_[s.operands[0]];
  if (!is_float(operand.type)) {
    const Whole a = whole_at(s.operands[0]);
    if (s.type == Scalar::kBool) return {a.value != 0 ? 1 : 0, a.bound};
    return {of_integer(s.type, [&](auto tag) { return static_cast<typename decltype(tag)::type>(a.value); }), a.bound};
  }
  const Real a = real_at(s.operands[0]);
  if (s.type == Scalar::kBool) return {a.value != 0 || a.imag != 0 ? 1 : 0, order_open(a, {0, 0}) ? kOpen : 0};
  scalar::Faults faults;
  const std::int64_t value =
      of_integer(s.type, [&](auto tag) { return scalar::cast<typename decltype(tag)::type>(a.value, faults); });
  if (faults.any()) stop(s.range, faults.message());
  const bool certain = a.bound == 0 || std::trunc(a.value - a.bound) == std::trunc(a.value + a.bound);
  return {value, certain ? 0 : kOpen};
}

}  // namespace tdsl::ir::eval
