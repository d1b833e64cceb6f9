#include "ir/eval/eval.h"

#include <cmath>
#include <limits>

#include "tests/unit/ir/eval_support.h"

using namespace tdsl::ir;
using namespace tdsl::tests;

namespace {

using Floats = std::vector<double>;
using Integers = std::vector<std::int64_t>;

/// Dimension n, `x: f64[n]`.
const std::string kVector = "%0:i64 \"n\" = dimension \"n\"\n%1:f64[%0] \"x\" = input \"x\"\n";
/// Dimensions n and m, `A: f64[n, m]`.
const std::string kMatrix =
    "%0:i64 \"n\" = dimension \"n\"\n%1:i64 \"m\" = dimension \"m\"\n%2:f64[%0, %1] \"A\" = input \"A\"\n";

const Inputs kThree = {{"x", floats({3}, {1, 2, 3})}};

}  // namespace

TEST_CASE("eval: matrix product") {
  const EvalResult r = run(kMatrix +
                               "%3:f64[%0, %0] = compute [i in 0..%0, k in 0..%0] sum[j in 0..%1] "
                               "(mul(%2[i, j], %2[k, j]))\noutput \"G\" %3\n",
                           {{"A", floats({2, 3}, {1, 2, 3, 4, 5, 6})}});
  REQUIRE(error_of(r) == "");
  CHECK(r.outputs.at("G").shape == Integers{2, 2});
  CHECK(r.outputs.at("G").floats == Floats{14, 32, 32, 77});
  CHECK(r.outputs.at("G").bounds.empty());
}

TEST_CASE("eval: every reduction") {
  const EvalResult r = run(kVector +
                               "%2:f64, %3:f64 = compute [] prod[i in 0..%0] (%1[i], sub(%1[i], 5.0))\n"
                               "%4:f64 = compute [] min[i in 0..%0] (%1[i])\n"
                               "%5:f64 = compute [] max[i in 0..%0] (%1[i]) where lt(%1[i], 3.0)\n"
                               "%6:bool = compute [] any[i in 0..%0] (gt(%1[i], 2.0))\n"
                               "%7:bool = compute [] all[i in 0..%0] (gt(%1[i], 2.0))\n"
                               "%8:i64 = compute [] argmax[i in 0..%0] (%1[i])\n"
                               "%9:i64 = compute [] argmin[i in 0..0] (%1[i])\n"
                               "%10:f64 = compute [] max[i in 0..0] (%1[i])\n"
                               "%11:f64 = compute [] user(\"last\", 0.0, $1:f64)[i in 0..%0] (%1[i])\n"
                               "print %2, %3, %4, %5, %6, %7, %8, %9, %10, %11\n",
                           kThree, expecting("6.0 -24.0 1.0 2.0 true false 2 -1 -inf 3.0"));
  CHECK(error_of(r) == "");
}

TEST_CASE("eval: nan propagates and argmin finds the first") {
  const EvalResult r = run(kVector +
                               "%2:f64 = compute [] min[i in 0..%0] (%1[i])\n"
                               "%3:i64 = compute [] argmin[i in 0..%0] (%1[i])\n"
                               "%4:i64 = compute [] argmax[i in 0..%0] (neg(%1[i]))\n"
                               "output \"a\" %2\noutput \"b\" %3\noutput \"c\" %4\n",
                           {{"x", floats({4}, {1, std::nan(""), 0, std::nan("")})}});
  CHECK(std::isnan(r.outputs.at("a").floats[0]));
  CHECK(r.outputs.at("b").integers[0] == 1);
  CHECK(r.outputs.at("c").integers[0] == 1);
}

TEST_CASE("eval: arithmetic is exact in the element type") {
  const EvalResult r =
      run("%0:i32 = compute [] (add(2147483647:i32, 1:i32))\n"
          "%1:i64 = compute [] (add(9223372036854775807, 1))\n"
          "%2:f32 = compute [] (add(0.1:f32, 0.2:f32))\n"
          "%3:f32 = compute [] sum[i in 0..3] (select(eq(i, 0), 16777216.0:f32, 1.0:f32))\n"
          "%4:i64 = compute [] (mod(-7, 3))\n%5:i64 = compute [] (rem(-7, 3))\n%6:f64 = compute [] (round(2.5))\n"
          "output \"a\" %0\noutput \"b\" %1\noutput \"c\" %2\noutput \"d\" %3\nprint %4, %5, %6\n",
          {}, expecting("2 -1 2.0"));
  CHECK(r.outputs.at("a").integers[0] == std::numeric_limits<std::int32_t>::min());
  CHECK(r.outputs.at("b").integers[0] == std::numeric_limits<std::int64_t>::min());
  CHECK(r.outputs.at("c").floats[0] == static_cast<double>(0.1F + 0.2F));
  CHECK(r.outputs.at("d").floats[0] == 16777216.0);
  CHECK(bound_of(r.outputs.at("d"), 0) >= 2.0);
}

TEST_CASE("eval: guards, ranges and fill") {
  const EvalResult r = run(kVector +
                               "%2:f64[%0] = compute [i in 0..%0] (div(%1[sub(i, 1)], 2.0)) where gt(i, 0) fill 9.0\n"
                               "%3:f64[%0] = compute [i in 0..%0] sum[j in 0..%0] (%1[j]) where lt(j, i)\n"
                               "%4:f64[%0] = compute [i in 1..%0] (%1[i]) left [i]\n"
                               "output \"a\" %2\noutput \"b\" %3\noutput \"c\" %4\n",
                           kThree);
  REQUIRE(error_of(r) == "");
  CHECK(r.outputs.at("a").floats == Floats{9, 0.5, 1});
  CHECK(r.outputs.at("b").floats == Floats{0, 1, 3});
  CHECK(r.outputs.at("c").floats == Floats{0, 2, 3});
}

TEST_CASE("eval: an assignment reads old values") {
  const EvalResult r =
      run(kVector +
              "%2:f64[%0] = compute [i in 1..%0 - 1] (add(%1[sub(i, 1)], %1[add(i, 1)])) left [i] base %1\n"
              "%3:f64[%0] = compute [i in 1..%0 - 1] (add(%2[sub(i, 1)], %2[add(i, 1)])) left [i] base %2\n"
              "output \"u\" %3\n",
          {{"x", floats({5}, {1, 2, 3, 4, 5})}});
  CHECK(r.outputs.at("u").floats == Floats{1, 7, 12, 11, 5});
}

TEST_CASE("eval: scatter combines, gather and permutation read") {
  const Inputs inputs = {{"bin", integers({4}, {1, 0, 1, 1})}, {"w", floats({4}, {1, 2, 3, 4})}};
  const std::string start =
      "%0:i64 \"n\" = dimension \"n\"\n%1:i64[%0] \"bin\" = input \"bin\"\n%2:f64[%0] \"w\" = input \"w\"\n";
  const EvalResult r = run(start +
                               "%3:f64[3] \"H\" = compute [i in 0..%0] (%2[i]) left [%1[i]] combine sum\n"
                               "%4:f64[3] = compute [i in 0..%0] (%2[i]) left [%1[i]] base %3 combine max\n"
                               "%5:f64[%0] = compute [i in 0..%0] (%2[%1[i]])\n"
                               "output \"H\" %3\noutput \"M\" %4\noutput \"g\" %5\n",
                           inputs);
  REQUIRE(error_of(r) == "");
  CHECK(r.outputs.at("H").floats == Floats{2, 8, 0});
  CHECK(r.outputs.at("M").floats == Floats{2, 8, 0});
  CHECK(r.outputs.at("g").floats == Floats{2, 1, 2, 2});
  const EvalResult twice =
      run(start + "%3:f64[3] \"H\" = compute [i in 0..%0] (%2[i]) left [%1[i]]\noutput \"H\" %3\n", inputs);
  CHECK(error_of(twice) == "element [1] of H is written twice by `=`");
  CHECK(twice.outputs.empty());
}

TEST_CASE("eval: after an error there are the records of series and no other outputs") {
  const EvalResult r = run(kVector +
                               "%2:f64[0, %0] = compute [i in 0..0, j in 0..%0] (0.0)\noutput \"r\" %2 begins\n"
                               "output \"x\" %1\n%3:i64 = compute [] (0)\noutput \"r\" %1 record %3\n"
                               "%4:bool = compute [] (false)\nassert %4 \"so it goes\"\n",
                           kThree);
  CHECK(error_of(r) == "assertion failed: so it goes");
  REQUIRE(r.outputs.size() == 1);
  CHECK(r.outputs.at("r").shape == Integers{1, 3});
  CHECK(r.outputs.at("r").floats == Floats{1, 2, 3});
}

TEST_CASE("eval: loops carry values") {
  const EvalResult r = run(kVector +
                               "%2:i64 = compute [] (0)\n%3:f64[%0] = compute [i in 0..%0] (0.0)\n"
                               "%4:f64[%0] = for %2..%0 by 1 with (%3) do (%5:i64 \"t\", %6:f64[%0]) {\n"
                               "  %7:f64[%0] = compute [] (mul(%1[%5], 2.0)) left [%5] base %6 combine sum\n"
                               "  yield %7\n}\n"
                               "%8:i64 = compute [] (5)\n"
                               "%9:i64, %10:i64 = while with (%2, %8) do (%11:i64, %12:i64) {\n"
                               "  %13:bool = compute [] (lt(%11, %12))\n  yield %13\n"
                               "} do (%14:i64 \"iteration\", %15:i64, %16:i64) {\n"
                               "  %17:i64 = compute [] (add(%15, add(%14, 1)))\n  yield %17, %16\n}\n"
                               "%18:i64 = for %8..%2 by -2 with (%2) do (%19:i64, %20:i64) {\n"
                               "  %21:i64 = compute [] (add(mul(%20, 10), %19))\n  yield %21\n}\n"
                               "output \"a\" %4\nprint %9, %18\noutput \"z\" %3\n",
                           kThree, expecting("6 531"));
  REQUIRE(error_of(r) == "");
  CHECK(r.outputs.at("a").floats == Floats{2, 4, 6});
  CHECK(r.outputs.at("z").floats == Floats{0, 0, 0});
  CHECK(r.output_order == std::vector<std::string>{"a", "z"});
}

TEST_CASE("eval: a loop may read its own initial value inside") {
  const EvalResult r = run(kVector +
                               "%2:i64 = compute [] (0)\n"
                               "%3:f64[%0], %4:f64[%0] = for %2..%0 by 1 with (%1, %1) do (%5:i64, %6:f64[%0], "
                               "%7:f64[%0]) {\n"
                               "  %8:f64[%0] = compute [] (add(%6[0], %1[%5])) left [0] base %6\n"
                               "  yield %8, %7\n}\noutput \"a\" %3\noutput \"b\" %4\n",
                           kThree);
  REQUIRE(error_of(r) == "");
  CHECK(r.outputs.at("a").floats == Floats{7, 2, 3});
  CHECK(r.outputs.at("b").floats == Floats{1, 2, 3});
}

TEST_CASE("eval: only the taken branch is evaluated") {
  const EvalResult r = run(kVector +
                               "%2:bool = compute [] (gt(%0, 5))\n"
                               "%3:f64 = if %2 then () {\n  %4:f64 = compute [] (%1[5])\n  yield %4\n} else () {\n"
                               "  %5:f64 = compute [] (select(%2, %1[7], %1[0]))\n  yield %5\n}\n"
                               "%6:bool = compute [] (and(%2, gt(%1[9], 0.0)))\noutput \"a\" %3\n",
                           kThree);
  REQUIRE(error_of(r) == "");
  CHECK(r.outputs.at("a").floats == Floats{1});
}

TEST_CASE("eval: run-time errors have text and place") {
  CHECK(error_of(run(kVector + "%2:f64[%0] = compute [i in 0..%0] (%1[add(i, 1)])\n", kThree)) ==
        "subscript 3 is out of bounds: dimension 0 of x has extent 3");
  const EvalResult division = run(kVector + "%2:i64 = compute [] (div(1, sub(%0, 3))) @0:7:3-7:9\n", kThree);
  CHECK(error_of(division) == "integer division by zero");
  CHECK(division.error->range.line == 7);
  CHECK(error_of(run("%0:i32 = compute [] (i32(1e10))\n")).find("does not fit") != std::string::npos);
  CHECK(error_of(run("%0:bool = compute [] (false)\nassert %0 \"so it goes\"\n")) == "assertion failed: so it goes");
  CHECK(error_of(run(kVector + "check %0 == 4 \"n is {left}, not {right}\"\n", kThree)) == "n is 3, not 4");
  CHECK(error_of(run(kVector + "check 0 <= %0 - 5 \"{right} is negative\"\n", kThree)) == "-2 is negative");
  CHECK(error_of(run(kVector + "%2:bool = compute [] (false)\ncheck 0 <= %0 - 5 if %2 \"no\"\n", kThree)) == "");
  CHECK(error_of(run(kVector + "%2:i64[%0 - 5] \"v\" = compute [i in 0..%0] (i) left [i]\n", kThree)) ==
        "subscript 0 is out of bounds: dimension 0 of v has extent 0");
  CHECK(error_of(run("%0:f64 = param \"a\"\n")) == "the param `a` has no value and no default");
}

TEST_CASE("eval: a range that ends before it begins is empty") {
  const EvalResult r = run(kVector + "%2:i64[%0 - 5] \"v\" = compute [i in 5..%0] (i)\noutput \"v\" %2\n", kThree);
  REQUIRE(error_of(r) == "");
  CHECK(r.outputs.at("v").shape == std::vector<std::int64_t>{0});
}

TEST_CASE("eval: dimensions and params come from files and options") {
  EvalOptions options;
  options.dimensions["n"] = 4;
  CHECK(error_of(run(kVector, kThree, options)) ==
        "the inputs disagree about dimension n: dimension 0 of x has 3, but --set n=4 fixes it");
  options.dimensions.clear();
  options.params["a"] = std::int64_t{2};
  const EvalResult r = run("%0:f64 = param \"a\" = 1.5\noutput \"a\" %0\n", {}, options);
  CHECK(r.outputs.at("a").floats == Floats{2});
}

TEST_CASE("eval: absent elements of sparse tensors win against inf and nan") {
  const Inputs inputs = {{"x", floats({3}, {0, 0, 2})}, {"y", floats({3}, {INFINITY, std::nan(""), 3})}};
  const auto program = [](const std::string& dimension) {
    return "%0:i64 \"n\" = dimension \"n\"\n%1:f64[" + dimension +
           "] \"x\" = input \"x\"\n%2:f64[%0] \"y\" = input \"y\"\n"
           "%3:f64[%0] = compute [i in 0..%0] (absent_mul(%1[i], %2[i]))\noutput \"a\" %3\n"
           "%4:f64[%0] = compute [i in 0..%0] (mul(%1[i], %2[i]))\noutput \"b\" %4\n"
           "%5:f64[%0] = compute [i in 0..%0] (mutual_mul(%2[i], %1[i]))\noutput \"c\" %5\n"
           "%6:f64[%0] = compute [i in 0..%0] (absent_div(%1[i], sub(%2[i], %2[i])))\noutput \"d\" %6\n"
           "%7:f64[%0] = compute [i in 0..%0] (absent_mul(%2[i], %1[i]))\noutput \"e\" %7\n";
  };
  for (const std::string dimension : {"sparse %0", "%0"}) {
    const EvalResult r = run(program(dimension), inputs);
    CHECK(r.outputs.at("a").floats == Floats{0, 0, 6});
    CHECK(std::isnan(r.outputs.at("b").floats[0]));
    CHECK(r.outputs.at("c").floats == Floats{0, 0, 6});
    CHECK(r.outputs.at("d").floats == Floats{0, 0, INFINITY});
    // The other operand is an ordinary number.
    CHECK(std::isnan(r.outputs.at("e").floats[0]));
  }
}

TEST_CASE("eval: an absent factor that rounding may move away from 0 is open against inf") {
  // 0.1 + 0.2 - 0.3 in any order: 0 or not.
  const EvalResult r = run(
      "%0:i64 \"n\" = dimension \"n\"\n%1:f64[%0] \"x\" = input \"x\"\n%2:f64 = compute [] sum[i in 0..%0] (%1[i])\n"
      "%3:f64 = compute [] (absent_mul(%2, inf))\n%4:f64 = compute [] (absent_mul(%2, 2.0))\noutput \"a\" %3\noutput "
      "\"b\" %4\n",
      {{"x", floats({3}, {0.1, 0.2, -0.3})}});
  CHECK(std::isinf(bound_of(r.outputs.at("a"), 0)));
  CHECK(bound_of(r.outputs.at("b"), 0) < 1e-14);
}

TEST_CASE("eval: random numbers depend on seed, site and iterations only") {
  const std::string nodes =
      "%0:i64 = compute [] (2)\n%1:f64[2, 3] = uniform site 5 []\n%2:f64[6] = uniform site 5 []\n"
      "%3:f64[6] = uniform site 5 [%0]\n%4:f64[1000] = normal site 6 []\n"
      "%5:f64 = compute [] sum[i in 0..1000] (mul(%4[i], %4[i]))\n"
      "output \"a\" %1\noutput \"b\" %2\noutput \"c\" %3\noutput \"d\" %5\n";
  const EvalResult r = run(nodes);
  CHECK(r.outputs.at("a").floats == r.outputs.at("b").floats);
  CHECK(r.outputs.at("a").floats != r.outputs.at("c").floats);
  CHECK(r.outputs.at("d").floats[0] > 800);
  CHECK(r.outputs.at("d").floats[0] < 1200);
  EvalOptions other;
  other.seed = 1;
  CHECK(run(nodes, {}, other).outputs.at("a").floats != r.outputs.at("a").floats);
}
