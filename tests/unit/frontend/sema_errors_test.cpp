#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

#include "frontend/frontend.h"

using namespace tdsl;

namespace {

/// `line:column: id` of every diagnostic, in source order.
std::vector<std::string> reported(const std::string& text) {
  frontend::SourceManager sources;
  frontend::DiagnosticSink sink;
  const auto file = sources.add("test.tdsl", text);
  const auto program = frontend::compile(sources, file, sink);
  CHECK(program.has_value() == !sink.has_errors());
  std::vector<std::string> found;
  for (const frontend::Diagnostic& d : sink.sorted()) {
    found.push_back(std::to_string(d.range.line) + ":" + std::to_string(d.range.column) + ": " +
                    std::string(frontend::id_text(d.id)));
  }
  return found;
}

std::string message(const std::string& text) {
  frontend::SourceManager sources;
  frontend::DiagnosticSink sink;
  const auto program = frontend::compile(sources, sources.add("test.tdsl", text), sink);
  REQUIRE_FALSE(sink.empty());
  return sink.sorted()[0].message;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("names") {
  CHECK(reported("let totl = 1;\noutput a = total;\noutput b = total + 1;\nprint(totl);") ==
        Lines{"2:12: undefined-name"});
  CHECK(reported("print(x);") == Lines{"1:7: undefined-name"});
  CHECK(message("let count1 = 3; print(coutn1);").find("did you mean `count1`?") != std::string::npos);
  CHECK(reported("input X: f64[n, m];\nlet y[i] = X[i, j];\nprint(y);") == Lines{"2:17: unbound-index"});
  CHECK(message("input X: f64[n, m]; let y[i] = X[i, j];").find("there is no implicit summation") != std::string::npos);
  CHECK(reported("let a = 1;\nlet a = 2;\nprint(a);") == Lines{"2:5: redeclaration"});
  CHECK(reported("let a = 1;\na = 2;") == Lines{"2:1: immutable"});
  CHECK(reported("for i in 0..3 { i = 2; }") == Lines{"1:17: immutable"});
  CHECK(reported("print(foo(1));") == Lines{"1:7: undefined-function"});
  CHECK(reported("fn exp(x) = x;") == Lines{"1:4: builtin-redefined"});
  CHECK(reported("fn f(x) = f(x);\nprint(f(1));") == Lines{"1:11: recursion"});
  CHECK(reported("fn f(x) { let y = x; }\nprint(f(1));") == Lines{"1:4: missing-return"});
  CHECK(reported("fn f(X: f64[n, m]) { let s[i] = sum[j](X[i, j]) + q; return s[k]; }") ==
        Lines{"1:51: undefined-name"});
  CHECK(reported("let a = 1;\noutput a;\noutput a;") == Lines{"3:8: duplicate-output"});
  CHECK(reported("import \"test.tdsl\";\nlet a = 1;\noutput a;") == Lines{"1:8: import-failed"});
  CHECK(message("import \"./test.tdsl\";").find("the program itself cannot be imported") != std::string::npos);
  CHECK(message("import \"a\\nb.tdsl\";").find("`a\\nb.tdsl` has control characters in its name") != std::string::npos);
  CHECK(
      message("import \"a\x1B[2Jb\xC2\x85.tdsl\";").find("`a\\x1b[2Jb\\x85.tdsl` has control characters in its name") !=
      std::string::npos);
  CHECK(message("import \"\u00E9\u00C2.tdsl\";").find("cannot read") != std::string::npos);
  CHECK(reported("fn f(x) = x;\nfn f(x, y) = x + y;\nprint(f(1), f(1, 2));") == Lines{"2:4: redeclaration"});
  CHECK(reported("import std.nothing;") == Lines{"1:8: import-failed"});
  CHECK(reported("import std.nothing;\nprint(helper(limit));") == Lines{"1:8: import-failed"});
  CHECK(reported("import std.nothing;\nlet half = 1;\nprint(hafl);") ==
        Lines{"1:8: import-failed", "3:7: undefined-name"});
}

TEST_CASE("a file is imported once, however its path is written") {
  frontend::SourceManager sources;
  frontend::DiagnosticSink sink;
  frontend::CompileOptions options;
  options.read = [](const std::string& path) -> std::optional<std::string> {
    if (path == "home/lib/a.tdsl") return "import \"../b.tdsl\"; fn twice(x) = half(x) * 4.0;";
    return path == "home/b.tdsl" ? std::optional<std::string>("fn half(x) = x / 2.0;") : std::nullopt;
  };
  const auto file =
      sources.add("home/test.tdsl", "import \"lib/a.tdsl\"; import \"./b.tdsl\"; print(twice(half(1.0)));");
  CHECK(frontend::compile(sources, file, sink, options).has_value());
}

TEST_CASE("warnings") {
  CHECK(reported("let a = 1;") == Lines{"1:5: unused-name"});
  CHECK(reported("let _a = 1;") == Lines{});
  CHECK(reported("let a = 1;\nif a > 0 { let a = 2; print(a); }") == Lines{"2:16: shadowing"});
  CHECK(reported("input X: f64[n];\nlet y[n] = X[n];\nprint(y);") == Lines{"2:7: hidden-name"});
  CHECK(reported("input A: f64[n, m];\nlet d[i] = A[i, i] for i in 0..2;\nprint(d);") ==
        Lines{"2:17: ambiguous-extent"});
  CHECK(reported("input A: f64[n, m];\nlet d[i]: f64[m] = A[i, i] for i in 0..2;\nprint(d);") == Lines{});
  const std::string sums = "input row: i64[m];\ninput v: f64[stored];\ninput b: f64[n];\n";
  CHECK(reported(sums + "let y[i] = sum[k in row[i]..row[i + 1]](v[k]) + b[0] for i in 0..n;\nprint(y);") ==
        Lines{"4:25: ambiguous-extent"});
  CHECK(reported(sums + "let y[i]: f64[n] = sum[k in row[i]..row[i + 1]](v[k]) + b[0] for i in 0..n;\nprint(y);") ==
        Lines{});
  CHECK(message("input x: f64[n];\nlet y[i] = x[i] for i in 0..n - 1;\nprint(y);") ==
        "the new dimension of `i` has the size n (the length of x), not n - 1, where its range ends; declare the type "
        "to choose");
  CHECK(reported("input x: f64[5];\nlet y[i] = x[i] for i in 0..4 by 2;\nprint(y);") ==
        Lines{"2:14: ambiguous-extent"});
  CHECK(reported("input x: f64[n];\nlet y[i] = x[i] for i in 0..n by 2;\nprint(y);") == Lines{});
  CHECK(reported("input x: f64[n];\nlet y[i] = x[i - 1] + x[i] for i in 1..n - 1;\nprint(y);") == Lines{});
  CHECK(reported("input x: f64[n];\nlet y[i] = x[i] for i in 1..4;\nprint(y);") == Lines{"2:14: ambiguous-extent"});
  CHECK(reported("input x: f64[n];\nparam m: i64;\nlet y[i] = x[i] for i in 1..m;\nprint(y);") ==
        Lines{"3:14: ambiguous-extent"});
  CHECK(reported("input x: f64[n];\nlet y[i]: f64[n] = x[i] for i in 1..4;\nprint(y);") == Lines{});
  CHECK(reported("input x: f64[n];\nlet y[i] = x[i] for i in 1..n;\nprint(y);") == Lines{});
  CHECK(reported("input x: f64[n];\nvar y = zeros(n);\ny[i] = x[i] for i in 0..n - 1;\nprint(y);") == Lines{});
  CHECK(reported("input x: f64[n];\nlet y[i] = x[n - 1 - i] for i in 0..n - 1;\nprint(y);") == Lines{});
  CHECK(reported("param seed: i64 = 3;\nprint(seed);") == Lines{"1:7: option-clash"});
  CHECK(reported("input x: f64[n];\noutput x;") == Lines{"2:8: option-clash"});
  CHECK(reported("input x: f64[n];\noutput y = x;") == Lines{});
  CHECK(reported("input x: f64[n];\noutput n;") == Lines{"1:7: unused-name"});
}

TEST_CASE("a returned value whose index variables come in another order says in which") {
  frontend::SourceManager sources;
  frontend::DiagnosticSink sink;
  const auto file = sources.add(
      "test.tdsl", "fn f(P: f64[k, 3]) -> f64[k, 3] { return sum[j](P[j, c] - P[i, c]); }\noutput y = f(ones(5, 3));");
  CHECK_FALSE(frontend::compile(sources, file, sink).has_value());
  CHECK(sink.sorted().at(0).notes.at(0).message == "the number of rows of the value over [c, i] in f is 3");
}

TEST_CASE("types and shapes") {
  CHECK(reported("let a: f32 = f64(1);") == Lines{"1:14: narrowing"});
  CHECK(reported("let a: i64 = 2.5;") == Lines{"1:14: narrowing"});
  CHECK(reported("if 1 { print(1); }") == Lines{"1:4: type-mismatch"});
  CHECK(reported("input X: f64[n, m];\nprint(X @ X);") == Lines{"2:7: shape-mismatch"});
  CHECK(reported("print(zeros(3) + zeros(4));") == Lines{"1:7: shape-mismatch"});
  CHECK(reported("input X: f64[n, m];\nprint(X[0]);") == Lines{"2:7: rank-mismatch"});
  CHECK(reported("let A: f64[q] = zeros(3);") == Lines{"1:12: undefined-name"});
  CHECK(reported("var k = 3;\nlet A: f64[k] = zeros(3);") == Lines{"2:12: bad-dimension"});
  CHECK(reported("input x: f64[n];\nlet y[i] = x[i + 1] for i in 0..n;") == Lines{"2:14: out-of-bounds"});
  CHECK(reported("input x: f64[n];\nprint(x[n]);") == Lines{"2:9: out-of-bounds"});
  CHECK(reported("print(zeros(4)[2:5]);") == Lines{"1:16: out-of-bounds"});
  CHECK(reported("print(sum(zeros(3), axis=1));") == Lines{"1:26: bad-argument"});
  CHECK(reported("print(sum(zeros(3), axes=0));") == Lines{"1:21: bad-argument"});
  CHECK(reported("input x: i64[n];\nparam m: i64 = sum(x);\nprint(m);") == Lines{"2:16: not-constant"});
  CHECK(reported("param m: i64 = 1 / 0;\nprint(m);") == Lines{"1:16: not-constant"});
  CHECK(reported("param k: i64 = 1;\nlet y[i] = sum[j in 0..i by k](j) for i in 0..3;\nprint(y);") ==
        Lines{"2:29: not-supported"});
  CHECK(reported("let x = ones(3);\nlet y[i] = sum(x[::i]) for i in 1..3;\nprint(y);") ==
        Lines{"2:20: slice-in-index"});
  CHECK(reported("let A = zeros(3037000500, 3037000500);\nprint(A);") == Lines{"1:5: too-large"});
  CHECK(reported("print(random(4611686018427387904, 4611686018427387904));") == Lines{"1:7: too-large"});
  CHECK(reported("input A: f64[n, 9007199254740992];\nprint(A);") == Lines{"1:10: too-large"});
  CHECK(reported("let y[i, j]: i64[1000000000, 1000000000] = i + j;\nprint(y);") == Lines{"1:14: too-large"});
  CHECK(reported("let y[i, j] = i + j for i in 0..1000000000, j in 0..10000000000;\nprint(y);") ==
        Lines{"1:5: too-large"});
  CHECK(reported("print(einsum(\"ij,j\", zeros(2), zeros(2)));") == Lines{"1:22: bad-einsum"});
}

TEST_CASE("neither functions nor monoids recurse") {
  CHECK(reported("fn f(x) = f(x) + 1.0;\nprint(f(1.0));") == Lines{"1:11: recursion"});
  CHECK(reported(
            "monoid m(a: f64, b: f64) { identity = 0.0; combine = a + m(b); }\ninput x: f64[n];\nprint(m[i](x[i]));") ==
        Lines{"1:58: recursion"});
  CHECK(reported("fn f(x) = m(x);\nmonoid m(a: f64, b: f64) { identity = 0.0; combine = a + f(b); }\ninput x: "
                 "f64[n];\nprint(m(x));") == Lines{"1:11: recursion"});
}

TEST_CASE("index notation") {
  CHECK(reported("let y[i] = 1;") == Lines{"1:7: unknown-range"});
  CHECK(reported("input x: f64[n];\nlet y[2 * i] = x[i];") == Lines{"2:7: unknown-extent"});
  CHECK(reported("input X: f64[n, m];\nlet y[i] = X;") == Lines{"2:12: not-scalar"});
  CHECK(reported("input X: f64[n, m];\nlet y[i] = X[i, :];") == Lines{"2:14: slice-in-index"});
  CHECK(reported("input X: f64[n, m];\nprint(argmin[i, j](X[i, j]));") == Lines{"2:7: bad-reduction-use"});
  CHECK(reported("input X: f64[n, m];\nlet y = X where true;") == Lines{"2:11: misplaced-suffix"});
  CHECK(reported("input X: f64[n, n];\nprint(sum[i, i](X[i, i]));") == Lines{"2:14: repeated-index"});
}

TEST_CASE("library routines: operands and numbers of results") {
  const std::string start = "input X: f64[n, m];\ninput v: f64[n];\n";
  const auto last = [&](const std::string& line) { return reported(start + line); };
  CHECK(last("print(solve(X, v));") == Lines{"3:7: shape-mismatch"});
  CHECK(last("print(inv(ones(2, 3)), sum(X), sum(v));") == Lines{"3:7: shape-mismatch"});
  CHECK(last("print(det(v), sum(X));") == Lines{"3:11: rank-mismatch"});
  CHECK(last("print(lstsq(X, sum(v)));") == Lines{"3:16: rank-mismatch"});
  CHECK(last("print(lstsq(X, ones(m)), v);") == Lines{"3:7: shape-mismatch"});
  CHECK(last("print(sort(X, axis=2), v);") == Lines{"3:20: bad-argument"});
  CHECK(last("print(sort(3.0), X, v);") == Lines{"3:7: rank-mismatch"});
  CHECK(last("print(cumsum(X, axes=1), v);") == Lines{"3:17: bad-argument"});
  CHECK(last("print(qr(X), v);") == Lines{"3:7: misplaced-tuple"});
  CHECK(last("let (a, b, c) = qr(X);\nprint(v);") == Lines{"3:17: type-mismatch"});
  CHECK(last("let (a, b) = topk(v, n + 1);\nprint(a, b, X);") == Lines{"3:22: bad-argument"});
  CHECK(last("let (a, b) = topk(v, -1);\nprint(a, b, X);") == Lines{"3:22: bad-argument"});
  CHECK(last("let a[i] = sum(sort(X[i, 0] * v));\nprint(a);") == Lines{"3:21: not-scalar"});
}

TEST_CASE("bad arguments and undefined names are reported once, and errors do not spread") {
  CHECK(reported("let w = sprandom(3, 3, 1.5);\nprint(w);") == Lines{"1:24: bad-argument"});
  CHECK(reported("let w = sprandom(3, 0.5);\nprint(w);") == Lines{"1:9: bad-argument"});
  CHECK(reported("let a = b;\nlet c = d;\nprint(a + c);") == Lines{"1:9: undefined-name", "2:9: undefined-name"});
}

TEST_CASE("after a hundred errors no more are looked for") {
  std::string text;
  for (int k = 0; k < 300; ++k) text += "let a" + std::to_string(k) + " = missing" + std::to_string(k) + "; ";
  CHECK(reported(text).size() == 100);
  CHECK(reported("if true { " + text + "}\n" + text).size() == 100);
}

TEST_CASE("a mistake in a function is one error however often it is called") {
  // The sizes differ, and so do the messages.
  const std::string body = "fn f(v: f64[n]) = sum(v * zeros(n + 1));\ninput x: f64[a];\ninput y: f64[b];\n";
  CHECK(reported(body + "print(f(x));\nprint(f(y), f(x));") == Lines{"1:23: shape-mismatch"});
  CHECK(reported("fn f(v) { let w = v + q; return w; }\ninput x: f64[a];\nprint(f(1.0), f(x), f(2));") ==
        Lines{"1:23: undefined-name"});
  frontend::SourceManager sources;
  frontend::DiagnosticSink sink;
  CHECK_FALSE(frontend::compile(
      sources, sources.add("test.tdsl", "fn f(v: f64[n]) = sum(v, axis=3);\nprint(f(ones(2)));\nprint(f(ones(3)));"),
      sink));
  REQUIRE(sink.diagnostics().size() == 1);
  CHECK(sink.diagnostics()[0].notes.size() == 2);
  // If one call is correct, the others are at fault.
  const std::string right = "fn f(v, w) = sum(v + w);\ninput x: f64[3];\ninput y: f64[4];\nprint(f(x, x));\n";
  CHECK(reported(right + "print(f(x, y));\nprint(f(y, x));").size() == 2);
}
