#include <cmath>
#include <complex>
#include <numbers>
#include <random>
#include <type_traits>

#include "ir/eval/complex_bounds.h"
#include "ir/graph/expr.h"
#include "ir/graph/expr_build.h"
#include "tests/unit/ir/eval_support.h"

using namespace tdsl::ir;
using namespace tdsl::tests;
namespace rt = tdsl::rt;

namespace {

using Number = rt::Complex<double>;

static_assert(std::is_trivially_copyable_v<Number> && std::is_trivially_default_constructible_v<Number>);
static_assert(sizeof(Number) == sizeof(std::complex<double>));

Array numbers(std::vector<double> re, std::vector<double> im) {
  Array a;
  a.type = Scalar::kC128;
  a.shape = {static_cast<std::int64_t>(re.size())};
  a.floats = std::move(re);
  a.imaginary = std::move(im);
  return a;
}

const std::string kInputZ = "%0:i64 \"n\" = dimension \"n\"\n%1:c128[%0] \"z\" = input \"z\"\n";

bool near(Number a, std::complex<double> b) {
  return std::hypot(a.re - b.real(), a.im - b.imag()) <= 1e-13 * std::abs(b);
}

}  // namespace

TEST_CASE("complex: types of operators") {
  CHECK(promote(Scalar::kC64, Scalar::kF32) == Scalar::kC64);
  CHECK(promote(Scalar::kBool, Scalar::kC64) == Scalar::kC64);
  CHECK(promote(Scalar::kC64, Scalar::kI32) == Scalar::kC128);
  CHECK(promote(Scalar::kF64, Scalar::kC64) == Scalar::kC128);
  CHECK(promote(Scalar::kC64, Scalar::kC128) == Scalar::kC128);
  CHECK(result_type(UnaryOp::kAbs, Scalar::kC64) == Scalar::kF32);
  CHECK(result_type(UnaryOp::kConj, Scalar::kC128) == Scalar::kC128);
  CHECK(result_type(UnaryOp::kArg, Scalar::kC128) == Scalar::kF64);
  CHECK_FALSE(result_type(UnaryOp::kReal, Scalar::kF64).has_value());
  CHECK_FALSE(result_type(UnaryOp::kFloor, Scalar::kC128).has_value());
  CHECK(result_type(BinaryOp::kComplex, Scalar::kF32, Scalar::kF32) == Scalar::kC64);
  CHECK(result_type(BinaryOp::kEq, Scalar::kC64, Scalar::kC64) == Scalar::kBool);
  for (const BinaryOp op : {BinaryOp::kLt, BinaryOp::kMin, BinaryOp::kMax, BinaryOp::kRem, BinaryOp::kMod,
                            BinaryOp::kAtan2, BinaryOp::kHypot, BinaryOp::kCopysign, BinaryOp::kComplex})
    CHECK_FALSE(result_type(op, Scalar::kC128, Scalar::kC128).has_value());
}

TEST_CASE("complex: constants and conjugates") {
  const Expr two = constant(Scalar::kC128, 2.0);
  CHECK(is_float_constant(two, 2.0));
  CHECK(equal(conjugated(two), two));
  // The sign of the imaginary part would be lost.
  CHECK_FALSE(std::holds_alternative<Constant>(unary(UnaryOp::kNeg, two)->op));
  const Expr z = argument(Scalar::kC128, 0);
  CHECK(equal(conjugated(conjugated(z)), z));
  const Expr x = cast(Scalar::kC128, argument(Scalar::kF64, 0));
  CHECK(equal(conjugated(x), x));
}

TEST_CASE("complex: quotients are scaled") {
  CHECK(near(Number(1e300, 2e300) / Number(3e300, -1e300), std::complex<double>(1, 2) / std::complex<double>(3, -1)));
  CHECK(near(Number(1e-300, 0) / Number(1e-300, 1e-300), {0.5, -0.5}));
  CHECK_FALSE(std::isfinite((Number(1, 1) / Number(0, 0)).re));
}

TEST_CASE("complex: functions agree with the C++ library's") {
  const std::complex<double> z(0.3, -1.7);
  const Number w(z.real(), z.imag());
  CHECK(near(rt::scalar::exp(w), std::exp(z)));
  CHECK(near(rt::scalar::expm1(w), std::exp(z) - 1.0));
  CHECK(near(rt::scalar::log1p(w), std::log(1.0 + z)));
  CHECK(near(rt::scalar::log2(w), std::log(z) / std::numbers::ln2));
  CHECK(near(rt::scalar::power(w, std::int64_t{5}), z * z * z * z * z));
  CHECK(near(rt::scalar::power(w, std::int64_t{-2}), 1.0 / (z * z)));
  CHECK(near(rt::scalar::power(w, w), std::pow(z, z)));
  CHECK(near(rt::scalar::expm1(Number(1e-12, 1e-12)), {1e-12, 1e-12 + 1e-24}));
  CHECK(rt::scalar::power(Number(0), Number(0)) == Number(1));
  CHECK(rt::scalar::power(Number(0), Number(1, 1)) == Number(0));
  CHECK(std::isnan(rt::scalar::power(Number(0), Number(-1, 0)).re));
  CHECK(rt::scalar::sign(Number(0)) == Number(0));
}

TEST_CASE("complex: discs cover what functions do to nearby numbers") {
  std::mt19937 generator(3);
  std::uniform_real_distribution<double> of(-2, 2);
  const auto check = [&](UnaryOp op, const auto& f) {
    for (int k = 0; k < 50; ++k) {
      const eval::Real z{of(generator), 1e-3, of(generator)};
      const eval::Real result = eval::complex_function<double>(op, z, f);
      if (std::isinf(result.bound)) continue;
      for (int direction = 0; direction < 12; ++direction) {
        const double angle = direction * std::numbers::pi / 6;
        const Number w = f(Number(z.value + 0.999e-3 * std::cos(angle), z.imag + 0.999e-3 * std::sin(angle)));
        CHECK_MESSAGE(std::hypot(w.re - result.value, w.im - result.imag) <= result.bound, name_of(op));
      }
    }
  };
  check(UnaryOp::kExp, [](Number z) { return rt::scalar::exp(z); });
  check(UnaryOp::kExpm1, [](Number z) { return rt::scalar::expm1(z); });
  check(UnaryOp::kLog, [](Number z) { return rt::scalar::log(z); });
  check(UnaryOp::kLog1p, [](Number z) { return rt::scalar::log1p(z); });
  check(UnaryOp::kLog2, [](Number z) { return rt::scalar::log2(z); });
  check(UnaryOp::kLog10, [](Number z) { return rt::scalar::log10(z); });
  check(UnaryOp::kSqrt, [](Number z) { return rt::scalar::sqrt(z); });
  check(UnaryOp::kSin, [](Number z) { return rt::scalar::sin(z); });
  check(UnaryOp::kCos, [](Number z) { return rt::scalar::cos(z); });
  check(UnaryOp::kTan, [](Number z) { return rt::scalar::tan(z); });
  check(UnaryOp::kSinh, [](Number z) { return rt::scalar::sinh(z); });
  check(UnaryOp::kCosh, [](Number z) { return rt::scalar::cosh(z); });
  check(UnaryOp::kTanh, [](Number z) { return rt::scalar::tanh(z); });
  check(UnaryOp::kAsin, [](Number z) { return rt::scalar::asin(z); });
  check(UnaryOp::kAcos, [](Number z) { return rt::scalar::acos(z); });
  check(UnaryOp::kAtan, [](Number z) { return rt::scalar::atan(z); });
  check(UnaryOp::kAsinh, [](Number z) { return rt::scalar::asinh(z); });
  check(UnaryOp::kAcosh, [](Number z) { return rt::scalar::acosh(z); });
  check(UnaryOp::kAtanh, [](Number z) { return rt::scalar::atanh(z); });
}

TEST_CASE("complex: discs at branch cuts are open") {
  const auto log_of = [](eval::Real z) {
    return eval::complex_function<double>(UnaryOp::kLog, z, [](Number w) { return rt::scalar::log(w); }).bound;
  };
  CHECK(std::isinf(log_of({-1, 1e-3, 1e-4})));
  CHECK(std::isfinite(log_of({-1, 1e-3, 1e-2})));
  CHECK(log_of({-1, 0, 0}) < 1e-14);
  CHECK(std::isinf(eval::complex_arg<double>({-1, 1e-3, 0}).bound));
  CHECK(eval::complex_arg<double>({1, 1e-3, 0}).bound < 1.1e-3);
}

TEST_CASE("complex: products, sums and comparisons of programs") {
  const std::string program = kInputZ +
                              "%2:c128 = compute [] sum[i in 0..%0] (mul(%1[i], conj(%1[i])))\n"
                              "%3:c128[%0] = compute [i in 0..%0] (mul(%1[i], complex(0.0, 1.0)))\n"
                              "%4:bool[%0] = compute [i in 0..%0] (eq(%1[i], 3.0:c128))\n"
                              "%5:f64[%0] = compute [i in 0..%0] (abs(%1[i]))\n"
                              "%6:c64[%0] = compute [i in 0..%0] (c64(%1[i]))\n"
                              "output \"s\" %2\noutput \"t\" %3\noutput \"e\" %4\noutput \"a\" %5\noutput \"c\" %6\n";
  const EvalResult r = run(program, {{"z", numbers({3, 3, 0.1}, {4, 0, 0.3})}});
  CHECK(error_of(r) == "");
  CHECK(r.outputs.at("s").floats[0] == doctest::Approx(34.1));
  CHECK(bound_of(r.outputs.at("s"), 0) > 0);
  CHECK(bound_of(r.outputs.at("s"), 0) < 1e-13);
  CHECK(r.outputs.at("t").floats == std::vector<double>{-4, 0, -0.3});
  CHECK(r.outputs.at("t").imaginary == std::vector<double>{3, 3, 0.1});
  CHECK(r.outputs.at("e").integers == std::vector<std::int64_t>{0, 1, 0});
  CHECK(r.outputs.at("a").floats[0] == 5);
  CHECK(r.outputs.at("c").imaginary[2] == static_cast<double>(0.3F));
}

TEST_CASE("complex: the text form reads back") {
  const std::string text = kInputZ +
                           "%2:c64[%0] = compute [i in 0..%0] (mul(c64(%1[i]), 2.5:c64))\n"
                           "%3:f64 = compute [] sum[i in 0..%0] (arg(add(%1[i], complex(1.0, -2.0))))\n"
                           "output \"a\" %2\noutput \"b\" %3\n";
  const Program program = parse("program \"test\"\n" + text);
  CHECK(verify(program).empty());
  CHECK(print(parse(print(program))) == print(program));
}
