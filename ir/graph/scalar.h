#pragma once

#include <cstdint>
#include <string_view>
#include <variant>

namespace tdsl::ir {

/// Element types of the language (section 3 of docs/language.md).
enum class Scalar : std::uint8_t { kBool, kI32, kI64, kF32, kF64 };

[[nodiscard]] constexpr bool is_float(Scalar s) { return s == Scalar::kF32 || s == Scalar::kF64; }
[[nodiscard]] constexpr bool is_integer(Scalar s) { return s == Scalar::kI32 || s == Scalar::kI64; }
/// Bytes of one stored element.
[[nodiscard]] std::int64_t size_of(Scalar s);
/// The name in the language: `f64`.
[[nodiscard]] std::string_view name_of(Scalar s);
/// The emitted C++ type: `double`, `std::int64_t`, `bool`.
[[nodiscard]] std::string_view cpp_type_of(Scalar s);
/// NumPy's promotion for mixed arithmetic; two bools give bool (arithmetic on them widens to i64 first).
[[nodiscard]] Scalar promote(Scalar a, Scalar b);

/// A scalar constant; the alternative follows the type: bool | integer (both widths) | float (both widths).
using Literal = std::variant<bool, std::int64_t, double>;

/// kSparse and kDense do not change values, only whether their result carries absence (support.h). Created only by the
/// frontend, replaced by the pass `absence`.
enum class UnaryOp : std::uint8_t {
  kNeg,
  kNot,
  kAbs,
  kSqrt,
  kExp,
  kLog,
  kLog1p,
  kExpm1,
  kSin,
  kCos,
  kTan,
  kTanh,
  kErf,
  kFloor,
  kCeil,
  kRound,
  kSign,
  kIsNan,
  kIsInf,
  kSigmoid,
  kRelu,
  kSparse,
  kDense,
};

/// kDiv truncates on integers; kRem is C's % and fmod; kMod has the sign of the divisor; kMin and kMax propagate NaN;
/// kAnd and kOr short-circuit. In a product an absent factor wins against inf and nan: kAbsentMul is 0 where its left
/// operand is 0, kMutualMul where either is, kAbsentDiv where the numerator is; elsewhere they equal kMul and kDiv.
enum class BinaryOp : std::uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kRem,
  kPow,
  kMod,
  kMin,
  kMax,
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kAnd,
  kOr,
  kAbsentMul,
  kMutualMul,
  kAbsentDiv,
};
constexpr UnaryOp kLastUnaryOp = UnaryOp::kDense;
constexpr BinaryOp kLastBinaryOp = BinaryOp::kAbsentDiv;

/// The text form's name: "neg", "add", "lt".
[[nodiscard]] std::string_view name_of(UnaryOp op);
[[nodiscard]] std::string_view name_of(BinaryOp op);
[[nodiscard]] constexpr bool is_comparison(BinaryOp op) { return op >= BinaryOp::kEq && op <= BinaryOp::kGe; }
[[nodiscard]] constexpr bool is_logical(BinaryOp op) { return op == BinaryOp::kAnd || op == BinaryOp::kOr; }
/// True if operands of the result's type may be swapped: for equal floats, -0.0 and 0.0, `min` and `max` return the
/// first.
[[nodiscard]] constexpr bool is_commutative(BinaryOp op, Scalar result) {
  if (op == BinaryOp::kMin || op == BinaryOp::kMax) return !is_float(result);
  return op == BinaryOp::kAdd || op == BinaryOp::kMul || op == BinaryOp::kEq || op == BinaryOp::kNe ||
         op == BinaryOp::kMutualMul;
}

}  // namespace tdsl::ir
