#include <algorithm>
#include <cmath>
#include <random>

#include "ir/eval/bounds.h"
#include "tests/unit/ir/eval_support.h"

using namespace tdsl::ir;
using namespace tdsl::tests;

namespace {

const std::string kInputX = "%0:i64 \"n\" = dimension \"n\"\n%1:f64[%0] \"x\" = input \"x\"\n";

std::vector<double> random_values(std::size_t n, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> distribution(-1, 1);
  std::vector<double> values(n);
  for (double& v : values) v = distribution(generator);
  return values;
}

Inputs vector(std::vector<double> values) {
  const auto n = static_cast<std::int64_t>(values.size());
  return {{"x", floats({n}, std::move(values))}};
}

}  // namespace

TEST_CASE("bounds: sums cover every order and stay tight") {
  std::vector<double> x = random_values(2000, 1);
  const std::string program = kInputX + "%2:f64 = compute [] sum[i in 0..%0] (mul(%1[i], %1[i]))\noutput \"s\" %2\n";
  const Array s = run(program, vector(x)).outputs.at("s");
  REQUIRE(s.bounds.size() == 1);
  CHECK(s.bounds[0] > 0);
  CHECK(s.bounds[0] < 1e-9);
  std::mt19937 generator(2);
  for (int k = 0; k < 50; ++k) {
    std::ranges::shuffle(x, generator);
    double sum = 0;
    for (const double v : x) sum = std::fma(v, v, sum);
    CHECK(std::fabs(sum - s.floats[0]) <= s.bounds[0]);
  }
}

TEST_CASE("bounds: exact sums have none") {
  const std::string program = kInputX + "%2:f64 = compute [] sum[i in 0..%0] (mul(%1[i], 0.25))\noutput \"s\" %2\n";
  CHECK(bound_of(run(program, vector({3, -5, 1e9})).outputs.at("s"), 0) == 0);
  CHECK(bound_of(run(program, vector({3, -5, 1e17})).outputs.at("s"), 0) > 0);
  CHECK(bound_of(run(program, vector({0.1, 0.2, 0.3})).outputs.at("s"), 0) > 0);
}

TEST_CASE("bounds: open comparisons taint what follows") {
  const std::string program = kInputX +
                              "%2:f64 = compute [] sum[i in 0..%0] (%1[i])\n"
                              "%3:f64 = compute [] (select(gt(%2, 0.6), 1.0, 2.0))\n"
                              "%4:i64 = compute [] (i64(mul(%2, 10.0)))\n"
                              "%5:f64[2] = compute [i in 0..2] (1.0) where gt(%2, 0.7)\n"
                              "output \"a\" %3\noutput \"b\" %4\noutput \"c\" %5\n";
  const EvalResult r = run(program, vector({0.1, 0.2, 0.3}));
  CHECK(std::isinf(bound_of(r.outputs.at("a"), 0)));
  CHECK(std::isinf(bound_of(r.outputs.at("b"), 0)));
  CHECK(bound_of(r.outputs.at("c"), 0) == 0);
  CHECK_FALSE(r.uncertain_control);
  const EvalResult clear = run(program, vector({0.1, 0.2, 0.4}));
  CHECK(bound_of(clear.outputs.at("a"), 0) == 0);
  CHECK(std::isinf(bound_of(clear.outputs.at("c"), 1)));
}

TEST_CASE("bounds: argmin is open only where a rival may win") {
  const std::string program = kInputX +
                              "%2:f64[%0] = compute [i in 0..%0] sum[j in 0..3] (div(%1[i], add(f64(j), 3.0)))\n"
                              "%3:i64 = compute [] argmin[i in 0..%0] (%2[i])\n"
                              "%4:i64 = compute [] argmin[i in 0..%0] (%1[i])\noutput \"a\" %3\noutput \"b\" %4\n";
  const EvalResult tie = run(program, vector({2, 1, 1}));
  CHECK(tie.outputs.at("a").integers[0] == 1);
  CHECK(std::isinf(bound_of(tie.outputs.at("a"), 0)));
  CHECK(bound_of(tie.outputs.at("b"), 0) == 0);
  CHECK(bound_of(run(program, vector({2, 1, 3})).outputs.at("a"), 0) == 0);
}

TEST_CASE("bounds: control that depends on an open value is reported") {
  const std::string program = kInputX +
                              "%2:f64 = compute [] sum[i in 0..%0] (%1[i])\n%3:bool = compute [] (gt(%2, 0.6))\n"
                              "%4:f64 = if %3 then () {\n  yield %2\n} else () {\n  yield %2\n}\noutput \"a\" %4\n";
  const EvalResult open = run(program, vector({0.1, 0.2, 0.3}));
  CHECK(open.uncertain_control);
  CHECK(std::isinf(bound_of(open.outputs.at("a"), 0)));
  const EvalResult clear = run(program, vector({0.1, 0.2, 0.4}));
  CHECK_FALSE(clear.uncertain_control);
  CHECK(std::isfinite(bound_of(clear.outputs.at("a"), 0)));
}

TEST_CASE("bounds: a norm near zero stays known") {
  const std::string program = kInputX +
                              "%2:f64[%0] = compute [i in 0..%0] sum[j in 0..4] (mul(%1[i], sub(f64(j), 1.5)))\n"
                              "%3:f64 = compute [] sum[i in 0..%0] (mul(%2[i], %2[i]))\n"
                              "%4:f64 = compute [] (sqrt(%3))\n%5:f64 = compute [] (sqrt(%2[0]))\n"
                              "output \"a\" %4\noutput \"b\" %5\n";
  const EvalResult r = run(program, vector({0.1, 0.2, 0.3}));
  CHECK(bound_of(r.outputs.at("a"), 0) < 1e-6);
  CHECK_FALSE(bound_of(r.outputs.at("b"), 0) < 1);
}

TEST_CASE("bounds: operations contain what moved operands give") {
  using eval::Real;
  const Real a{0.7, 1e-3};
  const Real b{-1.3, 1e-3};
  const auto covers = [](Real r, double other) { return std::fabs(r.value - other) <= r.bound; };
  for (const double s : {-1e-3, 0.0, 1e-3}) {
    for (const double t : {-1e-3, 0.0, 1e-3}) {
      const double x = 0.7 + s;
      const double y = -1.3 + t;
      CHECK(covers(eval::add<double>(a, b), x + y));
      CHECK(covers(eval::multiply<double>(a, b), x * y));
      CHECK(covers(eval::divide<double>(a, b), x / y));
      CHECK(covers(eval::power<double>(a, b), std::pow(x, y)));
      CHECK(covers(eval::min(a, b), std::min(x, y)));
      CHECK(covers(eval::sqrt<double>(a, false), std::sqrt(x)));
      CHECK(covers(eval::wave<double>(a, [](double v) { return std::cos(v); }), std::cos(x)));
      CHECK(covers(eval::tan<double>(a), std::tan(x)));
    }
  }
  CHECK(std::isinf(eval::divide<double>({1, 0}, {0, 1e-9}).bound));
  CHECK(eval::multiply<double>({-INFINITY, 0}, {2, 0}).bound == 0);
  CHECK(eval::add<double>({1, 0}, {2, 0}).bound == 0);
}

TEST_CASE("bounds: a loop's contributions to a scalar or an element may be added in any order") {
  // 1 in this order, 2 or 0 in others.
  const Inputs inputs = {{"x", floats({4}, {1, 1e16, -1e16, 1})}};
  const EvalResult r = run(R"(%0:i64 "n" = dimension "n"
%1:f64[%0] "x" = input "x"
%2:i64 = compute [] (0)
%3:f64 = compute [] (0.0)
%4:f64[%0] = compute [i in 0..%0] (0.0)
%5:f64, %6:f64[%0], %7:f64 = for %2..%0 by 1 with (%3, %4, %3) do (%8:i64, %9:f64, %10:f64[%0], %11:f64) {
  %12:f64 = compute [] (add(%1[%8], %9))
  %13:f64[%0] = compute [] (add(%10[0], %1[%8])) left [0] base %10
  %14:f64 = compute [] (sub(1.0, %11))
  yield %12, %13, %14
}
output "s" %5
output "e" %6
output "apart" %7
)",
                           inputs);
  REQUIRE(error_of(r) == "");
  CHECK(r.outputs.at("s").floats[0] == 1);
  CHECK(r.outputs.at("s").bounds.at(0) >= 1);
  CHECK(r.outputs.at("e").bounds.at(0) >= 1);
  CHECK(r.outputs.at("e").bounds.at(1) == 0);
  CHECK(r.outputs.at("apart").bounds.empty());
  // Integers are exact in any order.
  const EvalResult exact =
      run("%0:i64 \"n\" = dimension \"n\"\n%1:f64[%0] \"x\" = input \"x\"\n%2:i64 = compute [] (0)\n%3:f64 = compute "
          "[] (0.0)\n"
          "%4:f64 = for %2..%0 by 1 with (%3) do (%5:i64, %6:f64) {\n  %7:f64 = compute [] (add(%6, %1[%5]))\n  yield "
          "%7\n}\noutput \"s\" %4\n",
          {{"x", floats({3}, {5, -7, 4})}});
  CHECK(exact.outputs.at("s").bounds.empty());
}

TEST_CASE("bounds: library functions may overflow early and differ where results are not normal") {
  const auto at = [](double x) { return eval::Real{x, 0}; };
  CHECK(std::isinf(eval::exp<double>(at(709.782712)).bound));  // finite here, infinite in other evaluation orders
  CHECK(std::isfinite(eval::exp<double>(at(709.7827)).bound));
  CHECK(eval::exp<double>(at(-745.2)).bound > 0);  // zero here, nearly zero in others
  CHECK(eval::exp<double>(at(-1000)).bound == 0);
  CHECK(eval::exp<double>(at(-740)).bound >= 8 * std::numeric_limits<double>::denorm_min());
  // Zero if its exponential overflows.
  const eval::Real sigmoid = eval::sigmoid<double>(at(-709.782712));
  CHECK(sigmoid.bound >= sigmoid.value);
  CHECK(eval::monotone<double>(at(0), [](double x) { return std::tanh(x); }).bound == 0);
}
