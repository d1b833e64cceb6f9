#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include "frontend/frontend.h"
#include "ir/eval/eval.h"
#include "ir/text/print.h"
#include "ir/verify/verify.h"
#include "tests/unit/ir/eval_support.h"

using namespace tdsl;
using namespace tdsl::tests;

namespace {

ir::Program compiled(const std::string& text) {
  frontend::SourceManager sources;
  frontend::DiagnosticSink sink;
  const auto file = sources.add("test.tdsl", text);
  frontend::CompileOptions options;
  options.warn_unused = false;
  const auto program = frontend::compile(sources, file, sink, options);
  INFO(frontend::render_all(sink, sources));
  REQUIRE(program.has_value());
  const std::vector<std::string> problems = ir::verify(*program);
  INFO(ir::print(*program));
  for (const std::string& problem : problems) FAIL_CHECK(problem);
  return *program;
}

struct Run {
  ir::EvalResult result;
  std::vector<std::string> lines;

  [[nodiscard]] const std::vector<double>& floats(const std::string& name) const {
    return result.outputs.at(name).floats;
  }
  [[nodiscard]] const std::vector<std::int64_t>& integers(const std::string& name) const {
    return result.outputs.at(name).integers;
  }
};

Run run_text(const std::string& text, const Inputs& inputs = {}) {
  Run r;
  ir::EvalOptions options;
  options.input = [&](const std::string& name, ir::Scalar) { return inputs.at(name); };
  options.print = [&](const std::string& line) { r.lines.push_back(line); };
  r.result = ir::evaluate(compiled(text), options);
  return r;
}

/// The line of the text form that defines the value called `name`, from `compute` on, without the place.
std::string compute_of(const ir::Program& program, const std::string& name) {
  const std::string text = ir::print(program);
  const auto at = text.rfind("\"" + name + "\" = compute ");
  if (at == std::string::npos) return "";
  const auto begin = text.find("compute", at);
  return text.substr(begin, text.find(" @", begin) - begin);
}

const ir::Array kX = floats({3, 2}, {3, 0, 2, 4, 1, 3});
const ir::Array kY = floats({2, 2}, {1, 2, 3, 4});

using Doubles = std::vector<double>;
using Integers = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("element-wise trees become one Compute, products their own") {
  const ir::Program p =
      compiled("param lambda: f64 = 0.5; input X: f64[n, d]; let G = X' @ X + lambda * eye(d); output G;");
  CHECK(compute_of(p, "X' @ X") == "compute [i in 0..%2, j in 0..%2] sum[k in 0..%1] (mul(%3[k, i], %3[k, j]))");
  CHECK(compute_of(p, "G") == "compute [i in 0..%2, j in 0..%2] (add(%4[i, j], mul(%0, select(eq(i, j), 1.0, 0.0))))");
}

TEST_CASE("the spellings of a product are one Compute") {
  const ir::Program p = compiled(
      "input X: f64[n, m]; input Y: f64[m, k];"
      "let A = X @ Y; let B[i, j] = sum[k](X[i, k] * Y[k, j]); let C = einsum(\"ij,jk->ik\", X, Y);"
      "let D[i, j] = sum[k](Y[k, j] * X[i, k]); let E = einsum(\"jk,ij->ik\", Y, X); let F[i, j] += X[i, k] * Y[k, j] "
      "for k in 0..m;"
      "print(A, B, C, D, E, F);");
  const std::string a = compute_of(p, "A");
  CHECK(a == "compute [i in 0..%0, j in 0..%3] sum[k in 0..%1] (mul(%2[i, k], %4[k, j]))");
  for (const char* name : {"B", "C", "D", "E", "F"}) CHECK(compute_of(p, name) == a);
}

TEST_CASE("an element assignment in a loop is one Compute with base and combine") {
  const ir::Program p = compiled(
      "input X: f64[n, m]; input Y: f64[m, k]; var C = zeros(n, k);"
      "for i in 0..n, j in 0..k { for l in 0..m { C[i, j] += X[i, l] * Y[l, j]; } } output C;");
  const std::string text = ir::print(p);
  INFO(text);
  CHECK(text.find("compute [] (mul(%2[%8, %13], %4[%13, %10])) left [%8, %10] base %14 combine sum") !=
        std::string::npos);
}

TEST_CASE("ridge: gradient and residual by hand") {
  const Run r = run_text(
      "input X: f64[n, d]; input y: f64[n]; let G = X' @ X; let b = X' @ y;"
      "let r[i] = y[i] - sum[j](X[i, j] * b[j]); output G; output b; output r; print(\"sum\", sum(r * r), n);",
      {{"X", kX}, {"y", floats({3}, {1, 2, 3})}});
  CHECK(r.floats("G") == Doubles{14, 11, 11, 25});
  CHECK(r.floats("b") == Doubles{10, 17});
  CHECK(r.floats("r") == Doubles{-29, -86, -58});
  CHECK(r.lines == std::vector<std::string>{"sum 11601.0 3"});
}

TEST_CASE("index notation: guards, ranges, scatter, gather, nested reductions") {
  const Run r = run_text(
      "input X: f64[n, m]; input p: i64[n];"
      "output L[i, j] = X[i, j] where i >= j;"
      "output U[i] = (X[i-1, 0] + X[i+1, 0]) / 2.0 for i in 1..n-1;"
      "output T[i]: f64[n] = sum[j in 0..i](X[j, 0]);"
      "output H[p[i]]: f64[4] += X[i, 0];"
      "output G[i, j] = X[p[i], j];"
      "output R[(i + 1) % n, j] = X[i, j];"
      "output M[i] = max[j](X[i, j] - min[k](X[k, j]));"
      "output a[i] = argmax[j](X[i, j]);"
      "output S[i] = X[i, 0] for i in 0..n by 2;"
      "output Q[i]: f64[n] = mean[j where j < i](X[j, 0]);"
      "output D[i, i] = p[i];",
      {{"X", kX}, {"p", integers({3}, {0, 2, 0})}});
  REQUIRE_FALSE(r.result.error.has_value());
  CHECK(r.floats("L") == Doubles{3, 0, 2, 4, 1, 3});
  CHECK(r.floats("U") == Doubles{0, 2});
  CHECK(r.floats("T") == Doubles{0, 3, 5});
  CHECK(r.floats("H") == Doubles{4, 0, 2, 0});
  CHECK(r.floats("G") == Doubles{3, 0, 1, 3, 3, 0});
  CHECK(r.floats("R") == Doubles{1, 3, 3, 0, 2, 4});
  CHECK(r.floats("M") == Doubles{2, 4, 3});
  CHECK(r.integers("a") == Integers{0, 1, 1});
  CHECK(r.floats("S") == Doubles{3, 0, 1});
  CHECK(r.floats("Q")[2] == 2.5);
  CHECK(r.integers("D") == Integers{0, 0, 0, 0, 2, 0, 0, 0, 0});
}

TEST_CASE("guards protect nested reductions") {
  const Run r = run_text(
      "input X: f64[n, m]; output Z[i]: f64[n] = sum[j](X[i + 1, j]) where i < n - 1; output W[i] = if i > 0 then "
      "sum[j](X[i - 1, j]) else X[i, 0];",
      {{"X", kX}});
  REQUIRE_FALSE(r.result.error.has_value());
  CHECK(r.floats("Z") == Doubles{6, 4, 0});
  CHECK(r.floats("W") == Doubles{3, 3, 6});
}

TEST_CASE("assignments read old values; slices; updates") {
  const Run r = run_text(
      "input X: f64[n, m]; var z = zeros(n); z[:] = X[:, 0]; z[i] = z[i-1] + z[i+1] for i in 1..n-1; z[0] += 5;"
      "var A = X; A[1:, :] = 1.0; A[0, j] /= 2.0; A[-1, 0] min= -4.0; A += 1; output z; output A;",
      {{"X", kX}});
  REQUIRE_FALSE(r.result.error.has_value());
  CHECK(r.floats("z") == Doubles{8, 4, 1});
  CHECK(r.floats("A") == Doubles{2.5, 1, 2, 2, -3, 2});
}

TEST_CASE("while, if and for carry values") {
  const Run r = run_text(
      "var a = 0; var b = 1; var n = 0; while b < 50 { (a, b) = (b, a + b); n += 1; }"
      "var s = 0; for i in 10..0 by -3 { if i % 2 == 0 { s += i; } else { s -= i; } } print(a, b, n, s);");
  CHECK(r.lines == std::vector<std::string>{"34 55 9 6"});
}

TEST_CASE("functions are generic in dimensions, scalar ones apply per element") {
  const Run r = run_text(
      "fn clip(x, lo, hi) { let t = max(x, lo); return if t > hi then hi else t; }"
      "fn rows(X: f64[n, m]) -> f64[n] { return sum[j](X[i, j]); }"
      "fn both(v: f64[n]) -> (f64, f64) { return (min(v), max(v)); }"
      "input X: f64[n, m]; input Y: f64[m, m]; output c = clip(X, 1, 2.5); output r = rows(X); output q = rows(Y);"
      "let (lo, hi) = both(X[:, 1]); print(lo, hi);",
      {{"X", kX}, {"Y", kY}});
  CHECK(r.floats("c") == Doubles{2.5, 1, 2, 2.5, 1, 2.5});
  CHECK(r.floats("r") == Doubles{3, 6, 4});
  CHECK(r.floats("q") == Doubles{3, 7});
  CHECK(r.lines == std::vector<std::string>{"0.0 4.0"});
}

TEST_CASE("user monoids reduce and update") {
  const Run r = run_text(
      "monoid larger(a: f64, b: f64) { identity = -inf; combine = if a > b then a else b; }"
      "input X: f64[n, m]; output v[i] = larger[j](X[i, j]); var w = zeros(2); w[j] larger= X[i, j] for i in 0..n; "
      "output w;",
      {{"X", kX}});
  CHECK(r.floats("v") == Doubles{3, 4, 3});
  CHECK(r.floats("w") == Doubles{3, 4});
}

TEST_CASE("reductions over axes and structural functions") {
  const Run r = run_text(
      "input X: f64[n, m];"
      "output a = sum(X, axis=0); output b = mean(X, axis=(0, 1)); output c = max(X, axis=1, keepdims=true);"
      "output d = count(X > 1.0); output e = argmin(X); output f = norm(X[:, 1]); output g = trace(X' @ X);"
      "output h = flip(X, axis=0); output i = roll(X[:, 0], 1); output j = concat(X, X, axis=1); output k = "
      "reshape(X, m, n);"
      "output l = tril(X); output o = outer(X[:, 0], iota(2)); output p[i] = pad(X, 9.0)[i - 1, 0] for i in 0..n+2;"
      "output q = X[::2, -1]; output s = size(X, 1); output t = diag(X[:, 0]); output u = where(X > 2.0, X, 0);",
      {{"X", kX}});
  REQUIRE_FALSE(r.result.error.has_value());
  CHECK(r.floats("a") == Doubles{6, 7});
  CHECK(r.floats("b")[0] == doctest::Approx(13.0 / 6.0));
  CHECK(r.result.outputs.at("c").shape == Integers{3, 1});
  CHECK(r.integers("d") == Integers{4});
  CHECK(r.integers("e") == Integers{1});
  CHECK(r.floats("f") == Doubles{5});
  CHECK(r.floats("g") == Doubles{39});
  CHECK(r.floats("h") == Doubles{1, 3, 2, 4, 3, 0});
  CHECK(r.floats("i") == Doubles{1, 3, 2});
  CHECK(r.floats("j") == Doubles{3, 0, 3, 0, 2, 4, 2, 4, 1, 3, 1, 3});
  CHECK(r.floats("k") == Doubles{3, 0, 2, 4, 1, 3});
  CHECK(r.floats("l") == Doubles{3, 0, 2, 4, 1, 3});
  CHECK(r.floats("o") == Doubles{0, 3, 0, 2, 0, 1});
  CHECK(r.floats("p") == Doubles{9, 3, 2, 1, 9});
  CHECK(r.floats("q") == Doubles{0, 3});
  CHECK(r.integers("s") == Integers{2});
  CHECK(r.floats("t") == Doubles{3, 0, 0, 0, 2, 0, 0, 0, 1});
  CHECK(r.floats("u") == Doubles{3, 0, 0, 4, 0, 3});
}

TEST_CASE("types: literals take the type they meet, integers promote") {
  const Run r = run_text(
      "var x: f32[2] = zeros(2); x += 1; output a = 2.5 * x; output b = 7 / 2; output c = sum(iota(4) > 1);"
      "output d: f64 = iota(3)[2]; output e = f32(1.5) + i32(1); output f = 2 ** 10; output g = -2.0 ** 2; output "
      "h = i32(3) * 2;");
  const auto type = [&](const char* name) { return r.result.outputs.at(name).type; };
  CHECK(type("a") == ir::Scalar::kF32);
  CHECK(r.floats("a") == Doubles{2.5, 2.5});
  CHECK(r.integers("b") == Integers{3});
  CHECK(r.integers("c") == Integers{2});
  CHECK(r.floats("d") == Doubles{2});
  CHECK(type("e") == ir::Scalar::kF64);
  CHECK(r.integers("f") == Integers{1024});
  CHECK(r.floats("g") == Doubles{-4});
  CHECK(type("h") == ir::Scalar::kI32);
}

TEST_CASE("random sites differ by call, call chain and iteration") {
  const Run r = run_text(
      "fn draw(n: i64) -> f64 { return sum(random(3)) + f64(n) * 0.0; }"
      "output a = random(2); output b = random(2); output c = draw(1); output d = draw(1);"
      "var v = zeros(2); for t in 0..2 { v[t] = random(); } output v;");
  CHECK(r.floats("a") != r.floats("b"));
  CHECK(r.floats("c") != r.floats("d"));
  CHECK(r.floats("v")[0] != r.floats("v")[1]);
}

TEST_CASE("sizes that cannot be compared are checked at run time") {
  const std::string text = "param k: i64 = 3; input x: f64[n]; output y = x + zeros(k);";
  CHECK_FALSE(run_text(text, {{"x", floats({3}, {1, 2, 3})}}).result.error.has_value());
  CHECK(run_text(text, {{"x", floats({2}, {1, 2})}}).result.error.has_value());
}

TEST_CASE("the evaluator shows outputs where they stand") {
  std::string shown;
  ir::EvalOptions options;
  options.print = [&](const std::string& line) { shown += line + ";"; };
  options.output = [&](const std::string& name, const ir::Array& value) {
    shown += name + std::to_string(value.integers[0]) + ";";
  };
  (void)ir::evaluate(compiled("var a = 1; print(\"x\"); output b = a; a = 2; output a; print(a);"), options);
  CHECK(shown == "x;b1;a2;2;");
}

TEST_CASE("functions that use a parameter twice grow by a call, not by a factor") {
  const auto nested = [](std::string e, int times) {
    for (int k = 0; k < times; ++k) e = "f(" + e + ")";
    return e;
  };
  const std::string start = "fn f(x) = x * x - 0.5; input a: f64[n]; param c: f64 = 0.3; ";
  for (const std::string& output : {"y[i] = " + nested("a[i]", 60), "y = " + nested("a", 60), "y = " + nested("c", 60),
                                    "y = if c > 0.0 then " + nested("c", 60) + " else 0.0"})
    CHECK(ir::print(compiled(start + "output " + output + ";")).size() < 30'000);
  std::string lets = "fn g(b0) { ";
  for (int k = 0; k < 60; ++k)
    lets += "let b" + std::to_string(k + 1) + " = b" + std::to_string(k) + " * b" + std::to_string(k) + " - 0.5; ";
  CHECK(ir::print(compiled(lets + "return b60; } input a: f64[n]; output y[i] = g(a[i]);")).size() < 10'000);
}

TEST_CASE("a function that grows evaluates no more than it needs") {
  // a[i - 1] is guarded by a condition in the function, and occurs many times.
  const std::string text = "fn f(x, there) = if there then " + std::string("x") + [] {
    std::string sum;
    for (int k = 0; k < 600; ++k) sum += " + x";
    return sum;
  }() + " else 0.0; input a: f64[n]; output y[i] = f(a[i - 1], i > 0) for i in 0..n;";
  CHECK(run_text(text, {{"a", floats({3}, {1, 2, 3})}}).floats("y") == std::vector<double>{0, 601, 1202});
}
