#include "ir/graph/scalar.h"

#include <algorithm>
#include <array>

#include "ir/graph/check.h"

namespace tdsl::ir {

namespace {

constexpr std::array<std::string_view, 23> kUnaryNames = {
    "neg", "not",   "abs",  "sqrt",  "exp",  "log",   "log1p", "expm1",   "sin",  "cos",    "tan",  "tanh",
    "erf", "floor", "ceil", "round", "sign", "isnan", "isinf", "sigmoid", "relu", "sparse", "dense"};
constexpr std::array<std::string_view, 20> kBinaryNames = {
    "add", "sub", "mul", "div", "rem", "pow", "mod", "min",        "max",        "eq",
    "ne",  "lt",  "le",  "gt",  "ge",  "and", "or",  "absent_mul", "mutual_mul", "absent_div"};
static_assert(kUnaryNames.size() == static_cast<std::size_t>(kLastUnaryOp) + 1);
static_assert(kBinaryNames.size() == static_cast<std::size_t>(kLastBinaryOp) + 1);

}  // namespace

Scalar promote(Scalar a, Scalar b) {
  if (is_float(a) == is_float(b)) return std::max(a, b);
  const Scalar real = is_float(a) ? a : b;
  const Scalar whole = is_float(a) ? b : a;
  // An f32 cannot represent all 32-bit integers, so NumPy promotes to f64.
  return whole == Scalar::kBool ? real : std::max(real, Scalar::kF64);
}

std::string_view name_of(UnaryOp op) { return kUnaryNames.at(static_cast<std::size_t>(op)); }
std::string_view name_of(BinaryOp op) { return kBinaryNames.at(static_cast<std::size_t>(op)); }

std::optional<Scalar> result_type(UnaryOp op, Scalar a) {
  switch (op) {
    case UnaryOp::kSparse:
    case UnaryOp::kDense: return a;
    case UnaryOp::kNot: return a == Scalar::kBool ? std::optional(a) : std::nullopt;
    case UnaryOp::kIsNan:
    case UnaryOp::kIsInf: return a != Scalar::kBool ? std::optional(Scalar::kBool) : std::nullopt;
    case UnaryOp::kNeg:
    case UnaryOp::kAbs:
    case UnaryOp::kSign:
    case UnaryOp::kRelu:
    case UnaryOp::kFloor:
    case UnaryOp::kCeil:
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
    case UnaryOp::kSigmoid: return is_float(a) ? std::optional(a) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<Scalar> result_type(BinaryOp op, Scalar a, Scalar b) {
  if (op == BinaryOp::kPow && is_float(a) && b == Scalar::kI64) return a;
  if (a != b) return std::nullopt;
  if (is_logical(op)) return a == Scalar::kBool ? std::optional(a) : std::nullopt;
  if (is_comparison(op)) return Scalar::kBool;
  // Integers have no inf or nan that could win against 0.
  if (op == BinaryOp::kAbsentMul || op == BinaryOp::kMutualMul) return is_float(a) ? std::optional(a) : std::nullopt;
  return a != Scalar::kBool ? std::optional(a) : std::nullopt;
}

bool holds(Scalar s, const Literal& literal) {
  if (s == Scalar::kBool) return std::holds_alternative<bool>(literal);
  return is_float(s) ? std::holds_alternative<double>(literal) : std::holds_alternative<std::int64_t>(literal);
}

}  // namespace tdsl::ir
