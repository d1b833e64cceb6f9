#include <doctest/doctest.h>

#include <cmath>

#include "ir/graph/expr.h"
#include "ir/graph/expr_build.h"
#include "ir/graph/scalar.h"
#include "tests/unit/ir/eval_support.h"

using namespace tdsl::ir;

namespace {

double value_of(const Expr& e) { return std::get<double>(std::get<Constant>(e->op).value); }

}  // namespace

TEST_CASE("floats of two bytes: promotion is that of f32") {
  CHECK(promote(Scalar::kF16, Scalar::kF16) == Scalar::kF16);
  CHECK(promote(Scalar::kBool, Scalar::kBf16) == Scalar::kBf16);
  CHECK(promote(Scalar::kF16, Scalar::kBf16) == Scalar::kF32);
  CHECK(promote(Scalar::kF16, Scalar::kF32) == Scalar::kF32);
  CHECK(promote(Scalar::kI16, Scalar::kF16) == Scalar::kF32);
  CHECK(promote(Scalar::kI32, Scalar::kF16) == Scalar::kF64);
  CHECK(promote(Scalar::kF16, Scalar::kF64) == Scalar::kF64);
  CHECK(promote(Scalar::kBf16, Scalar::kC64) == Scalar::kC64);
}

TEST_CASE("floats of two bytes: no operator computes with them") {
  CHECK_FALSE(result_type(BinaryOp::kAdd, Scalar::kF16, Scalar::kF16).has_value());
  CHECK_FALSE(result_type(BinaryOp::kLt, Scalar::kBf16, Scalar::kBf16).has_value());
  CHECK_FALSE(result_type(BinaryOp::kPow, Scalar::kF16, Scalar::kI64).has_value());
  CHECK_FALSE(result_type(UnaryOp::kSqrt, Scalar::kF16).has_value());
  CHECK_FALSE(has_vectors(Scalar::kF16));
  CHECK(has_vectors(Scalar::kF32));
  CHECK_FALSE(has_vectors(Scalar::kU8));
}

TEST_CASE("floats of two bytes: constants are rounded once") {
  CHECK(value_of(constant(Scalar::kF16, 0.1)) == 0.0999755859375);
  CHECK(value_of(cast(Scalar::kF16, float_constant(Scalar::kF64, 1.00048828126))) == 1.0009765625);
  CHECK(std::isinf(value_of(cast(Scalar::kF16, constant_i64(70000)))));
  CHECK(value_of(cast(Scalar::kBf16, constant_i64(257))) == 256.0);
  CHECK(value_of(cast(Scalar::kF32, constant(Scalar::kBf16, 3.14159))) == 3.140625);
}

TEST_CASE("floats of two bytes: bounds of casts are those of their ends") {
  const tdsl::ir::EvalResult result = tdsl::tests::run(
      "%0:i64 \"n\" = dimension \"n\"\n%1:f64[%0] \"x\" = input \"x\"\n"
      "%2:f64[%0] = compute [i in 0..%0] (sin(%1[i]))\n%3:f16[%0] = compute [i in 0..%0] (f16(%2[i]))\n"
      "output \"y\" %3\n",
      {{"x", tdsl::tests::floats({2}, {0.5, 1.5707963267948966})}});
  const Array& y = result.outputs.at("y");
  CHECK(y.type == Scalar::kF16);
  CHECK(y.floats[0] == 0.4794921875);
  CHECK(tdsl::tests::bound_of(y, 0) == 0);
  CHECK(y.floats[1] == 1.0);
  CHECK(tdsl::tests::bound_of(y, 1) == 0);
}
