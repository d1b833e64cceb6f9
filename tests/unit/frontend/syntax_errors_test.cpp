#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

#include "frontend/syntax/parse.h"
#include "frontend/syntax/token.h"

using namespace tdsl::frontend;

namespace {

/// Every diagnostic as "line:col id: message", one per line, in order.
std::string syntax_errors_of(const std::string& text) {
  SourceManager sources;
  DiagnosticSink sink;
  const auto module = parse_file(sources, sources.add("t.tdsl", text), sink);
  CHECK(module.has_value() == !sink.has_errors());
  std::string result;
  for (const Diagnostic& diagnostic : sink.sorted()) {
    result += std::to_string(diagnostic.range.line) + ":" + std::to_string(diagnostic.range.column) + " " +
              std::string(id_text(diagnostic.id)) + ": " + diagnostic.message + "\n";
  }
  return result;
}

void check_error(const std::string& text, const std::string& expected) {
  INFO(text);
  CHECK(syntax_errors_of(text) == expected + "\n");
}

std::string repeated(const std::string& part, int count) {
  std::string result;
  for (int i = 0; i < count; ++i) { result += part; }
  return result;
}

constexpr const char* kStringPlaces = "a string can stand only in print, assert, einsum, import and extern";

}  // namespace

TEST_CASE("lexical errors") {
  check_error("let a = 1.;", "1:9 bad-number: malformed number `1.`: a point needs digits on both sides; write `1.0`");
  check_error("let a = .5;", "1:9 bad-number: malformed number `.5`: a point needs digits on both sides; write `0.5`");
  check_error("let a = 1e+;", "1:9 bad-number: malformed number `1e+`: the exponent has no digits");
  check_error("let a = 2x;", "1:9 bad-number: malformed number `2x`; a product needs `*`");
  check_error("let a = 0o17;",
              "1:9 bad-number: malformed number `0o17`: integers are written in decimal, as 0xFF or as 0b1010");
  check_error("let a = 0x1G;",
              "1:9 bad-number: malformed number `0x1G`: a hexadecimal number has the digits 0 to 9 and A to F");
  check_error("let a = 0b12;", "1:9 bad-number: malformed number `0b12`: a binary number has the digits 0 and 1");
  check_error("let a = 1_;", "1:9 bad-number: malformed number `1_`: `_` stands between digits");
  check_error("let a = 99999999999999999999;",
              "1:9 integer-overflow: the integer 99999999999999999999 does not fit 64 bits");
  check_error("let a = -9223372036854775809;",
              "1:9 integer-overflow: the integer -9223372036854775809 does not fit 64 bits");
  check_error("let a = 1e999;", "1:9 float-overflow: the number 1e999 is too large for f64");
  check_error("let a = 1;\n/* é", "2:1 unterminated-comment: this comment has no `*/`");
  check_error("print(\"abc);\nlet a = 1;", "1:7 unterminated-string: this string has no closing `\"` on its line");
  check_error("print(\"é\\q\");", "1:9 bad-escape: unknown escape `\\q`; the escapes are \\\\ \\\" \\n \\t");
  check_error("let a = b $ c;", "1:11 unknown-character: unknown character `$`");
  check_error("let a = é ≤ c;",
              "1:9 unknown-character: unknown character `é`\n"
              "1:11 unknown-character: unknown character `≤`; did you mean `<=`?");
  check_error(std::string("let a = \x01 1;"), "1:9 unknown-character: unknown control character 1");
  check_error("let a = 1;\n// caf\xE9\n", "2:7 bad-utf8: this is not valid UTF-8 text");
}

TEST_CASE("missing semicolons stand at the end of the statement and hide nothing") {
  check_error("let a = 1\nlet b = ;\n",
              "1:10 missing-semicolon: missing `;` before `let`\n"
              "2:9 syntax: expected an expression before `;`");
  check_error("a = 1 // comment\nb = 2;", "1:6 missing-semicolon: missing `;` before `b`");
  check_error("print(\"é\")\nfor i in 0..n { }", "1:11 missing-semicolon: missing `;` before `for`");
  check_error("let a = b\nfor i in 0..n { }", "1:10 missing-semicolon: missing `;` before `for`");
  check_error("let a = b\nif c { a = 1 }",
              "1:10 missing-semicolon: missing `;` before `if`\n"
              "2:13 missing-semicolon: missing `;` before `}`");
  check_error("let a = 1", "1:10 missing-semicolon: missing `;` before the end of the file");
}

TEST_CASE("brackets and braces") {
  check_error("let a = (1 + 2;\nlet b = ;",
              "1:15 syntax: expected `)` or `,` before `;`\n"
              "2:9 syntax: expected an expression before `;`");
  check_error("let a = f(x\nlet b = ;",
              "1:12 syntax: expected `)` or `,` before `let`\n"
              "2:9 syntax: expected an expression before `;`");
  check_error("let a = A[1, 2;", "1:15 syntax: expected `]` or `,` before `;`");
  check_error("let a = 1);", "1:10 syntax: expected `;` before `)`");
  check_error("let a = 1..5;",
              "1:10 syntax: unexpected `..`; a range follows `in`, and iota(n) is the tensor 0, 1, … n - 1");
  check_error("fn f(x) = x where x > 0.0;",
              "1:13 syntax: unexpected `where`; it belongs to a statement: "
              "`fn f(x: f64[n]) -> f64[n] { let y[i] = … where …; return y; }`");
  check_error("let a = x[];", "1:11 syntax: expected an expression before `]`");
  check_error("fn f(x: f64) {\n  return x;\n", "2:12 syntax: missing `}` before the end of the file");
  check_error("var s = 0;\nif s > 1 { s = 1; } else s = 2; }", "2:25 syntax: missing `{` before `s`");
  check_error("let y[i = x[i];", "1:9 syntax: expected `]` before `=`");
  check_error("let y = sum(x) +\nif y > 0.0 { print(y); }", "1:17 syntax: expected an expression before `if`");
  const std::string monoid = "monoid m(a: f64, b: f64) {\n  identity = 0.0;\n  combine = a + b;\n";
  check_error(monoid + "let y = 2;\nprint(y);", "3:19 syntax: missing `}` before `let`");
  check_error(monoid + "print(2);", "3:19 syntax: missing `}` before `print`");
  check_error("let a = 1;\n}\nlet b = ;", "2:1 syntax: unmatched `}`\n3:9 syntax: expected an expression before `;`");
  check_error("if a < b\n  a = 1;\nprint(a);", "1:9 syntax: missing `{` before `a`");
  check_error("for i in 0..3 {\n  if a < b\n    a = 1;\n}\nlet c = ;",
              "2:11 syntax: missing `{` before `a`\n5:9 syntax: expected an expression before `;`");
  check_error("while a < b\n  a = 1;\n}", "1:12 syntax: missing `{` before `a`");
}

TEST_CASE("words") {
  check_error("let in = 1;", "1:5 reserved-name: `in` is a reserved word and cannot be used as a name");
  check_error("fn f(then: f64) = 1;", "1:6 reserved-name: `then` is a reserved word and cannot be used as a name");
  check_error("param f64: f64;", "1:7 reserved-name: `f64` is a reserved word and cannot be used as a name");
  check_error("inptu X: f64[n];", "1:1 syntax: unknown statement `inptu`; did you mean `input`?");
  check_error("lett x = 1;", "1:1 syntax: unknown statement `lett`; did you mean `let`?");
  check_error("const x = 1;", "1:1 syntax: unknown statement `const`; did you mean `let`?");
  check_error("def f(x) = 1;", "1:1 syntax: unknown statement `def`; did you mean `fn`?");
  check_error("function f(x) { return x; }\nlet a = ;",
              "1:1 syntax: unknown statement `function`; did you mean `fn`?\n"
              "2:9 syntax: expected an expression before `;`");
  check_error("for i in 0..3 { retrun x; }", "1:17 syntax: unknown statement `retrun`; did you mean `return`?");
  check_error("whlie true { }", "1:1 syntax: unknown statement `whlie`; did you mean `while`?");
  check_error("whlie (a < b) { c = 1; }", "1:1 syntax: unknown statement `whlie`; did you mean `while`?");
  check_error("print x;\nassert x > 0;\nprint \"a\";",
              "1:7 syntax: missing `(` after `print`\n2:8 syntax: missing `(` after `assert`\n3:7 syntax: missing `(` "
              "after `print`");
  check_error("let x y = 1;", "1:7 syntax: unexpected name `y` before `=`");
  check_error("let a = b and c;", "1:11 syntax: unexpected `and`; did you mean `&&`?");
  check_error("let a == 3;", "1:7 syntax: unexpected `==`; did you mean `=`?");
  check_error("if a = b { c = 1; }", "1:6 syntax: unexpected `=`; did you mean `==`?");
  check_error("prnt(\"x\");", std::string("1:6 misplaced-string: ") + kStringPlaces + "; did you mean `print`?");
  check_error("prnt(x);", "1:1 unused-expression: this value is not used; did you mean `print`?");
}

TEST_CASE("expressions") {
  check_error("let a = 1 +;", "1:12 syntax: expected an expression before `;`");
  check_error("let a = 1 < 2 < 3;",
              "1:15 chained-comparison: comparisons do not chain; write `a < b && b < c`, or parentheses to compare "
              "truth values");
  check_error("let a = 1 + if b then c else d;",
              "1:13 syntax: an `if` expression inside another expression needs parentheses");
  check_error("let a = b++;", "1:11 syntax: there is no `++`; write `b += 1`");
  check_error("let a = b + +c;", "1:13 syntax: there is no unary `+`");
  check_error("let a = 'x';", "1:9 syntax: unexpected `'`; strings are written with double quotes");
  check_error("let a = \"x\";", std::string("1:9 misplaced-string: ") + kStringPlaces);
  check_error("let a = f(\"x\");", std::string("1:11 misplaced-string: ") + kStringPlaces);
  check_error("let a = max(a, b)(c);", "1:9 not-callable: this cannot be called: only a name can; a product needs `*`");
  check_error("let a = f64(1, 2);", "1:9 not-callable: a cast takes exactly one value: `f64(x)`");
  check_error("let a = f(axis=1, axis=2, 3);",
              "1:19 bad-named-argument: the argument `axis=` is given twice\n"
              "1:27 bad-named-argument: named arguments come after the others");
  check_error("let a = (1, 2);",
              "1:9 misplaced-tuple: a tuple can stand only after `return`, in `let (a, b) = …` and in `(a, b) = …`");
  check_error("let a = 2j;", "1:9 bad-number: malformed number `2j`: the imaginary unit is `i`; write `2i`");
  check_error("let a = c128(1, 2, 3);", "1:9 not-callable: a cast takes exactly one value: `c128(x)`");
}

TEST_CASE("index notation") {
  check_error("let a = sum[i + 1](x[i]);",
              "1:13 bad-reduction: an index of `sum[…]` is a name or `name in a..b`; the result of a subscript cannot "
              "be called: a product needs `*`");
  check_error("let a = sum[i](x, y);", "1:9 bad-reduction: `sum[…](…)` takes exactly one expression");
  check_error("let a = sum[i where i > 0, k](x[i]);", "1:21 bad-reduction: the guard follows the last index");
  check_error(
      "let a = x[i + 1 where i > 0];",
      "1:17 syntax: a guard follows an index variable or its range: max[k where k < i](…), sum[k in 0..n where k "
      "!= i](…)");
  check_error("let a = A[i in 0..n];",
              "1:11 misplaced-range: a range in brackets belongs to a reduction such as `sum[i in a..b](…)`");
  check_error("let a[i] = x[i] where a where b;",
              "1:25 repeated-suffix: a statement has one guard; join conditions with `&&`");
  check_error("let a[i] = x[i] for i in 0..n for j in 0..n;",
              "1:31 repeated-suffix: a statement has one `for`; separate ranges with `,`");
  check_error("for i in 0:n { }\nlet b = ;",
              "1:11 syntax: unexpected `:`; a range is written `a..b`\n"
              "2:9 syntax: expected an expression before `;`");
  check_error("for i im 0..n { a = ; }",
              "1:7 syntax: expected `in` before `im`\n1:21 syntax: expected an expression before `;`");
}

TEST_CASE("statements") {
  const std::string unused =
      "unused-expression: this value is not used; print(…) shows it, `return …;` ends a function with it";
  check_error("x;", "1:1 " + unused);
  check_error("fn f(x) { let y = x; y }", "1:22 " + unused);
  check_error("f(x) = 1;",
              "1:1 bad-target: only a name or a subscripted name can be assigned to; subscripts stand in brackets, "
              "A[i, j], and a function is defined with fn");
  check_error("(a, b[0]) = f(x);", "1:5 bad-target: a tuple on the left has plain names only");
  check_error("let (a) = 1;", "1:7 syntax: expected `,` or `:` before `)`");
  check_error("input A;", "1:8 syntax: expected `:` before `;`");
  check_error("return 1;", "1:1 misplaced-statement: `return` can stand only in a function");
  check_error("if a { input X: f64; }", "1:8 misplaced-statement: `input` can stand only at top level, outside braces");
  check_error("assert(\"x\");",
              "1:1 bad-assert: assert takes a condition and, optionally, a string: assert(x > 0.0, \"message\")");
  check_error("print(sep=1);", "1:7 bad-named-argument: print takes no named arguments");
  check_error("let a tile (1) tile (2) = 1;", "1:16 repeated-annotation: a declaration has one `tile` annotation");
  check_error("let v: f64[n m] = 3;", "1:14 syntax: expected `]` or `,` before `m`");
  check_error("monoid m(a: f64, b: f64) { identty = 3; combine = a; }",
              "1:28 bad-monoid: a monoid has `identity` and `combine`, not `identty`; did you mean `identity`?");
  check_error("monoid m(a: f64, b: f64) { identity = 3; }", "1:8 bad-monoid: the monoid `m` lacks `combine`");
  check_error(
      "monoid m(a) { identity = 3; combine = a; }",
      "1:8 bad-monoid: a monoid has two typed parameters and no written result: monoid m(a: f64, b: f64) { … }");
  check_error("storage s(n) { stored[n]; to[i] = i; }", "1:9 bad-storage: the storage `s` lacks `from`");
  check_error("extern \"a.hpp\" { kernel k(A: f64[n]); fn h(y: f64) }",
              "1:30 syntax: expected `in` before `f64`\n"
              "1:51 missing-semicolon: missing `;` before `}`");
}

TEST_CASE("ten mistakes give ten errors") {
  const std::string text = R"(input X: f64[n, d]
let a = 1 +;
let b = (2 * 3;
let in = 4;
lett c = 5;
let d = 1 < 2 < 3;
let e = A[1, 2;
let f = x @@ y;
for i im 0..n { x[i] = 1; }
fn f(x: f64[n) -> f64 { return x; }
let ok = 1;
)";
  std::vector<std::uint32_t> lines;
  SourceManager sources;
  DiagnosticSink sink;
  CHECK_FALSE(parse_file(sources, sources.add("t.tdsl", text), sink).has_value());
  for (const Diagnostic& diagnostic : sink.sorted()) { lines.push_back(diagnostic.range.line); }
  CHECK(lines == std::vector<std::uint32_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
}

TEST_CASE("deep nesting is an error, not a crash") {
  const auto id_of = [](const std::string& text) {
    SourceManager sources;
    DiagnosticSink sink;
    CHECK_FALSE(parse_file(sources, sources.add("t.tdsl", text), sink).has_value());
    REQUIRE(sink.diagnostics().size() == 1);
    return id_text(sink.diagnostics().front().id);
  };
  constexpr int kMany = 50000;
  CHECK(id_of("let a = " + repeated("(", kMany) + "1" + repeated(")", kMany) + ";") == "nesting-too-deep");
  CHECK(id_of("let a = " + repeated("-", kMany) + "1;") == "nesting-too-deep");
  CHECK(id_of("let a = 1" + repeated(" + 1", kMany) + ";") == "nesting-too-deep");
  CHECK(id_of("let a = 1" + repeated(" ** 1", kMany) + ";") == "nesting-too-deep");
  CHECK(id_of("let a = b" + repeated("'", kMany) + ";") == "nesting-too-deep");
  CHECK(id_of("let a = " + repeated("if b then 1 else ", kMany) + "1;") == "nesting-too-deep");
  CHECK(id_of(repeated("if a { ", kMany) + repeated("}", kMany)) == "nesting-too-deep");
  const auto arms = [](int count) { return "if a { }" + repeated(" else if a { }", count - 1) + " else { }"; };
  CHECK(id_of(arms(20000)) == "nesting-too-deep");
  CHECK(id_of(arms(251)) == "nesting-too-deep");
  CHECK(syntax_errors_of(arms(250)).empty());
  CHECK(id_of(repeated("if a { ", 251) + repeated("}", 251)) == "nesting-too-deep");
  CHECK(syntax_errors_of(repeated("if a { ", 250) + repeated("}", 250)).empty());
  CHECK(syntax_errors_of("let a = " + repeated("(", 900) + "1" + repeated(")", 900) + repeated(" + 1", 900) + ";")
            .empty());
}

TEST_CASE("characters that disguise source text are errors, each with its position") {
  const auto found = [](const std::string& text) {
    SourceManager sources;
    DiagnosticSink sink;
    CHECK_FALSE(parse_file(sources, sources.add("t.tdsl", text), sink).has_value());
    std::string all;
    for (const Diagnostic& d : sink.sorted()) {
      all += std::to_string(d.range.line) + ":" + std::to_string(d.range.column) + " " + std::string(id_text(d.id)) +
             " " + d.message + "\n";
      CHECK(render(d, sources).find("\xE2\x80\xAE") == std::string::npos);
    }
    return all;
  };
  const std::string rest = " makes the line look other than it is compiled; remove it\n";
  const std::string control = " hidden-character a control character for right-to-left text ";
  CHECK(found("let a = 1;\n/* \xE2\x80\xAE } */ print(\"\xE2\x81\xA6\", a);") ==
        "2:4" + control + "(U+202E)" + rest + "2:18" + control + "(U+2066)" + rest);
  CHECK(found("let \xE2\x80\xAE = 1;").starts_with("1:5" + control));
  using namespace std::string_literals;
  CHECK(found("print(\"ab\0c\");"s) == "1:10 hidden-character a string cannot hold a NUL character\n");
  CHECK(syntax_errors_of("print(\"\xE2\x80\x94 \xE2\x81\xAF\"); // \0"s).empty());
}

TEST_CASE("a file of too many words is refused where they are too many, and none of them is kept") {
  SourceManager sources;
  DiagnosticSink sink;
  const auto file = sources.add("t.tdsl", "let a = 1" + repeated("\n+1", 400'000) + repeated(" //\n", 10) + ";");
  CHECK(tokenize(sources, file, sink).tokens.size() == 1);
  REQUIRE(sink.diagnostics().size() == 1);
  CHECK(id_text(sink.diagnostics().front().id) == "file-too-large");
  CHECK(sink.diagnostics().front().range.line == 1 + 249'999);
  CHECK(sink.diagnostics().front().message ==
        "the file has more than 500000 words, signs and comments; data belongs into an input");
}

TEST_CASE("damaged programs never crash and always have a message") {
  const std::string program = R"(param lambda: f64 = 1e-3;
input X: sparse f64[n, d + 1] tile (4, 4);
fn f(X: f64[n]) -> (f64, f64) { let E[i] = exp(X[i]); return (min(E), sum[k in 0..n where k > 2](E[k])); }
monoid m(a: f64, b: f64) { identity = -inf; combine = if a == b then b else max(a, b); }
extern "k.hpp" { fn g(x: f64) -> f64; kernel h(A: in f64[b], L: out f64[b]); }
storage s(n) { stored[n]; to[i] = i; from[i] = i where i > 2; }
for i in 0..n, j in 10..0 by -1 { while a < b { A[i, 2:3] += B'[::2, i] ** -2; } }
if a { (x, y) = f(z); } else { let H[bin[i]]: f64[16] min= w[i] where i > 1 for i in 1..n; }
print("é", x); assert(x > 0, "m"); output w;
)";
  std::mt19937 random(1);
  for (int round = 0; round < 1000; ++round) {
    std::string text = program;
    for (int change = 0; change <= round % 4; ++change) {
      const std::size_t place = random() % text.size();
      switch (random() % 3) {
        case 0: text.erase(place, 1 + random() % 8); break;
        case 1: text.insert(place, text.substr(random() % text.size(), 1 + random() % 8)); break;
        default: text[place] = static_cast<char>(random() % 256); break;
      }
    }
    SourceManager sources;
    DiagnosticSink sink;
    const auto module = parse_file(sources, sources.add("t.tdsl", text), sink);
    CHECK(module.has_value() == !sink.has_errors());
    CHECK(render_all(sink, sources).empty() == sink.empty());
    CHECK(sink.diagnostics().size() < 20);
  }
}
