#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "runtime/types.h"

namespace tdsl::ir {

/// Element types of the language (section 3 of docs/language.md).
using Scalar = rt::ElementType;
using rt::complex_type;
using rt::is_complex;
using rt::is_float;
using rt::is_half;
using rt::is_integer;
using rt::is_narrow;
using rt::is_real;
using rt::is_unsigned;
using rt::part_type;

/// False for types whose vectors the register-blocked loops and fused rows do not have: short and unsigned integers,
/// floats of two bytes.
[[nodiscard]] constexpr bool has_vectors(Scalar s) {
  return s == Scalar::kI32 || s == Scalar::kI64 || !(is_integer(s) || is_half(s));
}
/// The type in which operators, functions and reductions read elements: f32 for floats of two bytes.
[[nodiscard]] constexpr Scalar operand_type(Scalar s) { return is_half(s) ? Scalar::kF32 : s; }
/// A float rounded to the type's precision, as its elements are stored.
[[nodiscard]] double rounded(Scalar type, double value);

/// Bytes of one stored element.
[[nodiscard]] constexpr std::int64_t size_of(Scalar s) { return static_cast<std::int64_t>(rt::element_size(s)); }
/// The name in the language: `f64`.
[[nodiscard]] constexpr std::string_view name_of(Scalar s) { return rt::element_name(s); }
/// The emitted C++ type: `double`, `std::int64_t`, `bool`.
[[nodiscard]] constexpr std::string_view cpp_type_of(Scalar s) { return rt::element_info(s).cpp_type; }
/// NumPy's promotion for mixed arithmetic; two bools give bool (arithmetic on them widens to i64 first). u64 with a
/// signed integer gives f64, which programs cannot write.
[[nodiscard]] Scalar promote(Scalar a, Scalar b);

/// A scalar value; the alternative follows the type: bool | integer (all widths; of u64 the bits) | float | complex.
/// Constants in expressions have no complex alternative: a double stands for a complex number with imaginary part 0,
/// and other complex constants are kComplex of two floats.
using Literal = std::variant<bool, std::int64_t, double, rt::Complex<double>>;

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
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kAsinh,
  kAcosh,
  kAtanh,
  kCbrt,
  kLog2,
  kLog10,
  kExp2,
  kErfc,
  kGamma,
  kLgamma,
  kDigamma,
  kFloor,
  kCeil,
  kTrunc,
  kRound,
  kSign,
  kIsNan,
  kIsInf,
  kSigmoid,
  kRelu,
  kReal,
  kImag,
  kConj,
  kArg,
  kBitNot,
  kPopcount,
  kSparse,
  kDense,
};

/// kDiv truncates on integers; kRem is C's % and fmod; kMod has the sign of the divisor; kMin and kMax propagate NaN;
/// kAtan2 is the angle of the point (right, left); kComplex is the number with these parts; kAnd and kOr short-circuit.
/// kKeyedBits, kKeyedUniform and kKeyedNormal are random numbers of a key and an index, kKeyedBelow is a number in [0,
/// right) from random bits. In a product an absent factor wins against inf and nan: kAbsentMul is 0 where its left
/// operand is 0, kMutualMul where either is, kAbsentDiv where the numerator is; elsewhere they equal kMul and kDiv.
/// kEdge, kReflect, kSymmetric and kAround map an integer position `left` into 0 .. right - 1: the nearest, mirrored at
/// or beside the ends, or the remainder; with `right` = 0 the image lies outside. kAround stands where conditions
/// exclude one side of the dimension, and the image is `left` unless the dimension is shorter than the distance.
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
  kAtan2,
  kHypot,
  kCopysign,
  kComplex,
  kKeyedBits,
  kKeyedUniform,
  kKeyedNormal,
  kKeyedBelow,
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kAnd,
  kOr,
  kBitAnd,
  kBitOr,
  kBitXor,
  kShiftLeft,
  kShiftRight,
  kAbsentMul,
  kMutualMul,
  kAbsentDiv,
  kEdge,
  kReflect,
  kSymmetric,
  kAround,
};
constexpr UnaryOp kLastUnaryOp = UnaryOp::kDense;
constexpr BinaryOp kLastBinaryOp = BinaryOp::kAround;

/// The text form's name: "neg", "add", "lt".
[[nodiscard]] std::string_view name_of(UnaryOp op);
[[nodiscard]] std::string_view name_of(BinaryOp op);
/// Random numbers by key, functions of i64.
[[nodiscard]] constexpr bool is_keyed(BinaryOp op) { return op >= BinaryOp::kKeyedBits && op <= BinaryOp::kKeyedBelow; }
/// Functions that a library computes, several times as expensive as arithmetic.
[[nodiscard]] constexpr bool is_library_function(UnaryOp op) {
  return (op >= UnaryOp::kExp && op <= UnaryOp::kDigamma) || op == UnaryOp::kSigmoid || op == UnaryOp::kArg;
}
[[nodiscard]] constexpr bool is_library_function(BinaryOp op) {
  return op == BinaryOp::kAtan2 || op == BinaryOp::kHypot || is_keyed(op);
}
/// floor, ceil, trunc and round: the identity on integers.
[[nodiscard]] constexpr bool is_rounding(UnaryOp op) { return op >= UnaryOp::kFloor && op <= UnaryOp::kRound; }
[[nodiscard]] constexpr bool is_comparison(BinaryOp op) { return op >= BinaryOp::kEq && op <= BinaryOp::kGe; }
/// <, <=, > and >=, which complex numbers do not have.
[[nodiscard]] constexpr bool is_order(BinaryOp op) { return op >= BinaryOp::kLt && op <= BinaryOp::kGe; }
/// real, imag, conj and arg, which are operators of complex numbers alone.
[[nodiscard]] constexpr bool is_part(UnaryOp op) { return op >= UnaryOp::kReal && op <= UnaryOp::kArg; }
[[nodiscard]] constexpr bool is_logical(BinaryOp op) { return op == BinaryOp::kAnd || op == BinaryOp::kOr; }
/// & | ^ << >>, operators of integers; the first three of bools, too, without short circuit.
[[nodiscard]] constexpr bool is_bitwise(BinaryOp op) { return op >= BinaryOp::kBitAnd && op <= BinaryOp::kShiftRight; }
/// kEdge, kReflect, kSymmetric and kAround.
[[nodiscard]] constexpr bool is_boundary(BinaryOp op) { return op >= BinaryOp::kEdge; }
/// True if operands of the result's type may be swapped: for equal floats, -0.0 and 0.0, `min` and `max` return the
/// first.
[[nodiscard]] constexpr bool is_commutative(BinaryOp op, Scalar result) {
  if (op == BinaryOp::kMin || op == BinaryOp::kMax) return !is_float(result);
  return op == BinaryOp::kAdd || op == BinaryOp::kMul || op == BinaryOp::kEq || op == BinaryOp::kNe ||
         op == BinaryOp::kMutualMul || (op >= BinaryOp::kBitAnd && op <= BinaryOp::kBitXor);
}

/// The type of `op` on an operand of type `a`; nothing if the operator is undefined there. Arithmetic on bools is
/// undefined: they are widened to i64 before they reach the IR. floor, ceil, trunc and round of integers are the
/// identity. The absolute value, parts and angle of a complex number have the type of its parts.
[[nodiscard]] std::optional<Scalar> result_type(UnaryOp op, Scalar a);
/// The type of `op` on operands of types `a` and `b`. They must agree, except for kPow of a float and an i64.
[[nodiscard]] std::optional<Scalar> result_type(BinaryOp op, Scalar a, Scalar b);
/// True if `literal` holds the alternative that constants of type `s` use.
[[nodiscard]] bool holds(Scalar s, const Literal& literal);

}  // namespace tdsl::ir
