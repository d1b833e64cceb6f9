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
    case UnaryOp::kNot:
    case UnaryOp::kIsNan:
    case UnaryOp::kIsInf: break;
  }
  TDSL_CHECK(false, "this operator gives no float");
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

template <class T>
std::int64_t apply(UnaryOp op, T a) {
  switch (op) {
    case UnaryOp::kNeg: return scalar::negate(a);
    case UnaryOp::kAbs: return scalar::abs(a);
    case UnaryOp::kSign: return scalar::sign(a);
    case UnaryOp::kRelu: return scalar::relu(a);
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

template <class T>
std::int64_t apply(BinaryOp op, T a, T b, scalar::Faults& faults) {
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
  return s.type == Scalar::kF32 ? apply<float>(op, a, nonnegative) : apply<double>(op, a, nonnegative);
}

namespace {

/// True if another legal evaluation may give 0 here.
bool may_be_zero(Real a) { return std::isnan(a.bound) || std::fabs(a.value) <= a.bound; }

/// The result of a product or quotient if the factor or numerator `a` may be absent, which differs from `whole`.
Real unless_absent(Real whole, Real a) {
  if (a.value == 0 && a.bound == 0) return {0, 0};
  const bool open = may_be_zero(a) && !std::isfinite(whole.value);
  if (a.value == 0) return {0, open ? kOpen : std::max(whole.bound, std::fabs(whole.value))};
  return {whole.value, open ? kOpen : whole.bound};
}

template <class T>
Real float_product(BinaryOp op, Real a, Real b) {
  const Real whole = multiply<T>(a, b);
  if (op == BinaryOp::kMul) return whole;
  const Real left = unless_absent(whole, a);
  return op == BinaryOp::kAbsentMul || (a.value == 0 && a.bound == 0) ? left : unless_absent(left, b);
}

template <class T>
Real float_quotient(BinaryOp op, Real a, Real b) {
  return op == BinaryOp::kDiv ? divide<T>(a, b) : unless_absent(divide<T>(a, b), a);
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
  } else {
    const Whole exponent = whole_at(s.operands[1]);
    b = {static_cast<double>(exponent.value), exponent.bound};
  }
  if (op == BinaryOp::kMul || op == BinaryOp::kAbsentMul || op == BinaryOp::kMutualMul)
    return s.type == Scalar::kF32 ? float_product<float>(op, a, b) : float_product<double>(op, a, b);
  if (op == BinaryOp::kDiv || op == BinaryOp::kAbsentDiv)
    return s.type == Scalar::kF32 ? float_quotient<float>(op, a, b) : float_quotient<double>(op, a, b);
  return s.type == Scalar::kF32 ? apply<float>(op, a, b) : apply<double>(op, a, b);
}

Real CompiledExpr::real_cast(const Step& s) {
  const Step& operand = nodes_[s.operands[0]];
  if (is_float(operand.type)) {
    const Real a = real_at(s.operands[0]);
    return s.type == Scalar::kF32 ? to_f32(a) : a;
  }
  const Whole a = whole_at(s.operands[0]);
  const double value =
      s.type == Scalar::kF32 ? static_cast<double>(static_cast<float>(a.value)) : static_cast<double>(a.value);
  return {value, a.bound};
}

Whole CompiledExpr::whole_unary(const Step& s) {
  const auto op = static_cast<UnaryOp>(s.op);
  const Step& operand = nodes_[s.operands[0]];
  if (op == UnaryOp::kIsNan || op == UnaryOp::kIsInf) {
    if (!is_float(operand.type)) return {0, whole_at(s.operands[0]).bound};
    const Real a = real_at(s.operands[0]);
    const bool result = op == UnaryOp::kIsNan ? scalar::isnan(a.value) : scalar::isinf(a.value);
    return {result ? 1 : 0, std::isinf(a.bound) ? kOpen : 0};
  }
  const Whole a = whole_at(s.operands[0]);
  if (op == UnaryOp::kSparse || op == UnaryOp::kDense) return a;
  if (op == UnaryOp::kNot) return {a.value == 0 ? 1 : 0, a.bound};
  const std::int64_t value =
      s.type == Scalar::kI32 ? apply(op, static_cast<std::int32_t>(a.value)) : apply(op, a.value);
  return {value, a.bound};
}

Whole CompiledExpr::comparison(const Step& s) {
  const auto op = static_cast<BinaryOp>(s.op);
  if (!is_float(nodes_[s.operands[0]].type)) {
    const Whole a = whole_at(s.operands[0]);
    const Whole b = whole_at(s.operands[1]);
    return {compare(op, a.value, b.value) ? 1 : 0, std::max(a.bound, b.bound)};
  }
  const Real a = real_at(s.operands[0]);
  const Real b = real_at(s.operands[1]);
  return {compare(op, a.value, b.value) ? 1 : 0, order_open(a, b) ? kOpen : 0};
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
  scalar::Faults faults;
  const std::int64_t value =
      s.type == Scalar::kI32 ? apply(op, static_cast<std::int32_t>(a.value), static_cast<std::int32_t>(b.value), faults)
                             : apply(op, a.value, b.value, faults);
  if (faults.any()) stop(s.range, faults.message());
  return {value, std::max(a.bound, b.bound)};
}

Whole CompiledExpr::whole_cast(const Step& s) {
  const Step& operand = nodes_[s.operands[0]];
  if (!is_float(operand.type)) {
    const Whole a = whole_at(s.operands[0]);
    if (s.type == Scalar::kBool) return {a.value != 0 ? 1 : 0, a.bound};
    return {s.type == Scalar::kI32 ? std::int64_t{static_cast<std::int32_t>(a.value)} : a.value, a.bound};
  }
  const Real a = real_at(s.operands[0]);
  if (s.type == Scalar::kBool) return {a.value != 0 ? 1 : 0, order_open(a, {0, 0}) ? kOpen : 0};
  scalar::Faults faults;
  const std::int64_t value = s.type == Scalar::kI32 ? std::int64_t{scalar::cast<std::int32_t>(a.value, faults)}
                                                    : scalar::cast<std::int64_t>(a.value, faults);
  if (faults.any()) stop(s.range, faults.message());
  const bool certain = a.bound == 0 || std::trunc(a.value - a.bound) == std::trunc(a.value + a.bound);
  return {value, certain ? 0 : kOpen};
}

}  // namespace tdsl::ir::eval
