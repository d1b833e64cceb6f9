#include "ir/graph/scalar.h"

#include <algorithm>
#include <array>

#include "ir/graph/check.h"

namespace tdsl::ir {

namespace {

constexpr std::array<std::string_view, 46> kUnaryNames = {
    "neg",     "not",  "abs",   "sqrt",   "exp",     "log",   "log1p",   "expm1",    "sin",    "cos",  "tan",   "tanh",
    "erf",     "asin", "acos",  "atan",   "sinh",    "cosh",  "asinh",   "acosh",    "atanh",  "cbrt", "log2",  "log10",
    "exp2",    "erfc", "gamma", "lgamma", "digamma", "floor", "ceil",    "trunc",    "round",  "sign", "isnan", "isinf",
    "sigmoid", "relu", "real",  "imag",   "conj",    "arg",   "bit_not", "popcount", "sparse", "dense"};
constexpr std::array<std::string_view, 37> kBinaryNames = {
    "add",          "sub",         "mul",        "div",        "rem",
    "pow",          "mod",         "min",        "max",        "atan2",
    "hypot",        "copysign",    "complex",    "keyed_bits", "keyed_uniform",
    "keyed_normal", "keyed_below", "eq",         "ne",         "lt",
    "le",           "gt",          "ge",         "and",        "or",
    "bit_and",      "bit_or",      "bit_xor",    "shift_left", "shift_right",
    "absent_mul",   "mutual_mul",  "absent_div", "edge",       "reflect",
    "symmetric",    "around"};
static_assert(kUnaryNames.size() == static_cast<std::size_t>(kLastUnaryOp) + 1);
static_assert(kBinaryNames.size() == static_cast<std::size_t>(kLastBinaryOp) + 1);

}  // namespace

namespace {

/// The wider of two integer types, or the next signed type that holds both; f64 if there is none.
Scalar promote_integers(Scalar a, Scalar b) {
  if (is_unsigned(a) == is_unsigned(b)) return size_of(a) >= size_of(b) ? a : b;
  const Scalar plain = is_unsigned(a) ? a : b;
  const Scalar with_sign = is_unsigned(a) ? b : a;
  if (size_of(with_sign) > size_of(plain)) return with_sign;
  switch (plain) {
    case Scalar::kU8: return Scalar::kI16;
    case Scalar::kU16: return Scalar::kI32;
    case Scalar::kU32: return Scalar::kI64;
    default: return Scalar::kF64;
  }
}

}  // namespace

Scalar promote(Scalar a, Scalar b) {
  if (a == b || a == Scalar::kBool) return b;
  if (b == Scalar::kBool) return a;
  if (is_half(a) || is_half(b)) return promote(operand_type(a), operand_type(b));
  if (is_complex(a) || is_complex(b)) {
    const Scalar parts = promote(part_type(a), part_type(b));
    return complex_type(is_narrow(parts) ? parts : Scalar::kF64);
  }
  if (!is_float(a) && !is_float(b)) return promote_integers(a, b);
  if (is_float(a) && is_float(b)) return std::max(a, b);
  const Scalar real = is_float(a) ? a : b;
  const Scalar whole = is_float(a) ? b : a;
  // An f32 cannot represent all 32-bit integers, so NumPy promotes to f64.
  return size_of(whole) <= 2 ? real : Scalar::kF64;
}

double rounded(Scalar type, double value) {
  if (is_narrow(type)) return static_cast<double>(static_cast<float>(value));
  if (type == Scalar::kF16) return static_cast<double>(rt::F16(value));
  return type == Scalar::kBf16 ? static_cast<double>(rt::Bf16(value)) : value;
}

std::string_view name_of(UnaryOp op) { return kUnaryNames.at(static_cast<std::size_t>(op)); }
std::string_view name_of(BinaryOp op) { return kBinaryNames.at(static_cast<std::size_t>(op)); }

namespace {

/// Functions that complex numbers do not have.
bool needs_order(UnaryOp op) {
  return op == UnaryOp::kErf || op == UnaryOp::kErfc || op == UnaryOp::kCbrt || op == UnaryOp::kExp2 ||
         op == UnaryOp::kGamma || op == UnaryOp::kLgamma || op == UnaryOp::kDigamma || op == UnaryOp::kSigmoid ||
         op == UnaryOp::kRelu || op == UnaryOp::kBitNot || op == UnaryOp::kPopcount || is_rounding(op);
}

}  // namespace

std::optional<Scalar> result_type(UnaryOp op, Scalar a) {
  if (is_half(a) && op != UnaryOp::kSparse && op != UnaryOp::kDense) return std::nullopt;
  if (is_part(op) && !is_complex(a)) return std::nullopt;
  if (is_complex(a) && needs_order(op)) return std::nullopt;
  switch (op) {
    case UnaryOp::kSparse:
    case UnaryOp::kDense: return a;
    case UnaryOp::kNot: return a == Scalar::kBool ? std::optional(a) : std::nullopt;
    case UnaryOp::kIsNan:
    case UnaryOp::kIsInf: return a != Scalar::kBool ? std::optional(Scalar::kBool) : std::nullopt;
    case UnaryOp::kBitNot: return is_integer(a) ? std::optional(a) : std::nullopt;
    case UnaryOp::kPopcount: return is_integer(a) ? std::optional(Scalar::kI64) : std::nullopt;
    case UnaryOp::kConj: return a;
    case UnaryOp::kReal:
    case UnaryOp::kImag:
    case UnaryOp::kArg: return part_type(a);
    case UnaryOp::kAbs: return a != Scalar::kBool ? std::optional(part_type(a)) : std::nullopt;
    case UnaryOp::kNeg:
    case UnaryOp::kSign:
    case UnaryOp::kRelu:
    case UnaryOp::kFloor:
    case UnaryOp::kCeil:
    case UnaryOp::kTrunc:
    case UnaryOp::kRound: return a != Scalar::kBool ? std::optional(a) : std::nullopt;
    case UnaryOp::kSqrt:
    case UnaryOp::kExp:
    case UnaryOp::kLog:
    case UnaryOp::kLog1p:
    case UnaryOp::kExpm1:
    case UnaryOp::kSin:
    case UnaryOp::kCos:
    case UnaryOp::kTan:
    case UnaryOp::kTanh:
    case UnaryOp::kErf:
    case UnaryOp::kAsin:
    case UnaryOp::kAcos:
    case UnaryOp::kAtan:
    case UnaryOp::kSinh:
    case UnaryOp::kCosh:
    case UnaryOp::kAsinh:
    case UnaryOp::kAcosh:
    case UnaryOp::kAtanh:
    case UnaryOp::kCbrt:
    case UnaryOp::kLog2:
    case UnaryOp::kLog10:
    case UnaryOp::kExp2:
    case UnaryOp::kErfc:
    case UnaryOp::kGamma:
    case UnaryOp::kLgamma:
    case UnaryOp::kDigamma:
    case UnaryOp::kSigmoid: return is_float(a) ? std::optional(a) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<Scalar> result_type(BinaryOp op, Scalar a, Scalar b) {
  if (op == BinaryOp::kPow && is_float(a) && !is_half(a) && b == Scalar::kI64) return a;
  if (a != b || is_half(a)) return std::nullopt;
  if (is_logical(op)) return a == Scalar::kBool ? std::optional(a) : std::nullopt;
  if (is_comparison(op)) return is_complex(a) && is_order(op) ? std::nullopt : std::optional(Scalar::kBool);
  if (op == BinaryOp::kComplex) return is_real(a) ? std::optional(complex_type(a)) : std::nullopt;
  if (is_bitwise(op)) {
    const bool logical = a == Scalar::kBool && op <= BinaryOp::kBitXor;
    return is_integer(a) || logical ? std::optional(a) : std::nullopt;
  }
  if (is_complex(a)) {
    const bool known = op <= BinaryOp::kDiv || op == BinaryOp::kPow || op >= BinaryOp::kAbsentMul;
    return known && !is_boundary(op) ? std::optional(a) : std::nullopt;
  }
  if (is_keyed(op)) {
    if (a != Scalar::kI64) return std::nullopt;
    return op == BinaryOp::kKeyedUniform || op == BinaryOp::kKeyedNormal ? Scalar::kF64 : Scalar::kI64;
  }
  if (is_library_function(op) || op == BinaryOp::kCopysign) return is_float(a) ? std::optional(a) : std::nullopt;
  if (is_boundary(op)) return a == Scalar::kI64 ? std::optional(a) : std::nullopt;
  // Integers have no inf or nan that could win against 0.
  if (op == BinaryOp::kAbsentMul || op == BinaryOp::kMutualMul) return is_float(a) ? std::optional(a) : std::nullopt;
  return a != Scalar::kBool ? std::optional(a) : std::nullopt;
}

bool holds(Scalar s, const Literal& literal) {
  if (s == Scalar::kBool) return std::holds_alternative<bool>(literal);
  return is_float(s) ? std::holds_alternative<double>(literal) : std::holds_alternative<std::int64_t>(literal);
}

}  // namespace tdsl::ir
