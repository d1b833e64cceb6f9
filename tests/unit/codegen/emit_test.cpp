#include "codegen/print/emit.h"

#include <doctest/doctest.h>

#include <cstdio>
#include <fstream>

#include "codegen/plugin/clang.h"
#include "codegen/print/equal_functions.h"
#include "codegen/print/names.h"
#include "tests/unit/codegen/compiled.h"
#include "tests/unit/codegen/programs.h"
#include "tools/build/process.h"

using namespace std::string_literals;
using namespace tdsl::codegen;
using namespace tdsl::codegen::testing;

namespace {

std::string emitted(const std::string& body) { return emit(lowered(body), {}); }

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("codegen emit: a procedure is one function with locals where they belong, however often it is applied") {
  const std::string halvings =
      "apply procedure \"halvings\" 1 [\"x\":f64, \"s\":f64, \"c\":i64, \"i\":i64, \"half\":f64, \"unused\":f64] { $1 "
      "= $0:f64; $2 = 0; "
      "repeat { } while gt($1:f64, 1.0) { $4 = mul($1:f64, 0.5); $1 = $4:f64; $2 = add($2:i64, 1); } "
      "for $3 in 3..0 by -1 { if gt($1:f64, 0.5) { $5 = 1.0; $1 = 0.25; } else { } } "
      "require lt($1:f64, 2.0) \"small\"; } return div(7, $2:i64)";
  const std::string text = emitted("%5:i64[%0] \"halvings\" = compute [i in 0..%0] (" + halvings + " (%4[i]))\n" +
                                   "%6:i64[%0] \"y\" = compute [i in 0..%0] (" + halvings + " (mul(%4[i], 2.0)))\n" +
                                   "output \"halvings\" %5\noutput \"y\" %6\n");
  CHECK(contains(text, R"(namespace fn {

Index halvings(double x) {
  double s = x;
  Index c = 0;
  while (s > 1.0) {
    const double half = s * 0.5;
    s = half;
    c += 1;
  }
  for (Index i = 3; i > 0; --i)
    if (s > 0.5) {
      [[maybe_unused]] const double unused = 1.0;
      s = 0.25;
    }
  if (!(s < 2.0)) rt::stop(place(0), "small");
  return scalar::divide(Index{7}, c, rt::StopAt{place, 0});
}

}  // namespace fn)"));
  CHECK(contains(text, "halvings(i) = fn::halvings(x(i));"));
  CHECK(contains(text, "y(i) = fn::halvings(x(i) * 2.0);"));
  CHECK(compiler_says(text) == "");
}

TEST_CASE("codegen emit: (min, +) is blocked in registers; each side is computed ahead") {
  const std::string text = emitted(
      "%5:f64[%0, %0] \"D\" = compute [i in 0..%0, j in 0..%0] min[k in 0..%1] (add(exp(%2[i, k]), %3[k, j]))\noutput "
      "\"D\" %5\n");
  CHECK(contains(text, R"(  const auto x_values = [&](Index i, Index k) { return math::exp(A(i, k)); };
  const auto y_values = [&](Index j, Index k) { return B(k, j); };
  rt::blocked_reduction<double>(
      t.labels[0], t.labels[1], std::array{t.labels[2]}, x_values, y_values, rt::joins::min_of_sums<double>, D);)"));
  CHECK(contains(text, "#include \"runtime/kernels/blocked/joins.h\""));
}

TEST_CASE("codegen emit: functions of blocked reductions that the library has are named, others are written out") {
  const auto emitted_sum = [](const std::string& way, const std::string& body) {
    return emitted("%5:f64[%0, %0] \"D\" = compute [i in 0..%0, j in 0..%0] " + way + "[k in 0..%1] (" + body +
                   ")\noutput \"D\" %5\n");
  };
  CHECK(contains(emitted_sum("sum", "abs(sub(%3[k, j], %2[i, k]))"), "rt::joins::sum_of_distances<double>"));
  CHECK(contains(emitted_sum("min", "add(%3[k, j], %2[i, k])"), "rt::joins::min_of_sums<double>"));
  CHECK(contains(emitted_sum("max", "min(%2[i, k], %3[k, j])"), "rt::joins::max_of_minima<double>"));
  const std::string own = emitted_sum("min", "mul(%2[i, k], %3[k, j])");
  CHECK_FALSE(contains(own, "rt::joins"));
  CHECK(contains(own, R"(
  const auto combine = [=](double total, double x, double y) { return scalar::least(total, x * y); };
  const auto combine_numbers = [=](double total, double x, double y) { return scalar::min_number(total, x * y); };)"));
  CHECK(contains(own, "rt::simd_level(), combine_numbers);"));
}

TEST_CASE(
    "codegen emit: conditions on row and column of a blocked reduction choose blocks, others the points of a sum") {
  const auto text = [](const std::string& guard) {
    return emitted(
        "%5:f64[%0, %0] \"D\" = compute [i in 0..%0, j in 0..%0] sum[k in 0..%1] (mul(%2[i, k], %3[k, j])) where " +
        guard + "\noutput \"D\" %5\n");
  };
  const std::string lower = text("lt(j, add(i, 1))"), between = text("and(le(j, i), lt(3, j))");
  CHECK(contains(lower, "rt::joins::sum_of_products<double>"));
  CHECK(contains(lower, "rt::blocked::Where(D"));
  CHECK(contains(lower, "[&](Index i, Index j) { return j < i + 1; }"));
  CHECK(contains(between, "rt::blocked::Where("));
  CHECK(contains(between, "[&](Index i, Index j) { return j <= i; }"));
  CHECK(contains(between, "[&](Index, Index j) { return 3 < j; }"));
  CHECK(compiler_says(between) == "");
  for (const char* guard : {"eq(i, j)", "lt(mul(i, i), j)", "lt(k, i)", "lt(%4[i], %4[j])"})
    CHECK_FALSE(contains(text(guard), "rt::blocked::Where"));
}

TEST_CASE("codegen emit: what may be nan without nan or inf in the operands keeps the function that looks for it") {
  const auto has_two = [](const std::string& body) {
    const std::string text = emitted("%5:f64[%0, %0] \"D\" = compute [i in 0..%0, j in 0..%0] max[k in 0..%1] (" +
                                     body + ")\noutput \"D\" %5\n");
    return contains(text, "combine_numbers") || contains(text, "rt::joins::max_of_");
  };
  CHECK(has_two("abs(sub(%2[i, k], %3[k, j]))"));
  CHECK(has_two("mul(%2[i, k], %3[k, j])"));
  CHECK_FALSE(has_two("mul(add(%2[i, k], %3[k, j]), %3[k, j])"));                 // inf * 0
  CHECK_FALSE(has_two("sub(add(%2[i, k], %3[k, j]), mul(%2[i, k], %3[k, j]))"));  // inf - inf
}

TEST_CASE("codegen emit: sums of squares and products add without a rounding in between") {
  const auto text = [](const std::string& body) {
    return emitted("%5:f64[%0, %0] \"D\" = compute [i in 0..%0, j in 0..%0] sum[k in 0..%1] (" + body +
                   ")\noutput \"D\" %5\n");
  };
  CHECK(contains(text("pow(sub(%2[i, k], %3[k, j]), 2:i64)"), "rt::joins::sum_of_squares<double>"));
  CHECK(contains(text("mul(max(%2[i, k], %3[k, j]), %3[k, j])"), "return std::fma(scalar::max(x, y), y, total);"));
}

TEST_CASE("codegen emit: a library's function of row and column runs along rows of the result") {
  const std::string text = emitted(
      "%5:f64[%0, %0] \"D\" = compute [i in 0..%0, j in 0..%0] min[k in 0..%1] (exp(add(%2[i, k], %3[k, j])))\noutput "
      "\"D\" %5\n");
  CHECK_FALSE(contains(text, "blocked_reduction"));
  CHECK(contains(text, "D(i, j) = scalar::least(D(i, j), math::exp(A(i, k) + B(k, j)));"));
}

TEST_CASE("codegen emit: a row sum runs along the row into a scalar") {
  const std::string text =
      emitted("%5:f64[%0] \"r\" = compute [i in 0..%0] sum[k in 0..%1] (%2[i, k])\noutput \"r\" %5\n");
  CHECK(contains(text, "constexpr auto kernel_r = [](In<double, 2> A, Index i, Index k) { return A(i, k); };"));
  CHECK(contains(text, "rt::sum_simd<double, 1, kAvx2>(kernel_r)"));
  const std::string without_operands =
      emitted("%5:f64 \"s\" = compute [] sum[i in 0..%0] (sqrt(f64(i)))\noutput \"s\" %5\n");
  CHECK(contains(without_operands, "constexpr auto kernel_s = [](Index i) {"));
  CHECK(compiler_says(without_operands) == "");
}

TEST_CASE("codegen emit: a contraction has no kernel of its own") {
  const std::string text = emitted(
      "%5:f64[%0, %0] \"C\" = compute [i in 0..%0, j in 0..%0] sum[k in 0..%1] (mul(%2[i, k], %3[k, j]))\noutput \"C\" "
      "%5\n");
  CHECK(contains(text, "session.contraction<double>("));
  CHECK_FALSE(contains(text, "kernel_C"));
}

TEST_CASE("codegen emit: names of the source become C++ names") {
  NameTable names;
  CHECK(names.claim("C") == "C");
  CHECK(names.claim("C") == "C_2");
  CHECK(names.claim("double") == "double_2");
  CHECK(names.claim("X' @ X") == "X_X");
  CHECK(names.claim("2x") == "v2x");
  CHECK(names.claim("") == "v");
  CHECK(string_literal("a\"b\\\n") == R"("a\"b\\\n")");
}

TEST_CASE("codegen emit: text of users stays inside its literal or its line of comment") {
  CHECK(string_literal("a?\?/\" + b\r\x7F\0"s) == R"("a?\?/\" + b\015\177\000")");
  CHECK(line_comment("C:\\tmp") == R"(// C:\tmp)");
  for (const std::string ending :
       {" ", "\t", "\v", "\f", "\r", "\\", "\\\t", "\\ \v\f", "\\\\", "?\?/", "?\?/ ", "\\?\?/\\\t"}) {
    const std::string comment = line_comment("text" + ending);
    CHECK_MESSAGE((comment == "// text" ||
                   comment == "// text?"
                              "?" ||
                   comment == R"(// text\?)"
                              "?"),
                  comment);
  }
  CHECK(line_comment("a\nb\rc\0d"s) == "// a b c d");

  OperationProgram program = lowered("output \"y\" %4 @0:3:1-3:2\n");
  const std::string name = "x\n#error\r#error\n.tdsl";
  program.name = name;
  program.files = {name};
  EmitOptions options;
  options.line_directives = true;
  options.source_line = [](std::uint32_t, std::uint32_t) { return std::string("output y; // \\\t\r#error\f\\\f"); };
  options.output_name = name;
  CHECK(compiler_says(emit(program, options)) == "");
}

TEST_CASE("codegen emit: emitted code compiles without a warning") {
  CHECK(compiler_says(emitted(
            "%5:f64[%0, %0] \"C\" = compute [i in 0..%0, j in 0..%0] sum[k in 0..%1] (mul(%2[i, k], %3[k, j]))\n"
            "%6:f64[%0, %0] \"D\" = compute [i in 0..%0, j in 0..%0] min[k in 0..%1] (add(%2[i, k], %3[k, j])) where "
            "le(k, i)\n"
            "%7:f64[%0] \"g\" = compute [i in 1..(%0 - 1)] (add(%4[sub(i, 1)], %4[add(i, 1)])) left [i] base %4\n"
            "%8:i64[%0] \"a\" = compute [i in 0..%0] argmax[j in 0..%0] (%6[i, j])\n"
            "%9:f64[%0] \"h\" = compute [i in 0..%0] (%7[%8[i]]) where ge(i, 2)\n"
            "%10:i32 \"c\" = compute [] sum[i in 0..%0] (i32(%9[i]))\n"
            "%11:bool \"any\" = compute [] any[i in 0..%0] (or(lt(%9[i], 0.5), and(eq(%4[i], 1.0), gt(i, 3))))\n"
            "%12:f32[%0] \"f\" = compute [i in 0..%0] (pow(f32(%4[i]), 2))\n"
            "%13:i64[%0] \"q\" = compute [i in 0..%0] (add(div(%8[i], add(i, 1)), mod(i, 3)))\n"
            "assert %11 \"all are large\"\n"
            "output \"C\" %5\noutput \"D\" %6\noutput \"h\" %9\noutput \"c\" %10\noutput \"f\" %12\noutput \"q\" "
            "%13\nprint \"n\", %0, %10\n")) == "");
}

TEST_CASE("codegen emit: loops and branches compile without a warning") {
  CHECK(compiler_says(
            emitted("%5:i64 \"zero\" = compute [] (0)\n%6:f64 \"s\" = compute [] sum[i in 0..%0] (%4[i])\n"
                    "%7:f64[%0] \"y\", %8:f64 \"r\" = for %5..%0 by 1 with (%4, %6) do (%9:i64 \"i\", %10:f64[%0] "
                    "\"y\", %11:f64 \"r\") {\n"
                    "  %12:f64[%0] \"y\" = compute [] (%11) left [%9] base %10\n"
                    "  %13:bool = compute [] (gt(%11, 1.0))\n"
                    "  %14:f64 \"r\" = if %13 then () {\n    %15:f64 = compute [] (mul(%11, 0.5))\n    yield %15\n"
                    "  } else () {\n    %16:f64 = compute [] (1.0)\n    yield %16\n  }\n"
                    "  yield %12, %14\n}\noutput \"y\" %7\noutput \"r\" %8\n")) == "");
}

TEST_CASE("codegen emit: statements too long for clang-format are wrapped, and nothing else is changed") {
  std::string sum = "stop(\"two  blanks \\\" stay\")";
  for (int k = 0; k < 12; ++k) sum = "(" + sum + " + x) * (" + sum + " + x)";
  const std::string text = tdsl::codegen::formatted("void f() {\n  y = " + sum + ";\n  if(a){b;}\n}\n");
  const auto squeezed = [](const std::string& s) {
    std::string result;
    for (const char c : s) {
      if (c != ' ' && c != '\n') result += c;
    }
    return result;
  };
  CHECK(squeezed(text) == squeezed("void f() {y=" + sum + ";if(a){b;}}"));
  CHECK(text.ends_with("\n  if (a) {\n    b;\n  }\n}\n"));
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    REQUIRE(end - at < 160);
    at = end + 1;
  }
  CHECK(text.find("\"two  blanks \\\" stay\"") != std::string::npos);
  // A source line shown in a comment remains a single comment.
  const std::string comment = "// y = " + sum + sum + ";";
  CHECK(contains(tdsl::codegen::formatted(comment + "\nint y;\n"), comment + "\nint y;"));
}

TEST_CASE("codegen emit: equal kernels are one function, whatever their operands are called") {
  const std::string text = emitted(
      "%5:f64[%0] \"y\" = compute [i in 0..%0] (mul(%4[i], 2.0)) @0:4:1-4:2\n"
      "%6:f64[%0] \"z\" = compute [j in 0..%0] (mul(%5[j], 2.0)) @0:5:1-5:2\n"
      "%7:f64[%0] \"w\" = compute [j in 0..%0] (mul(%5[j], 3.0)) @0:6:1-6:2\n"
      "output \"z\" %6\noutput \"w\" %7\n");
  CHECK(contains(text, "constexpr auto y_4 = [](Out<double, 1> y, In<double, 1> x, Index i) { y(i) = x(i) * 2.0; };"));
  CHECK_FALSE(contains(text, "constexpr auto z_5"));
  CHECK(contains(text, "constexpr auto w_6"));
  CHECK(compiler_says(text) == "");

  EqualFunctions functions;
  CHECK(!functions.find_or_add("void f(const TaskArgs& t) { rt::f(a, b, \"a\"); }", "f"));
  CHECK(functions.find_or_add("void g(const TaskArgs& t) { rt::f(b, a, \"a\"); }", "g") == "f");
  CHECK(!functions.find_or_add("void g(const TaskArgs& t) { rt::f(a, a, \"a\"); }", "g"));
  CHECK(!functions.find_or_add("void h(const TaskArgs& t) { rt::f(a, b, \"b\"); }", "h"));
  CHECK(!functions.find_or_add("void h(const TaskArgs& t) { rt::g(a, b, \"a\"); }", "h"));
}

TEST_CASE("codegen emit: carried values are assigned, counted and named as in the source") {
  const std::string text = emitted(
      "%5:i64 \"zero\" = compute [] (0)\n%6:i64 \"three\" = compute [] (3)\n"
      "%7:f64[%0] \"y\", %8:i64 \"step\" = for %5..%6 by 1 with (%4, %5) do (%9:i64 \"i\", %10:f64[%0] \"y\", %11:i64 "
      "\"step\") {\n"
      "  %12:f64[%0] \"next\" = compute [i in 0..%0] (pow(sub(%10[i], 1.0), 2))\n"
      "  %13:i64 \"more\" = compute [] (add(1, %11))\n"
      "  yield %12, %13\n}\noutput \"y\" %7\noutput \"step\" %8\n");
  CHECK(contains(text, "  y = session.map<double>("));
  CHECK(contains(text, "step += 1;"));
  CHECK(contains(text, "(y(i) - 1.0) * (y(i) - 1.0)"));
  CHECK_FALSE(contains(text, "y_2 = session"));
  CHECK(compiler_says(text) == "");
}

TEST_CASE("codegen emit: a value has its own variable if the old value of its target is still read") {
  const auto loop = [](const std::string& body) {
    const std::string text = emitted(
        "%5:i64 \"zero\" = compute [] (0)\n%6:i64 \"three\" = compute [] (3)\n"
        "%16:f64[%0] \"z\" = compute [i in 0..%0] (mul(%4[i], 2.0))\n"
        "%7:f64[%0] \"y\", %8:f64[%0] \"z\" = for %5..%6 by 1 with (%4, %16) do (%9:i64 \"i\", %10:f64[%0] "
        "\"y\", %11:f64[%0] \"z\") {\n" +
        body + "}\noutput \"y\" %7\noutput \"z\" %8\n");
    CHECK(compiler_says(text) == "");
    return text;
  };
  // Read after the next value is computed.
  const std::string later = loop(
      "  %12:f64[%0] \"moved\" = compute [i in 0..%0] (add(%10[i], 1.0))\n"
      "  %13:f64[%0] \"change\" = compute [i in 0..%0] (sub(%12[i], %10[i]))\n  yield %12, %13\n");
  CHECK(contains(later, "auto moved ="));
  CHECK(contains(later, "y = std::move(moved);"));
  CHECK(contains(later, "z = session.map<double>("));
  // Exchanged.
  const std::string swapped = loop("  yield %11, %10\n");
  CHECK(contains(swapped, "y = std::move("));
  CHECK(contains(swapped, "z = std::move("));
  // Both are copies of one value.
  const std::string twice =
      loop("  %12:f64[%0] \"moved\" = compute [i in 0..%0] (add(%10[i], %11[i]))\n  yield %12, %12\n");
  CHECK(contains(twice, "y = z;"));
  // Kept for the next iteration.
  const std::string kept =
      loop("  %12:f64[%0] \"moved\" = compute [i in 0..%0] (add(%10[i], 1.0))\n  yield %12, %10\n");
  CHECK(contains(kept, "auto moved ="));
}
