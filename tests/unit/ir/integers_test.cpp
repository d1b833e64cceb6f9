#include <doctest/doctest.h>

#include <cstdint>
#include <limits>

#include "ir/eval/accumulator.h"
#include "ir/graph/expr.h"
#include "ir/graph/graph.h"
#include "runtime/kernels/scalar_math.h"

using namespace tdsl::ir;
namespace scalar = tdsl::rt::scalar;

namespace {

std::int64_t folded(const Expr& e) { return std::get<std::int64_t>(std::get<Constant>(e->op).value); }

Expr whole(Scalar type, std::int64_t value) { return constant(type, value); }

}  // namespace

TEST_CASE("integers: promotion is NumPy's") {
  CHECK(promote(Scalar::kI8, Scalar::kU8) == Scalar::kI16);
  CHECK(promote(Scalar::kU8, Scalar::kI16) == Scalar::kI16);
  CHECK(promote(Scalar::kU16, Scalar::kI8) == Scalar::kI32);
  CHECK(promote(Scalar::kU32, Scalar::kI32) == Scalar::kI64);
  CHECK(promote(Scalar::kU64, Scalar::kU8) == Scalar::kU64);
  CHECK(promote(Scalar::kU64, Scalar::kI8) == Scalar::kF64);
  CHECK(promote(Scalar::kBool, Scalar::kU8) == Scalar::kU8);
  CHECK(promote(Scalar::kU16, Scalar::kF32) == Scalar::kF32);
  CHECK(promote(Scalar::kU32, Scalar::kF32) == Scalar::kF64);
  CHECK(promote(Scalar::kI16, Scalar::kC64) == Scalar::kC64);
  CHECK(promote(Scalar::kI32, Scalar::kC64) == Scalar::kC128);
}

TEST_CASE("integers: constants fold in their type") {
  CHECK(folded(whole(Scalar::kU8, 300)) == 44);
  CHECK(folded(whole(Scalar::kI8, 200)) == -56);
  CHECK(folded(whole(Scalar::kU64, -1)) == -1);
  CHECK(folded(binary(BinaryOp::kAdd, whole(Scalar::kU8, 200), whole(Scalar::kU8, 100))) == 44);
  CHECK(folded(binary(BinaryOp::kDiv, whole(Scalar::kU64, -1), whole(Scalar::kU64, 2))) ==
        std::numeric_limits<std::int64_t>::max());
  CHECK(folded(binary(BinaryOp::kShiftRight, whole(Scalar::kI8, -8), whole(Scalar::kI8, 100))) == -1);
  CHECK(folded(binary(BinaryOp::kBitXor, whole(Scalar::kU16, 0xFFFF), whole(Scalar::kU16, 0x00FF))) == 0xFF00);
  CHECK(folded(unary(UnaryOp::kBitNot, whole(Scalar::kU8, 1))) == 254);
  CHECK(folded(unary(UnaryOp::kNeg, whole(Scalar::kU16, 1))) == 65535);
  const Expr less = binary(BinaryOp::kLt, whole(Scalar::kU64, 1), whole(Scalar::kU64, -1));
  CHECK(std::get<bool>(std::get<Constant>(less->op).value));
  CHECK(std::get<double>(std::get<Constant>(cast(Scalar::kF64, whole(Scalar::kU64, -1))->op).value) == 0x1p64);
  // A cast that stops the run is left to it.
  CHECK(std::holds_alternative<Cast>(cast(Scalar::kU8, constant(Scalar::kF64, 256.0))->op));
  CHECK(folded(cast(Scalar::kU8, constant(Scalar::kF64, -0.5))) == 0);
}

TEST_CASE("integers: bit operators are those of integers, three also of bools") {
  CHECK(result_type(BinaryOp::kBitAnd, Scalar::kU8, Scalar::kU8) == Scalar::kU8);
  CHECK(result_type(BinaryOp::kBitOr, Scalar::kBool, Scalar::kBool) == Scalar::kBool);
  CHECK_FALSE(result_type(BinaryOp::kShiftLeft, Scalar::kBool, Scalar::kBool).has_value());
  CHECK_FALSE(result_type(BinaryOp::kBitXor, Scalar::kF64, Scalar::kF64).has_value());
  CHECK_FALSE(result_type(UnaryOp::kBitNot, Scalar::kC128).has_value());
  CHECK(result_type(UnaryOp::kPopcount, Scalar::kI8) == Scalar::kI64);
}

TEST_CASE("integers: limits and order of every type") {
  CHECK(folded(identity_of({Monoid::Kind::kMin, {}, {}, {}}, Scalar::kU8)) == 255);
  CHECK(folded(identity_of({Monoid::Kind::kMax, {}, {}, {}}, Scalar::kU64)) == 0);
  CHECK(folded(identity_of({Monoid::Kind::kMin, {}, {}, {}}, Scalar::kU64)) == -1);
  CHECK(folded(identity_of({Monoid::Kind::kMax, {}, {}, {}}, Scalar::kI16)) == -32768);
  eval::PositionAccumulator most(Monoid::Kind::kArgMax, Scalar::kU64);
  most.add(eval::Whole{5, 0}, 0);
  most.add(eval::Whole{-1, 0}, 1);
  CHECK(most.result().value == 1);
}

TEST_CASE_TEMPLATE("integers: shifts by any count", T, std::int8_t, std::uint8_t, std::int16_t, std::uint16_t,
                   std::int32_t, std::uint32_t, std::int64_t, std::uint64_t) {
  constexpr int kBits = std::numeric_limits<std::make_unsigned_t<T>>::digits;
  for (int count = 0; count < 100; ++count) {
    const T one = scalar::shift_left(T{1}, static_cast<T>(count));
    CHECK(scalar::popcount(one) == (count < kBits ? 1 : 0));
  }
  CHECK(scalar::shift_right(std::numeric_limits<T>::max(), static_cast<T>(kBits)) == 0);
  if constexpr (std::is_signed_v<T>) {
    CHECK(scalar::shift_left(T{1}, T{-1}) == 0);
    CHECK(scalar::shift_right(T{-2}, T{-1}) == -1);
    CHECK(scalar::shift_right(T{-5}, T{1}) == -3);
  }
  CHECK(scalar::multiply(std::numeric_limits<T>::max(), std::numeric_limits<T>::max()) == T{1});
}
