#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "frontend/frontend.h"
#include "frontend/hints/foreign_words.h"

using namespace tdsl;

// Habits from Python, NumPy, MATLAB, Julia and C: each mistake gives one error that states the TDSL way.

namespace {

std::string errors_of(const std::string& text) {
  frontend::SourceManager sources;
  frontend::DiagnosticSink sink;
  frontend::CompileOptions options;
  options.library_directory = TDSL_SOURCE_DIR "/stdlib";
  options.warn_unused = false;
  const auto program = frontend::compile(sources, sources.add("test.tdsl", text), sink, options);
  CHECK(program.has_value() == !sink.has_errors());
  std::string result;
  for (const frontend::Diagnostic& d : sink.sorted())
    result += std::to_string(d.range.line) + ":" + std::to_string(d.range.column) + " " +
              std::string(frontend::id_text(d.id)) + ": " + d.message + "\n";
  return result;
}

/// `program` has one error, at `place`, whose message ends in `hint`.
void check_hint(const std::string& program, const std::string& place, const std::string& hint) {
  const std::string prelude = "input x: f64[n]; input A: f64[n, n]; input c: bool; ";
  const std::string text = errors_of(prelude + "\n" + program);
  INFO(program, "\n", text);
  CHECK(std::count(text.begin(), text.end(), '\n') == 1);
  CHECK(text.starts_with("2:" + place + " "));
  CHECK(text.ends_with(hint + "\n"));
}

}  // namespace

TEST_CASE("foreign functions: the suggested replacements compile") {
  const std::string prelude =
      "input x: f64[n]; input y: f64[n]; input A: f64[n, n]; input B: f64[n, n];\n"
      "param a: f64; param b: f64; param c: bool; param d: bool; param k: i64;\n";
  for (const frontend::ForeignFunction& f : frontend::foreign_functions()) {
    const std::string write(f.write);
    const bool library = write.starts_with("import");
    const std::string statement =
        write.starts_with("let") || write.starts_with("print") || library ? write + ";" : "print(" + write + ");";
    INFO(f.name);
    CHECK(frontend::function_hint(f.name).starts_with("; "));
    if (!write.empty()) CHECK(errors_of(prelude + statement) == "");
    // Dimension names of library functions must not be params.
    const std::string operands =
        "input x: f64[n]; input y: f64[n]; input A: f64[n, n]; input B: f64[n, n]; param k: i64;\n";
    if (library && f.remark.empty())
      CHECK(errors_of(statement + "print(" + std::string(f.name) + "());").find("no function") == std::string::npos);
    else if (library)
      CHECK(errors_of(operands + statement + "print(" + std::string(f.remark) + ");") == "");
    else if (f.name != "print" && f.name != "assert")
      CHECK(errors_of("print(" + std::string(f.name) + "(1));")
                .find("there is no function `" + std::string(f.name) + "`; ") != std::string::npos);
  }
}

TEST_CASE("foreign functions win over names that are spelt alike") {
  check_hint("print(dot(A, A));", "7", "there is no function `dot`; write A @ B");
  check_hint("print(len(x));", "7", "; write size(x, 0)");
  check_hint("print(int(2.5));", "7", "; write i64(x)");
  check_hint("println(x);", "1", "this value is not used; write print(x)");
  check_hint("disp(\"x\");", "6", "; write print(x)");
  check_hint("let y = print(x);", "9", "; print is a statement of its own");
  check_hint("print(cross(x, x));", "7", "; it is in the library: import std.linalg;");
  check_hint("print(vander(x, 2));", "7",
             "there is no function `vander`; it is in the library: import std.linalg; there it is vandermonde(x, k)");
  check_hint("print(kronecker(A, A));", "7", "; write kron(A, B)");
  check_hint("print(conv(x, x));", "7", "; it is in the library: import std.signal; there it is convolve(x, y)");
  check_hint("print(logsumexp(A));", "7", "; it is in the library: import std.nn; there it is log_sum_exp(A)");
  check_hint("print(cov(A));", "7", "; it is in the library: import std.stats; there it is covariance(A)");
  check_hint("print(default_rng(1));", "7", "; write random(n, key=1); a key takes the place of a generator");
  check_hint("print(shuffle(x));", "7", "; it is in the library: import std.random; there it is shuffle(x, 1)");
  check_hint("print(randint(0, 9, size=3));", "21",
             "randint has no argument `size=`; sizes stand alone: randint(…, n, m)");
  check_hint("print(percentile(x, 5));", "7", "; write quantile(x, 50 / 100.0)");
  check_hint("print(arctan2(x, x));", "7", "; write atan2(y, x)");
  check_hint("print(expm(A));", "7", "; write let (w, V) = eigh(A); let E = (V * exp(w)) @ V' for a symmetric matrix");
  check_hint("print(polyval(x, x));", "7", "; it is in the library: import std.polynomial;");
  check_hint("print(trapz(x));", "7", "; it is in the library: import std.calculus; there it is trapezoid(x, 0.5)");
  check_hint("print(setdiff1d(x, x));", "7", "; write `let c[i] = !any[k](x[i] == v[k]);` and filter(x, c)");
  check_hint("print(sqrtt(x));", "7", "; did you mean `sqrt`?");
  check_hint("print(var(x));", "7", "`var` is a reserved word, not a function; the variance is variance(x)");
}

TEST_CASE("values of other languages") {
  check_hint("print(True);", "7", "`True` is not declared; write true");
  check_hint("print(None);", "7", "; there is no value for nothing");
  check_hint("print(2.0 * PI);", "13", "; write pi");
  check_hint("print(x[end]);", "9", "; the last element is x[-1], and x[k:] runs to it");
  check_hint("print(sin(e));", "11", "`e` is not declared; write exp(1.0)");
  check_hint("print(x[e]);", "9", "or bind it on the left or with `for e in …`");
  check_hint("print(x[None, :]);", "9", "`None` is not declared; a new dimension is written newaxis: x[newaxis, :]");
  check_hint("print(x[x > 1.0]);", "9",
             "but this is bool[n]; filter(x, c) has the part, where(c, x, 0.0) keeps the size, sum[i where c[i]](x[i]) "
             "reduces the part");
}

TEST_CASE("an axis is named") {
  check_hint("print(sum(x, 0));", "7", "sum takes 1 argument, but 2 are given; an axis is named: sum(x, axis=0)");
  check_hint("print(sort(A, 1));", "7", "; an axis is named: sort(A, axis=1)");
  check_hint("print(norm(x, 2));", "7", "; it is the Euclidean norm, and an axis is named: norm(x, axis=0)");
  check_hint("print(concat(A, A, 1));", "20", "; an axis is named: axis=1");
  check_hint("print(sum(A, (0, 1)));", "16", "; axes are named: sum(A, axis=(0, 1))");
}

TEST_CASE("lists where arguments are separate") {
  check_hint("print(zeros((3, 4)));", "15", "; sizes are separate arguments: zeros(n, m)");
  check_hint("print(zeros([3, 4]));", "13", "sizes are separate arguments: zeros(n, m)");
  check_hint("print(concat([A, A]));", "14", "tensors are separate arguments: concat(A, B, axis=0)");
  check_hint("print(reshape(A, (3, 4)));", "20", "; sizes are separate arguments: reshape(A, n, m)");
  check_hint("print(transpose(A, (1, 0)));", "22", "; dimensions are separate arguments: transpose(A, 2, 0, 1)");
  check_hint("print(concat((A, A)));", "16", "; tensors are separate arguments: concat(A, B, axis=0)");
  check_hint("print(A[(1, 2)]);", "11", "; subscripts stand in brackets alone: A[i, j]");
  check_hint("print(x(1:3));", "10", "; subscripts stand in brackets: x[a:b]");
  check_hint("let y = {1, 2};", "9", "; an array is written with brackets: [1.0, 2.0]");
}

TEST_CASE("members") {
  check_hint("print(x.shape);", "8", "unexpected `.`; write size(x, 0)");
  check_hint("print(A.shape[0]);", "8", "; write size(A, 0)");
  check_hint("print(A.T @ A);", "8", "; write A'");
  check_hint("print(x.sum());", "8", "; a function is called as sum(x)");
  check_hint("x.sort();", "2", "; a function is called as sort(x)");
  check_hint("x.append(3);", "2", "; write concat(x, y, axis=0)");
  check_hint("x.y = 3;", "2", "; values have no members");
  check_hint("print(np.sum(x));", "9", "; functions have no prefix: sum(…)");
  check_hint("print(np.linalg.solve(A, x));", "9", "; functions have no prefix: solve(…)");
  check_hint("print(np.pi);", "9", "; names have no prefix");
}

TEST_CASE("operators of other languages") {
  check_hint("print(A \\ x);", "9", "unknown character `\\`; a system of equations is solved by solve(A, b)");
  check_hint("print(A .* A);", "9", "; `*` works element by element, and products of matrices are A @ B");
  check_hint("print(|x|);", "7", "unexpected `|`; the absolute value is abs(x)");
  check_hint("var k = 0; k++;", "13", "there is no `++`; write `k += 1`");
  check_hint("var k = 0; ++k;", "12", "there is no `++`; write `k += 1`");
  check_hint("var k = 0; if c { k-- }", "20", "there is no `--`; write `k -= 1`");
  check_hint("var k = 2; k **= 2;", "14", "there is no `**=`; write `k = k ** …`");
  check_hint("let y := 3;", "8", "unexpected `:=`; did you mean `=`?");
  check_hint("print(x <> x);", "10", "unexpected `<>`; did you mean `!=`?");
  check_hint("print(x === x);", "11", "unexpected `===`; did you mean `==`?");
  check_hint("print(not c);", "11", "; did you mean `!`?");
  check_hint("print(x); # done", "11", "; did you mean `//` for comments?");
  check_hint("# a comment without an end", "1", "; did you mean `//` for comments?");
}

TEST_CASE("choices") {
  const std::string choice = "; a choice is written `if c then a else b`";
  check_hint("print(3 if c else 4);", "9", choice);
  check_hint("let y = c ? 3 : 4;", "11", choice);
  check_hint("let y[i] = x[i] if i > 2;", "17", "; a guard is written `… where c`");
  check_hint("if c { print(1); } elif c { print(2); }", "20", "; did you mean `else if`?");
}

TEST_CASE("loops run over ranges") {
  check_hint("for i in x { print(i); }", "12",
             "a loop runs over a range: `for i in 0..x`, or 0..size(x, 0) over the positions of a tensor");
  check_hint("for i in 3 { print(i); }", "12", "a loop runs over a range: `for i in 0..3`");
  check_hint("for i in range(3) { print(i); }", "19", "a loop runs over a range: `for i in 0..n { … }`");
  check_hint("for (i = 0; i < 3; i++) { print(i); }", "5",
             "unexpected `(`; a loop runs over a range: `for i in 0..n { … }`");
  check_hint("for (int i = 0; i < 3; i++) { print(i); }", "5", "a loop runs over a range: `for i in 0..n { … }`");
  check_hint("for i = 1:3 { print(i); }", "7", "a loop runs over a range: `for i in 0..n { … }`");
  check_hint("for i in 0..=3 { print(i); }", "13", "; the range a..b ends before b: write a..b + 1");
  check_hint("for i in 0...3 { print(i); }", "11", "; a range is written `a..b`, with two points");
  check_hint("for (i in 0..3) { print(i); }", "5", "; a loop is written without parentheses: `for i in 0..n { … }`");
  check_hint("for i in x:\n  print(i);", "11", "unexpected `:`; a block stands in braces: `{ … }`");
  check_hint("while c:\n  print(c);", "8", "unexpected `:`; a block stands in braces: `{ … }`");
  check_hint("let y = sum(x[i] for i in 0..n);", "18",
             "; a reduction's variables stand in brackets: sum[i in a..b](…)");
  check_hint("print(x[0..3]);", "10", "; a slice is written `a:b`, a reduction's range `i in a..b`");
}

TEST_CASE("types of other languages") {
  check_hint("let y: float = 1.0;", "8", "`float` is not a type; did you mean `f64`?");
  check_hint("param k: int = 3;", "10", "`int` is not a type; did you mean `i64`?");
  check_hint("input q: double[n];", "10", "`double` is not a type; did you mean `f64`?");
  check_hint("let y: string = 1;", "8", "; strings stand in print, assert, einsum, import and extern only");
  check_hint("let y: Vector = x;", "8",
             "; the types are bool, i32, i64, f32, f64, c64, c128, i8, u8, i16, u16, u32, u64, f16, bf16 and tensors "
             "such as f64[n, m]");
  check_hint("let float y = 1.0;", "5", "a type follows the name: `let y: f64 = …`");
  check_hint("f64 y = 1.0;", "5", "a declaration is written `let y: f64 = …`");
  check_hint("let y f64 = 1.0;", "7", "; a type follows a colon: `y: f64`");
  check_hint("let y = (f64) x;", "13", "a cast is written f64(x)");
  check_hint("let y = (float) x;", "17", "a cast is written f64(x)");
}

TEST_CASE("dimensions have an expression grammar of their own") {
  const std::string rule =
      "a dimension is built from integers, dimension names, params and integer scalars with + - * / % ( ); ";
  check_hint("let z: i64[count(x > 0.0)] = iota(3);", "17", rule + "give the value a name first: `let k = count(…);`");
  check_hint("let z: f64[n ** 2] = x;", "14", rule + "give the value a name first: `let k = …;`");
  check_hint("let z: f64[3][4] = A;", "14", "; the sizes stand in one pair of brackets: f64[n, m]");
}

TEST_CASE("print separates its items by commas") {
  const std::string items = "; print separates its items by commas: print(\"x =\", x)";
  check_hint("print(\"x = \" + x);", "14", "unexpected `+`" + items);
  check_hint("print(sum(x) + \" m\");", "16", "unexpected string" + items);
  check_hint("print(f\"{x}\");", "8", "there are no formatted strings" + items);
  check_hint("print(\"x = %f\" % x);", "16", items);
}

TEST_CASE("a tensor that subscripts the left side is in scope") {
  check_hint("let H[k[i]]: f64[3] += x[i];", "7",
             "`k` is not declared; k[…] on the left subscripts a tensor that must be in scope");
}

TEST_CASE("a reserved word that is declared as a name is one error, wherever it is used") {
  const std::string reserved = "is a reserved word and cannot be used as a name";
  check_hint("param then: i64 = 3;\nprint(then);", "7", "`then` " + reserved);
  check_hint("let in = 3;\nfor i in 0..3 { print(in + i); }\nlet y = in * 2;", "5", "`in` " + reserved);
  check_hint("var where = 3;\nwhere = 4;\nprint(where, where(c, x, x));", "5", "`where` " + reserved);
  check_hint("let (a, in) = svd(A);\nprint(in);", "9", "`in` " + reserved);
  check_hint("let storage = x;\noutput storage;", "5", "`storage` " + reserved);
}

TEST_CASE("what other languages write in several lines or braces is one error") {
  const std::string function = "a function is written `fn f(…) { …; return y; }`";
  check_hint("def f(t):\n  u = t + 1\n  if u > 2:\n    return u\n  return t\nlet y = x;", "1", function);
  check_hint("def f(t: float) -> float:\n  return t + 1", "1", function);
  check_hint("def f(t): return t + 1\nlet y = x;", "1", function);
  check_hint("function y = f(t)\n  for k = 1:3\n    y = t + 1;\n  end\nend\nlet y = x;", "1", function);
  check_hint("function f(t)\n  return t + 1\nend", "1", function);
  check_hint("var k = 0; do { k += 1; } while (k < 3);", "12",
             "there is no `do`; the condition comes first: `var more = true; while more { …; more = c; }`");
  check_hint("var k = 0; repeat { k += 1; } until k > 3;", "12", "`var more = true; while more { …; more = c; }`");
  check_hint("monoid m(a: f64, b: f64) { identity = 0.0; combine = { var r = a; if a == 0.0 { r = b; } return r; } }",
             "54", "statements stand in a function, `fn f(…) { …; return y; }`");
  check_hint("let y: f64[3] = {1.0, 2.0, 3.0};", "17", "; an array is written with brackets: [1.0, 2.0]");
  check_hint("def f(t) = t + 1;", "1", "unknown statement `def`; did you mean `fn`?");
}

TEST_CASE("functions without names, types as arguments, subscripts and conditions in the wrong brackets") {
  check_hint("let f = lambda t: t + 1;", "16", "every function has a name: `fn f(x) = x + 1;`");
  check_hint("let f = lambda: 1;", "15", "every function has a name: `fn f(x) = x + 1;`");
  check_hint("let f = t -> t + 1;", "11", "every function has a name: `fn f(x) = x + 1;`");
  check_hint("let f = t => t + 1;", "11", "every function has a name: `fn f(x) = x + 1;`");
  check_hint("let y = zeros(3, dtype=i64);", "27",
             "there is no `dtype`; the type is declared, `let x: i64[n] = …`, or cast to: i64(…)");
  check_hint("let s[i] = sum[j](A[i][j]);", "19", "subscripts stand in one pair of brackets: A[i, j]");
  check_hint("let s = A[0][1];", "9", "subscripts stand in one pair of brackets: A[0, 1]");
  check_hint("let s = sum[i in 0..n, x[i] > 0.0](x[i]);", "24",
             "a condition is a guard behind the last index: `sum[i in a..b where c](…)`");
  check_hint("var z = x; swap(z[0], z[1]);", "12", "; write `let t = x[i]; x[i] = x[j]; x[j] = t;`");
}

TEST_CASE("lines that go on with a statement are no statements of other languages") {
  CHECK(errors_of("fn check(t: f64) -> bool { return t < 2.0; }\nvar a = 0.0;\n"
                  "while a < 3.0 &&\ncheck(a) {\na += 1.0; }\noutput a;") == "");
  CHECK(errors_of("let repeat = true; let loop = true; let do = false;\nvar n = 0;\n"
                  "while n < 3 &&\nrepeat {\nn += 1; }\nwhile n < 5 && (\nloop) {\nn += 1; }\n"
                  "if n == 4 ||\ndo { n = 0; }\noutput n;") == "");
  CHECK(errors_of("let def = 2; let function = 3;\nlet a = def +\nfunction *\ndef;\noutput a;") == "");
}

TEST_CASE("words and brackets that are missing, and names of blocks that have ended") {
  check_hint("stats(M: f64[a, b]) -> f64 { let s = sum(M); return s; }\nlet y = stats(A);", "1",
             "missing `fn` before `stats`");
  check_hint("halve(t) { return t / 2.0; }\nlet y = halve(x);", "1", "missing `fn` before `halve`");
  check_hint("fn f(t: f64) -> f64 return t; }\nlet y = f(1.0);", "20", "missing `{` before `return`");
  check_hint("let y = upper(A', lower(A, A))};\nlet z = x;", "31", "unmatched `}`");
  check_hint("einsum(\"ij->i\", A);", "1", "this value is not used");
  check_hint("prinzz(\"iter\", n, \"norm\", x);", "8", "did you mean `print`?");
  check_hint("let s[i] = sum[j] A[i, j];", "19",
             "the expression that `sum[…]` reduces stands in parentheses: sum[i](…)");
  check_hint("let v = zeros[3];", "9", "`zeros` is a function: it is called, zeros(…)");
  check_hint("var B = A; B(0, 0) = 1.0;", "12",
             "; subscripts stand in brackets, A[i, j], and a function is defined with fn");
  check_hint("var B = A; B[0][0] = 1.0;", "12", "; subscripts stand in one pair of brackets: A[i, j]");
  check_hint("if c { let y = 2; print(y); } print(y);", "37",
             "`y` is not declared here: the block that declares it has ended");
  check_hint("let y[i] = if i == 0 then x[0] else x[i - 1];", "7",
             "write `… for i in 0..n`, in a reduction `sum[i in 0..n](…)`");
}
