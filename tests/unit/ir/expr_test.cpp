#include "ir/graph/expr.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "ir/graph/check.h"

using namespace tdsl::ir;

namespace {

Expr f64(double x) { return constant(Scalar::kF64, x); }
Expr i32(std::int64_t x) { return constant(Scalar::kI32, x); }

std::int64_t integer(const Expr& e) { return std::get<std::int64_t>(std::get<Constant>(e->op).value); }
double real(const Expr& e) { return std::get<double>(std::get<Constant>(e->op).value); }
bool boolean(const Expr& e) { return std::get<bool>(std::get<Constant>(e->op).value); }

}  // namespace

TEST_CASE("scalar: promotion is NumPy's") {
  CHECK(promote(Scalar::kBool, Scalar::kI32) == Scalar::kI32);
  CHECK(promote(Scalar::kI32, Scalar::kI64) == Scalar::kI64);
  CHECK(promote(Scalar::kI32, Scalar::kF32) == Scalar::kF64);
  CHECK(promote(Scalar::kF32, Scalar::kI64) == Scalar::kF64);
  CHECK(promote(Scalar::kBool, Scalar::kF32) == Scalar::kF32);
  CHECK(promote(Scalar::kF32, Scalar::kF64) == Scalar::kF64);
  CHECK(promote(Scalar::kBool, Scalar::kBool) == Scalar::kBool);
}

TEST_CASE("expr: folding is exact") {
  CHECK(equal(binary(BinaryOp::kPow, constant_i64(2), constant_i64(10)), constant_i64(1024)));
  CHECK(!std::holds_alternative<Constant>(binary(BinaryOp::kPow, constant_i64(2), constant_i64(-1))->op));
  CHECK(integer(binary(BinaryOp::kAdd, i32(2147483647), i32(1))) == -2147483648LL);
  CHECK(integer(binary(BinaryOp::kDiv, constant_i64(-7), constant_i64(2))) == -3);
  CHECK(integer(binary(BinaryOp::kDiv, constant_i64(std::numeric_limits<std::int64_t>::min()), constant_i64(-1))) ==
        std::numeric_limits<std::int64_t>::min());
  CHECK(real(binary(BinaryOp::kAdd, f64(0.1), f64(0.2))) == 0.1 + 0.2);
  CHECK(real(constant(Scalar::kF32, 0.1)) == static_cast<double>(0.1F));
  CHECK(std::signbit(real(unary(UnaryOp::kNeg, f64(0.0)))));
  CHECK(boolean(binary(BinaryOp::kLt, f64(1), f64(2))));
  CHECK_FALSE(boolean(binary(BinaryOp::kEq, f64(std::nan("")), f64(std::nan("")))));
  CHECK(integer(cast(Scalar::kI64, f64(-2.7))) == -2);
  // Run-time errors are not folded.
  CHECK(std::holds_alternative<Binary>(binary(BinaryOp::kDiv, constant_i64(1), constant_i64(0))->op));
  CHECK(std::holds_alternative<Cast>(cast(Scalar::kI32, f64(1e10))->op));
}

TEST_CASE("expr: neutral operands vanish on integers only") {
  const Expr i = index_ref(0);
  CHECK(binary(BinaryOp::kAdd, i, constant_i64(0)).id() == i.id());
  CHECK(binary(BinaryOp::kMul, constant_i64(1), i).id() == i.id());
  const Expr x = read(Scalar::kF64, {0}, {});
  CHECK(std::holds_alternative<Binary>(binary(BinaryOp::kAdd, x, f64(0))->op));
  CHECK(cast(Scalar::kF64, x).id() == x.id());
  CHECK(unary(UnaryOp::kFloor, i).id() == i.id());
}

TEST_CASE("expr: equality and hash ignore ranges") {
  const SourceRange place{0, 3, 4, 3, 9};
  const Expr a = binary(BinaryOp::kAdd, read(Scalar::kF64, {1}, {index_ref(0)}), f64(2));
  const Expr b = binary(BinaryOp::kAdd, read(Scalar::kF64, {1}, {index_ref(0)}, place), f64(2), place);
  const Expr c = binary(BinaryOp::kAdd, read(Scalar::kF64, {1}, {index_ref(1)}), f64(2));
  CHECK(equal(a, b));
  CHECK(hash(a) == hash(b));
  CHECK_FALSE(equal(a, c));
  CHECK_FALSE(equal(f64(0.0), f64(-0.0)));
  CHECK(equal(f64(std::nan("")), f64(std::nan(""))));
}

TEST_CASE("expr: rewrite shares unchanged subexpressions") {
  const Expr left = read(Scalar::kF64, {1}, {index_ref(0)});
  const Expr e = binary(BinaryOp::kMul, left, read(Scalar::kF64, {2}, {index_ref(1)}));
  CHECK(rewrite(e, [](const Expr& x) { return x; }).id() == e.id());
  const Expr swapped = rewrite(e, [](const Expr& x) {
    const auto* i = std::get_if<IndexRef>(&x->op);
    return i != nullptr && i->label == 1 ? index_ref(5) : x;
  });
  CHECK(swapped.id() != e.id());
  CHECK(std::get<Binary>(swapped->op).left.id() == left.id());
  int nodes = 0;
  for_each_node(swapped, [&](const ExprNode&) { ++nodes; });
  CHECK(nodes == 5);
}

TEST_CASE("expr: factories refuse wrong types") {
  CHECK_THROWS_AS(static_cast<void>(binary(BinaryOp::kAdd, f64(1), constant_i64(1))), InternalError);
  CHECK_THROWS_AS(static_cast<void>(unary(UnaryOp::kSqrt, constant_i64(1))), InternalError);
  CHECK_THROWS_AS(static_cast<void>(read(Scalar::kF64, {0}, {f64(1)})), InternalError);
  CHECK(binary(BinaryOp::kPow, read(Scalar::kF32, {0}, {}), constant_i64(2))->type == Scalar::kF32);
}

TEST_CASE("expr: images of positions outside of a dimension") {
  const auto image = [](BinaryOp op, std::int64_t x, std::int64_t n) {
    return integer(binary(op, constant_i64(x), constant_i64(n)));
  };
  for (std::int64_t n = 1; n <= 5; ++n) {
    for (std::int64_t x = 0; x < 12; ++x) {
      for (const BinaryOp op : {BinaryOp::kEdge, BinaryOp::kReflect, BinaryOp::kSymmetric}) {
        CHECK(image(op, x % n, n) == x % n);
      }
      CHECK(image(BinaryOp::kEdge, -1 - x, n) == 0);
      CHECK(image(BinaryOp::kEdge, n + x, n) == n - 1);
      CHECK(image(BinaryOp::kReflect, -x, n) == image(BinaryOp::kReflect, x, n));
      CHECK(image(BinaryOp::kReflect, n - 1 + x, n) == image(BinaryOp::kReflect, n - 1 - x, n));
      CHECK(image(BinaryOp::kSymmetric, -1 - x, n) == image(BinaryOp::kSymmetric, x, n));
      CHECK(image(BinaryOp::kSymmetric, n + x, n) == image(BinaryOp::kSymmetric, n - 1 - x, n));
    }
  }
}
