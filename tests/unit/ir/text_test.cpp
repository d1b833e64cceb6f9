#include <doctest/doctest.h>

#include <stdexcept>
#include <string>

#include "ir/text/print.h"
#include "ir/verify/verify.h"

using namespace tdsl::ir;

namespace {

// One of each construct.
const std::string kProgram =
    R"(program "all"
file "all.tdsl"
%0:i64 "n" = dimension "n"
%1:f64[%0, %0] "X" = input "X" @0:1:1-1:9
%2:f64 "lambda" @- = param "lambda" = 0.001 @0:2:1-2:9
%3:f64[%0] "y" = compute [i in 0..%0] sum[j in 0..%0] (mul(%1[i, j], %2)) where lt(j, i) fill 0.0
%4:i64 = compute [] (3)
%23:i64 = param "twice" = %4 text "2 * n"
%40:i64 "?" = found %4 estimate 2*%0 + 1 ""
%41:i64 "m" = found %40 estimate %0 "m" @0:3:1-3:9
%42:f64[%41] = compute constant [k in 0..%41] (%3[k])
%22:f64[%0] = compute [i in 0..%0] (add(%3[i], apply procedure "f" 2 ["x":f64, "n":i64, "y":f64, "":i64] { $2 = )"
    R"($0:f64; for $3 in 0..$1:i64 by -2 { $2 = mul($2:f64, 0.5); } repeat { $3 = 1; } while lt($2:f64, 1.0) { )"
    R"($2 = add($2:f64, 1.0); } if gt($2:f64, 2.0) { $2 = 0.0; } else { } require lt(0.0, $2:f64) "say )"
    R"(\"hi\""; } return $2:f64 (%3[i], %0)))
%5:f32[2*%0 + 1, sparse 3] = uniform site 7 [%4]
%6:f64[%0] = compute [i in 0..%0] (%3[i]) left [mod(add(i, 1), 5)] base %3 combine user("lse", -inf, )"
    R"(max($0:f64, $1:f64))
%7:f64, %8:i64 = compute [] argmin[k in 0..%0] (%3[k], 2)
%9:f64[%0] "w", %10:i64 = for %4..%8 by -2 with (%6, %4) @0:5:1-9:2 do (%11:i64 "t", %12:f64[%0], %13:i64) {
  %14:bool = compute [] (gt(%11, 2))
  %15:f64[%0] = if %14 then () {
    yield %12
  } else () {
    yield %6
  }
  yield %15, %13
}
%16:i64 = while with (%4) do (%17:i64) {
  %18:bool = compute [] (lt(%17, 10))
  yield %18
} do (%19:i64, %20:i64) {
  %21:i64 = compute [] (add(%20, select(eq(%19, 2), 1, i64(cast_free))))
  yield %21
}
%24:f64[%0] "c" = chain [%0, %0, %0, 1] (%1, %1', %9)
%29:f64[%0] "e" = compute in any order [i in 0..%0] sum[j in 0..%0, k in 0..%0] (mul(mul(%1[i, j], %1[j, k]), %9[k]))
%25:f64[%0] "d" = choose @0:8:1-8:4 either "first" () {
  yield %24
} or "say \"or\"" () {
  %26:f64[%0] = compute [i in 0..%0] (%24[i])
  yield %26
}
print "say \"hi\"", %2
assert %14 "positive"
check 2*%0 + 1 == (%0 + 1)/2 "left and right"
check 0 <= %0 - 1 if %14 "{right} is negative"
output "w" %9 @0:9:1-9:4
%30:f64[0, %0] = compute [i in 0..0, j in 0..%0] (0.0)
output "r" %30 begins
output "r" %9 record %10 @0:9:1-9:4
)";

std::string program() {
  std::string text = kProgram;
  text.replace(text.find("i64(cast_free)"), 14, "i64(%14)");
  return text;
}

}  // namespace

TEST_CASE("text form: parsed programs print unchanged") {
  const std::string text = program();
  const Program p = parse(text);
  CHECK(print(p) == text);
  CHECK(print(parse(print(p))) == text);
}

TEST_CASE("text form: literals of every type") {
  const std::string text =
      "program \"\"\n"
      "%0:f32 = compute [] (0.1:f32)\n"
      "%1:i32 = compute [] (-7:i32)\n"
      "%2:f64 = compute [] (1e-300)\n"
      "%3:f64 = compute [] (-inf)\n"
      "%4:bool = compute [] (true)\n"
      "%5:i64 = compute [] (-9223372036854775808)\n"
      "%6:f64 = compute [] (nan)\n"
      "%7:bool[%1%2, %1%%5, 4*(%5/%1)] = compute [] (true) left [0, 0, 0]\n";
  CHECK(print(parse(text)) == text);
}

TEST_CASE("text form: index variables of one name are told apart by number") {
  const std::string text = "program \"\"\n%0:i64[2, 2] = compute [i in 0..2, i in 0..2] (add(#0, #1))\n";
  CHECK(print(parse(text)) == text);
}

TEST_CASE("text form: errors have a place") {
  const auto message = [](const std::string& text) {
    try {
      static_cast<void>(parse(text));
    } catch (const std::runtime_error& e) { return std::string(e.what()); }
    return std::string();
  };
  CHECK(message("program \"\"\n%0:f64 = nonsense") == "2:18: no node is called `nonsense`");
  CHECK(message("program \"\"\n%0:f64 = compute [] (add(1, 2.0))").find("not defined on these types") !=
        std::string::npos);
  CHECK(message("program \"\"\n%0:f64 = compute [] (i)").find("no index variable is called `i`") != std::string::npos);
}
