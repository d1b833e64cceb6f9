#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "codegen/nest/interior.h"
#include "codegen/nest/text.h"
#include "codegen/nest/verify.h"
#include "tests/unit/nest_runner.h"

// Interiors and edges of loops of tasks.

namespace {

using namespace tdsl;
using tests::nest_lines;

/// The loop head after `simd`, and the condition, for a map over n x m points with a conditional value.
std::pair<std::string, std::string> split_by(const std::string& condition) {
  const std::string text =
      "nest \"k\"\n%0:i64 \"n\" capture size\n%1:i64 \"m\" capture size\n%2:i64 \"a\" capture\n%3:i64 \"few\" capture "
      "size few\n%4:i64 \"most\" capture size most\n%5:f64[%0, %1] \"x\" operand 0\n%6:f64[%0, %1] \"y\" result\n"
      "index \"i\" in 0..%0\nindex \"j\" in 0..%1\nbody {\n  for i over task {\n    for j over task simd {\n      "
      "%6[i, j] = select(" +
      condition + ", %5[i, j], 0.0)\n    }\n  }\n}\n";
  nest::Nest n = nest::parse(text);
  CHECK(nest::print(n) == text);
  nest::split_interiors(n);
  CHECK(nest_lines(nest::verify(n)).empty());
  const std::string result = nest::print(n);
  const auto between = [&](const std::string& begin, const std::string& end) {
    const std::size_t at = result.find(begin) + begin.size();
    return result.substr(at, result.find(end, at) - at);
  };
  return {between("for j over task simd", "{\n"), between("select(", ", %5[i, j], 0.0)")};
}

}  // namespace

TEST_CASE("codegen nest: innermost loops of tasks have interiors, unless sums of captures may overflow") {
  nest::Nest n = nest::parse(R"(task "loop_y"
%0:i64 "n" capture size
%1:i64 "m" capture size
%2:i64 "often" capture
%3:f64[%0, %1] "y" result 0 continued
%4:f64[%0, %1] "x" operand 1
%5:i64 "above" local
%6:i64 "after" local
index "i"
index "j"
index "k"
body {
  for i in 0..%0 {
    for j in 0..%1 {
      let %5 = select(gt(i, 0), sub(i, 1), sub(%0, 1))
      let %6 = select(lt(add(j, 1), %1), add(j, 1), 0)
      %3[i, j] = %4[%5, %6]
    }
  }
  for k in 0..%2 {
    %3[0, 0] = select(lt(add(k, 1), %2), %4[0, 0], 0.0)
  }
}
)");
  nest::split_interiors(n);
  CHECK(nest_lines(nest::verify(n)).empty());
  const std::string text = nest::print(n);
  CHECK_MESSAGE(text.find(R"(
    for j in 0..%1 inside %7 to sub(%1, 1) where gt(i, 0) {
      let %5 = select(or(%7, gt(i, 0)), sub(i, 1), sub(%0, 1))
      let %6 = select(or(%7, lt(add(j, 1), %1)), add(j, 1), 0)
      %3[i, j] = %4[%5, %6]
    }
  }
  for k in 0..%2 {
    %3[0, 0] = select(lt(add(k, 1), %2), %4[0, 0], 0.0)
)") != std::string::npos,
                text);
}

TEST_CASE("codegen nest: sums along lines have interiors, and no sides") {
  nest::Nest n = nest::parse(R"(nest "k"
%0:i64 "n" capture size
%1:i64 "m" capture size
%2:i64 "a" capture
%3:f64[%0, %1] "x" operand 0
%4:f64[%0] "s" result
%5:f64 "total" local
index "i" in 0..%0
index "j" in 0..%1
body {
  for i over task {
    start %5 from %4[i] fresh 0.0
    lanes sum %5 along j over task {
      yield add(select(ge(j, 1), %3[i, sub(j, 1)], 0.0), select(lt(j, %2), %3[i, j], 0.0))
    }
    %4[i] = %5
  }
}
)");
  nest::split_interiors(n);
  CHECK(nest_lines(nest::verify(n)).empty());
  const std::string text = nest::print(n);
  CHECK_MESSAGE(text.find(R"(
    lanes sum %5 along j over task inside %6 from 1 {
      yield add(select(or(%6, ge(j, 1)), %3[i, sub(j, 1)], 0.0), select(lt(j, %2), %3[i, j], 0.0))
)") != std::string::npos,
                text);
}

TEST_CASE("codegen nest: conditions at the ends of ranges are constants inside") {
  const auto check = [](const std::string& condition, const std::string& head, const std::string& becomes) {
    INFO(condition);
    const auto [actual_head, actual] = split_by(condition);
    CHECK(actual_head == (head.empty() ? " " : " " + head + " "));
    CHECK(actual == becomes);
  };
  const auto inside = [&](const std::string& condition, const std::string& head) {
    check(condition, "inside %7 " + head, "or(%7, " + condition + ")");
  };
  const auto outside = [&](const std::string& condition, const std::string& head) {
    check(condition, "inside %7 " + head, "and(not(%7), " + condition + ")");
  };
  // The six comparisons with the lower bound, with the index on either side.
  inside("ge(j, 1)", "from 1");
  inside("gt(j, 1)", "from 2");
  inside("le(1, j)", "from 1");
  inside("lt(1, j)", "from 2");
  inside("ne(j, 0)", "from 1");
  outside("lt(j, 2)", "from 2");
  outside("le(j, 2)", "from 3");
  outside("gt(2, j)", "from 2");
  outside("ge(2, j)", "from 3");
  outside("eq(0, j)", "from 1");
  // And with the upper bound.
  inside("lt(j, sub(%1, 1))", "to sub(%1, 1)");
  inside("le(j, sub(%1, 2))", "to sub(%1, 1)");
  inside("lt(add(j, 1), %1)", "to sub(%1, 1)");
  inside("gt(sub(%1, j), 1)", "to sub(%1, 1)");
  inside("ge(%1, add(j, 2))", "to sub(%1, 1)");
  inside("ne(add(j, 1), %1)", "to sub(%1, 1)");
  outside("ge(j, sub(%1, 1))", "to sub(%1, 1)");
  outside("gt(j, sub(%1, 2))", "to sub(%1, 1)");
  outside("le(%1, add(j, 1))", "to sub(%1, 1)");
  outside("lt(%1, add(j, 2))", "to sub(%1, 1)");
  outside("eq(j, sub(%1, 1))", "to sub(%1, 1)");
  // Combinations of them.
  inside("not(eq(j, 0))", "from 1");
  inside("and(ge(j, 1), lt(j, sub(%1, 1)))", "from 1 to sub(%1, 1)");
  outside("or(eq(j, 0), eq(j, sub(%1, 1)))", "from 1 to sub(%1, 1)");
  check("and(ge(j, 1), gt(%5[i, 0], 0.0))", "inside %7 from 1", "and(or(%7, ge(j, 1)), gt(%5[i, 0], 0.0))");
  outside("and(eq(j, 0), gt(%5[i, 0], 0.0))", "from 1");
  // Outer indices.
  inside("ge(i, 1)", "where ge(i, 1)");
  outside("eq(i, sub(%0, 1))", "where not(eq(i, sub(%0, 1)))");
  inside("and(ge(i, 1), ge(j, 1))", "from 1 where ge(i, 1)");
  // Interior positions.
  check("le(j, i)", "side %7 until add(i, 1)", "%7");
  check("gt(j, i)", "side %7 until add(i, 1)", "not(%7)");
  check("or(lt(j, 1000), ge(i, %2))", "side %7 until 1000 side %8 if ge(i, %2)", "or(%7, %8)");
  check("and(lt(j, 1000), ge(j, 1))", "side %7 until 1000 inside %8 from 1", "and(%7, or(%8, ge(j, 1)))");
  check("lt(j, %2)", "side %7 until %2", "%7");
  check("le(j, %2)", "side %7 until add(min(%2, 4611686018427387904), 1)", "%7");
  // Periodic neighbours.
  inside("lt(add(j, %3), %1)", "to sub(%1, %3)");
  outside("lt(add(j, %4), %1)", "from sub(%1, %4)");
  inside("and(lt(add(i, %3), %0), lt(add(j, %3), %1))", "to sub(%1, %3) where lt(add(i, %3), %0)");
  // Arithmetic that might overflow, other factors, data.
  check("lt(add(j, 1), %2)", "", "lt(add(j, 1), %2)");
  check("lt(mul(j, 2), %1)", "", "lt(mul(j, 2), %1)");
  check("eq(j, i)", "", "eq(j, i)");
  check("gt(%5[i, j], 0.0)", "", "gt(%5[i, j], 0.0)");
}
