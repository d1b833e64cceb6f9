#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

#include "frontend/frontend.h"

using namespace tdsl;

namespace {

struct Outcome {
  std::string text;  ///< "line:column id: message" per diagnostic, then its notes as "  line:column message"
  std::vector<std::uint32_t> lines;
};

Outcome outcome(const std::string& text) {
  frontend::SourceManager sources;
  frontend::DiagnosticSink sink;
  const auto program = frontend::compile(sources, sources.add("test.tdsl", text), sink);
  CHECK(program.has_value() == !sink.has_errors());
  Outcome result;
  for (const frontend::Diagnostic& d : sink.sorted()) {
    result.lines.push_back(d.range.line);
    result.text += std::to_string(d.range.line) + ":" + std::to_string(d.range.column) + " " +
                   std::string(frontend::id_text(d.id)) + ": " + d.message + "\n";
    for (const frontend::DiagnosticNote& note : d.notes)
      result.text +=
          "  " + std::to_string(note.range.line) + ":" + std::to_string(note.range.column) + " " + note.message + "\n";
  }
  return result;
}

void check_says(const std::string& text, const std::string& expected) {
  INFO(text);
  CHECK(outcome(text).text == expected);
}

}  // namespace

TEST_CASE("an assignment to an undeclared name is one error, however often the name is used") {
  check_says("x = 5;\nprint(x);\nx = 6;", "1:1 undefined-name: `x` is not declared; declare it with var\n");
  check_says("(a, b) = (1, 2);\nprint(a);\nprint(b);",
             "1:2 undefined-name: `a` is not declared; declare it with var\n");
  check_says("for i in 0..3 { y[i] = 1; print(y); }",
             "1:17 undefined-name: `y` is not declared; declare it with var\n");
}

TEST_CASE("literals that do not fit say so") {
  check_says("let a: i32 = 3000000000;\nprint(a);",
             "1:14 integer-overflow: the integer 3000000000 does not fit i32, which ends at 2147483647\n");
  check_says("let a: i32 = 1;\nprint(a + -3000000000);",
             "2:11 integer-overflow: the integer -3000000000 does not fit i32, which ends at -2147483648\n");
  check_says("let a: i32 = 1;\nprint(a * 2147483647);", "");
}

TEST_CASE("return comes last, and the message is about what follows it") {
  check_says("fn f(x) { return x; let y = 1; }\nprint(f(1));",
             "1:21 missing-return: nothing can follow `return`, which comes last in a function\n");
  check_says(
      "fn f(x) { if x > 1 { return 2; } return x; }\nprint(f(1));\nprint(f(2));",
      "1:22 missing-return: `return` stands at the end of a function's body only; choose the value with `if c then "
      "a else b`\n");
  check_says("for i in 0..3 { return i; }", "1:17 misplaced-statement: `return` can stand only in a function\n");
  check_says("fn f(x) { let y = x; }", "1:4 missing-return: the body of `f` must end in `return`\n");
}

TEST_CASE("clashes name both sizes, where they come from, and nothing twice") {
  check_says("print(zeros(4) + zeros(3));",
             "1:7 shape-mismatch: sizes 4 and 3 do not agree in dimension 0\n"
             "  1:13 the length of zeros(4) is 4\n"
             "  1:24 the length of zeros(3) is 3\n");
  check_says("input A: f64[n, m];\ninput B: f64[k, m];\nprint(A @ B);",
             "3:7 shape-mismatch: sizes m and k do not agree in this product\n"
             "  1:7 the number of columns of A is m\n"
             "  2:7 the number of rows of B is k\n"
             "  1:17 `m` is bound here\n"
             "  2:14 `k` is bound here\n");
  check_says("input A: f64[n, m];\nlet t[i] = A[i, i];\nprint(t);",
             "2:17 shape-mismatch: sizes n and m do not agree for the index variable `i`\n"
             "  1:7 the number of rows of A is n\n"
             "  1:7 the number of columns of A is m\n"
             "  1:14 `n` is bound here\n"
             "  1:17 `m` is bound here\n");
}

TEST_CASE("slices and subscripts out of bounds") {
  check_says("let y = zeros(4);\nprint(y[2:9]);",
             "2:9 out-of-bounds: slice 2:9 ends at 9, beyond the last element: the length of y is 4; bounds are never "
             "clamped\n  1:5 the length of y is 4\n");
  check_says("let y = zeros(4);\nprint(y[3:1]);",
             "2:9 out-of-bounds: slice 3:1 starts at 3, but ends at 1; bounds are never clamped\n"
             "  1:5 the length of y is 4\n");
  check_says("let y = zeros(1);\nlet z[i] = y[i + 1] for i in 0..1;\nprint(z);",
             "2:14 out-of-bounds: this subscript reaches 1 where i runs over 0..1, but dimension 0 has 1 element\n");
  check_says("print(zeros(-2));", "1:13 bad-dimension: this size is -2; a size cannot be negative\n");
}

TEST_CASE("words of other languages") {
  check_says("if true { continue; }", "1:11 misplaced-statement: `continue` can stand only in a loop\n");
  check_says("{ let a = 1; }\nprint(2);",
             "1:1 syntax: a block cannot stand alone; blocks belong to `for`, `while`, `if` and `fn`\n");
}

TEST_CASE("a comment that was to divide") {
  check_says("let y = 7 // 2;\nprint(y);",
             "1:10 missing-semicolon: missing `;` before `print`\n"
             "  1:11 `//` begins a comment; integers are divided by `/`, which truncates\n");
  check_says("print(7 // 2);",
             "1:8 syntax: expected `)` or `,` before the end of the file\n"
             "  1:9 `//` begins a comment; integers are divided by `/`, which truncates\n");
}

TEST_CASE("a product that was to be one of matrices") {
  check_says("input A: f64[n, m]; input x: f64[n];\noutput y = x' * A;",
             "2:12 shape-mismatch: sizes m and n do not agree in dimension 1; `*` works element by element, and the "
             "product of "
             "matrices and vectors is `@`\n"
             "  1:7 the number of columns of A is m\n"
             "  1:27 the length of x is n\n"
             "  1:14 `n` is bound here\n"
             "  1:17 `m` is bound here\n");
}

TEST_CASE("guards in brackets") {
  check_says("let x = zeros(3);\nprint(x[k where k > 2]);",
             "2:9 misplaced-range: a guard in brackets belongs to a reduction such as `max[k where …](…)`\n"
             "  0:0 the guard of a statement follows its expression: `… where …`\n");
  check_says(
      "let x = zeros(3);\nprint(max[k + 1 where k > 2](x[k]));",
      "2:17 syntax: a guard follows an index variable or its range: max[k where k < i](…), sum[k in 0..n where k != "
      "i](…)\n");
}

TEST_CASE("transpose, singular and plural") {
  check_says("input A: f64[n, m, k];\nprint(transpose(A));",
             "2:7 rank-mismatch: only a matrix can be transposed without an order of dimensions, but this is f64[n, m, "
             "k]; write transpose(A, 0, 2, 1), or A' to swap the last two\n");
  check_says("input A: f64[n];\nprint(A[0, 0]);", "2:7 rank-mismatch: A has 1 dimension, but 2 subscripts are given\n");
  check_says("input A: f64[n, m];\nprint(A[0]);",
             "2:7 rank-mismatch: A has 2 dimensions, but 1 subscript is given; write `:` for a whole dimension\n");
  check_says("let (a, b) = 1;", "1:14 type-mismatch: 2 names, but 1 value\n");
  check_says("print(sum(iota(3), axis=2));", "1:25 bad-argument: axis 2 does not exist: the tensor has 1 dimension\n");
}

TEST_CASE("extents found by data") {
  check_says("let c[i] = sum(filter(zeros(4), iota(4) > i)) for i in 0..4;\nprint(c);",
             "1:33 not-scalar: filter takes whole tensors, but this depends on the index variable `i`\n");
  check_says("let m = nonzero(ones(2, 2));\nprint(m);",
             "1:9 misplaced-tuple: `nonzero` gives several values: write let (a, b) = nonzero(…);\n");
  check_says("let x = random(4);\nlet y: f64[m] = x;\nprint(y);", "2:12 undefined-name: `m` is not declared\n");
  check_says("fn f(x: f64[n]) -> f64[m] { return x; }\nprint(f(zeros(3)));",
             "1:24 undefined-name: `m` is not declared\n  2:7 in this call of `f`\n");
}

TEST_CASE("a byte-order mark has no width") {
  check_says("\xEF\xBB\xBFlet a = b;", "1:9 undefined-name: `b` is not declared\n");
}

TEST_CASE("a mistake in a declaration with braces is one error") {
  check_says("extern \"k.hpp\" { fn g(x f64) -> f64; fn h(y: f64) -> f64; }\nlet b = 1;",
             "1:25 syntax: unexpected `f64`; a type follows a colon: `x: f64`\n");
  check_says("extern { fn g(x: f64) -> f64; }\nlet b = 1;", "1:8 syntax: expected a string before `{`\n");
  check_says("storage s(n) { stored[n]; to[i] = ; from[i] = i; }\nlet b = 1;",
             "1:35 syntax: expected an expression before `;`\n");
  check_says("monoid m(a: f64, b: f64) { identity = ; combine = a; }\nlet b = 1;",
             "1:39 syntax: expected an expression before `;`\n");
  check_says("if (a > 0 { print(1); }\nlet b = 2;", "1:11 syntax: expected `)` before `{`\n");
  check_says("let a = f(x, (y + 2);\nlet b = 1;", "1:21 syntax: expected `)` or `,` before `;`\n");
  check_says("for i in 0..3 {\n  let a = (1;\n}\nlet b = 1;", "2:13 syntax: expected `)` or `,` before `;`\n");
}

TEST_CASE("ten unrelated mistakes of meaning give ten errors") {
  const Outcome result = outcome(R"(input A: f64[n, m];
input v: f64[n];
let p = A @ A;
let q = A + w;
let r = A[0];
let s: i64 = 2.5;
v = 3.0;
let t[i] = A[i, j];
let u = foo(v);
let x = sum(A, axis=2);
let y = if v then 1 else 2;
let z = A[n, 0];
print(p, q, r, s, t, u, x, y, z);
q = 1;
print(s + t);
)");
  CHECK(result.lines == std::vector<std::uint32_t>{3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
}

TEST_CASE("one mistake in a function is one error, however often it is called") {
  const std::string body = "fn f(x: f64[n]) -> f64 = sum(x) + q;\n";
  CHECK(outcome(body).lines == std::vector<std::uint32_t>{1});
  CHECK(outcome(body + "let a = f(zeros(3));\nlet b = f(zeros(4));\nprint(a + b);").lines ==
        std::vector<std::uint32_t>{1});
}

TEST_CASE("declared names and their types") {
  frontend::SourceManager sources;
  frontend::DiagnosticSink sink;
  std::set<std::string> types;
  frontend::CompileOptions options;
  options.declared = [&](const frontend::DeclaredName& d) {
    types.insert(std::to_string(d.range.line) + " " + d.name + ": " + d.type);
  };
  const auto program = frontend::compile(sources, sources.add("test.tdsl", R"(input A: f64[n, m];
let B = A;
param k: i32 = 3;
let (x, y) = (A', 2);
for i in 0..4 { var z = f32(i); print(z); }
fn f(v: f64[a]) -> f64 { let s = sum(v); return s; }
output Z[i] = A[i, 0] + f(zeros(3));
print(B, x, y, k);
)"),
                                         sink, options);
  CHECK(program.has_value());
  CHECK(types == std::set<std::string>{"1 A: f64[n, m]", "2 B: f64[n, m]", "3 k: i32", "4 x: f64[m, n]", "4 y: i64",
                                       "5 i: i64", "5 z: f32", "6 s: f64", "6 v: f64[3]", "7 Z: f64[n]"});
}

TEST_CASE("long chains of functions and of imports are errors, not crashes") {
  const auto chain = [](int count, const std::string& last) {
    std::string text;
    for (int k = 0; k < count; ++k)
      text += "fn g" + std::to_string(k) + "(x) = g" + std::to_string(k + 1) + "(x) + 1.0;\n";
    return text + "fn g" + std::to_string(count) + "(x) = " + last + ";\nprint(g0(1.0));\n";
  };
  CHECK(outcome(chain(200, "x")).text.empty());
  for (const std::string last : {"x", "g0(x)"}) {
    const Outcome many = outcome(chain(1'800, last));
    CHECK(many.lines.size() == 1);
    CHECK(many.text.find(" nesting-too-deep: `g") != std::string::npos);
    CHECK(many.text.ends_with("` calls functions that call others, with their expressions more than 1000 deep\n"));
  }
  const auto imported = [](int count) {
    frontend::SourceManager sources;
    frontend::DiagnosticSink sink;
    frontend::CompileOptions options;
    options.read = [&](const std::string& path) -> std::optional<std::string> {
      const int number = std::stoi(path.substr(1));
      return number == count ? "fn last(x) = x;" : "import \"m" + std::to_string(number + 1) + ".tdsl\";";
    };
    static_cast<void>(
        frontend::compile(sources, sources.add("p.tdsl", "import \"m1.tdsl\";\nprint(last(2));"), sink, options));
    return frontend::render_all(sink, sources);
  };
  CHECK(imported(250).empty());
  CHECK(imported(8'000).starts_with("m250.tdsl:1:8: error: imports nest more than 250 deep [nesting-too-deep]\n"));
}

TEST_CASE("programs that explode are errors, not hangs") {
  std::string calls = "fn g0(x) = x * 2.0;\n";
  for (int k = 1; k <= 40; ++k) {
    const std::string previous = "g" + std::to_string(k - 1);
    calls += "fn g" + std::to_string(k) + "(x) = " + previous + "(x) + " + previous + "(x);\n";
  }
  const Outcome many = outcome(calls + "input v: f64;\nprint(g40(v));");
  CHECK(many.lines.size() == 1);
  CHECK(many.text.find("nesting-too-deep") != std::string::npos);
  std::string locals;
  for (int k = 1; k <= 60; ++k)
    locals += "let a" + std::to_string(k) + " = a" + std::to_string(k - 1) + " * a" + std::to_string(k - 1) + ";\n";
  locals += "return a60; }\ninput v: f64[n];\n";
  CHECK(outcome("fn f(x) { let a0 = x + 1.0;\n" + locals + "print(f(v));").lines.empty());
  // A function that reads a tensor does not become a procedure.
  const Outcome shared = outcome("fn f(x, t: f64[m]) { let a0 = x + t[0];\n" + locals + "print(sum[i](f(v[i], v)));");
  CHECK(shared.lines.size() == 1);
  CHECK(shared.text.find("nesting-too-deep") != std::string::npos);
  std::string factors = "(a + b + c + 1)";
  for (int k = 0; k < 40; ++k) factors += " * (a + b + c + " + std::to_string(k) + ")";
  const Outcome wide =
      outcome("param a: i64;\nparam b: i64;\nparam c: i64;\nlet A: f64[" + factors + "] = zeros(3);\nprint(A);");
  CHECK(wide.lines == std::vector<std::uint32_t>{4});
  CHECK(
      outcome("param a: i64;\nparam b: i64;\nparam c: i64;\nlet n = " + factors + ";\nprint(zeros(n));").lines.empty());
}

TEST_CASE("type parameters have new names") {
  check_says("fn f[T, T](x: T) -> T = x;\nprint(f(1));", "1:9 redeclaration: `T` is declared twice\n");
  check_says("fn f[f64](x: f64) -> f64 = x;\nprint(f(1));",
             "1:6 bad-argument: `f64` is a type; the name of a type parameter must be new\n");
}

TEST_CASE("functions are arguments, not values") {
  check_says(
      "let f = fn(x) = x * x;",
      "1:9 syntax: a lambda can stand only as an argument or a default; declare a function: `fn f(x) = x * x;`\n");
  check_says("fn g(x: f64) -> f64 = x;\nprint(g + 1);", "2:7 undefined-name: `g` is a function: it is called, g(…)\n");
  check_says("fn at(f: fn(f64) -> f64, x: f64) -> f64 = f(x);\nprint(at(sine, 1.0));",
             "2:10 undefined-function: there is no function `sine`; did you mean `sin`?\n");
  check_says("fn f(h: f64 = 1.0, x: f64) -> f64 = h * x;\nprint(f(1.0, 2.0));",
             "1:20 bad-argument: the parameter `x` has no default, so it stands before those that have one\n"
             "  1:6 `h` has a default\n");
  check_says("fn f[T](x: T[...]) -> T { return sum[i](x[i]); }\nprint(f(ones(3)));",
             "1:41 rank-mismatch: `x` has any rank, `...`, so index notation cannot subscript it; name its dimensions, "
             "or write whole-tensor expressions\n"
             "  1:9 declared here\n"
             "  2:7 in this call of `f` with T = f64\n");
  check_says("fn g(f: fn(f64[k]) -> f64[r], y: f64[k]) -> f64[r] = f(y);\nprint(g(fn(y) = y, ones(3)));",
             "1:49 undefined-name: `r` is not declared here: each call of `f` binds it anew; take it from a result of "
             "`f`: size(v, 0) after `let v = f(…);`, or leave out the type that needs it\n"
             "  2:7 in this call of `g`\n");
}
