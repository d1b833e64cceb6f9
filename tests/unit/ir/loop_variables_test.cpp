#include "ir/analysis/loop_variables.h"

#include <doctest/doctest.h>

#include "ir/analysis/serial_loop.h"
#include "ir/text/print.h"
#include "ir/verify/verify.h"

using namespace tdsl;
using namespace tdsl::ir;

namespace {

constexpr const char* kHead = R"(program "t"
%0:i64 "n" = dimension "n"
%1:f64[%0] "x" = input "x"
%2:i64 = compute [] (0)
)";

Program program_of(const std::string& rest) {
  Program p = parse(kHead + rest);
  REQUIRE(verify(p).empty());
  return p;
}

const Node& loop_of(const Program& p) {
  for (const Node& n : p.body.nodes) {
    if (std::holds_alternative<For>(n.op) || std::holds_alternative<While>(n.op)) return n;
  }
  FAIL("no loop");
  return p.body.nodes.front();
}

ValueId v(int id) { return {id}; }

}  // namespace

TEST_CASE("loop variables: an update, its base and the loop's result are one variable") {
  const Program p = program_of(R"(%3:f64[%0] = for %2..%0 by 1 with (%1) do (%4:i64, %5:f64[%0]) {
  %6:f64[%0] = compute [] (mul(2.0, %5[%4])) left [%4] base %5
  yield %6
}
)");
  const LoopVariables variables(p, loop_of(p));
  CHECK(variables.variable(v(5)) == variables.variable(v(6)));
  CHECK(variables.variable(v(5)) == variables.variable(v(3)));
  CHECK(!variables.tensor_clash());
  CHECK(!variables.is_inside(v(1)));
  CHECK(!variables.is_shared(v(4)));
  CHECK(!why_not_serial(p, loop_of(p)));
}

TEST_CASE("loop variables: an older tensor that is read after its update would have to be copied") {
  const Program p = program_of(R"(%3:f64[%0] = for %2..%0 by 1 with (%1) do (%4:i64, %5:f64[%0]) {
  %6:f64[%0] = compute [] (1.0) left [%4] base %5
  %7:f64[%0] = compute [] (%5[0]) left [0] base %6
  yield %7
}
)");
  const LoopVariables variables(p, loop_of(p));
  REQUIRE(variables.tensor_clash());
  CHECK(variables.tensor_clash()->older == v(5));
  CHECK(why_not_serial(p, loop_of(p)));
}

TEST_CASE("loop variables: a tensor computed from other elements of another is not written over it") {
  const Program p =
      program_of(R"(%3:f64[%0], %4:f64[%0] = for %2..%0 by 1 with (%1, %1) do (%5:i64, %6:f64[%0], %7:f64[%0]) {
  %8:f64[%0] = compute [i in 0..%0] (mul(2.0, %6[i]))
  %9:f64[%0] = compute [i in 0..%0] (%7[sub(sub(%0, i), 1)])
  yield %8, %9
}
)");
  const LoopVariables variables(p, loop_of(p));
  CHECK(variables.variable(v(8)) == variables.variable(v(6)));
  CHECK(variables.variable(v(9)) != variables.variable(v(7)));
  CHECK(why_not_serial(p, loop_of(p)));
  CHECK(!why_not_serial(p, loop_of(p), SerialWork::kTensors));
}

TEST_CASE("loop variables: an update that reads other elements writes its base when all values are there") {
  const Program p = program_of(R"(%3:f64[%0] = for %2..%0 by 1 with (%1) do (%4:i64, %5:f64[%0]) {
  %6:f64[%0] = compute [i in 1..%0] (%5[sub(i, 1)]) left [i] base %5
  %7:f64[%0] = compute [i in 1..%0] (mul(2.0, %6[i])) left [i] base %6
  yield %7
}
)");
  const LoopVariables variables(p, loop_of(p));
  CHECK(variables.variable(v(6)) == variables.variable(v(5)));
  CHECK(variables.variable(v(7)) == variables.variable(v(6)));
}

TEST_CASE("loop variables: the old tensor is kept if the guard of an update depends on written elements") {
  const Program p = program_of(R"(%3:f64[%0] = for %2..%0 by 1 with (%1) do (%4:i64, %5:f64[%0]) {
  %6:f64[%0] = compute [i in 0..%0] (%1[i]) where lt(%5[sub(sub(%0, 1), i)], 0.0) left [i] base %5
  yield %6
}
)");
  const LoopVariables variables(p, loop_of(p));
  CHECK(variables.variable(v(6)) != variables.variable(v(5)));
}

TEST_CASE("loop variables: a tensor that is filled first does not overwrite its operand") {
  const Program p = program_of(R"(%3:f64[%0] = for %2..%0 by 1 with (%1) do (%4:i64, %5:f64[%0]) {
  %6:f64[%0] = compute [i in 0..%0] (mul(2.0, %5[i])) where lt(i, 2)
  yield %6
}
)");
  const LoopVariables variables(p, loop_of(p));
  CHECK(variables.variable(v(6)) != variables.variable(v(5)));
}

TEST_CASE("loop variables: scalars that exchange their values stay apart, counters stay themselves") {
  const Program p =
      program_of(R"(%3:i64, %4:i64, %5:i64 = for %2..%0 by 1 with (%2, %0, %2) do (%6:i64, %7:i64, %8:i64, %9:i64) {
  %10:i64 = compute [] (add(%7, %8))
  yield %8, %10, %6
}
)");
  const LoopVariables variables(p, loop_of(p));
  CHECK(variables.variable(v(7)) != variables.variable(v(8)));
  // 8 is yielded after 10 has been computed.
  CHECK(variables.variable(v(10)) != variables.variable(v(8)));
  CHECK(variables.variable(v(9)) != variables.variable(v(6)));
  CHECK(!variables.is_shared(v(6)));
}

TEST_CASE("loop variables: both branches of a condition write the result's variable") {
  const Program p = program_of(R"(%3:f64 = compute [] (0.0)
%4:f64 = for %2..%0 by 1 with (%3) do (%5:i64, %6:f64) {
  %7:bool = compute [] (lt(%1[%5], %6))
  %8:f64 = if %7 then () {
    %9:f64 = compute [] (add(%6, 1.0))
    yield %9
  } else () {
    yield %6
  }
  yield %8
}
)");
  const LoopVariables variables(p, loop_of(p));
  for (const int id : {4, 8, 9}) CHECK(variables.variable(v(id)) == variables.variable(v(6)));
}

TEST_CASE("verify: a loop is marked serial only if it is") {
  const std::string text =
      std::string(kHead) + R"(%3:f64[%0] = for %2..%0 by 1 serial with (%1) do (%4:i64, %5:f64[%0]) {
  print %4
  yield %5
}
)";
  const std::vector<std::string> problems = verify(parse(text));
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].find("it prints") != std::string::npos);
}

TEST_CASE("loop variables: temporary is what neither loops carry nor branches give") {
  const Program p = program_of(R"(%3:f64[%0] = for %2..%0 by 1 with (%1) do (%4:i64, %5:f64[%0]) {
  %6:f64[%4] = compute [i in 0..%4] (%5[i])
  %7:f64[%0] = compute [i in 0..%4] (%6[sub(sub(%4, 1), i)]) left [i] base %5
  yield %7
}
)");
  const LoopVariables variables(p, loop_of(p));
  CHECK(variables.is_temporary(v(6)));
  CHECK(!variables.is_temporary(v(7)));
  CHECK(!why_not_serial(p, loop_of(p), SerialWork::kTensors));
}
