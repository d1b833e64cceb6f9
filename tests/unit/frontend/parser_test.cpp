#include <doctest/doctest.h>

#include <limits>
#include <optional>
#include <string>
#include <variant>

#include "frontend/syntax/parse.h"
#include "tests/unit/frontend/ast_print.h"

using namespace tdsl::frontend;

namespace {

/// The program's tree; messages fail the test.
ast::Module parsed(const std::string& text) {
  SourceManager sources;
  DiagnosticSink sink;
  const auto module = parse_file(sources, sources.add("t.tdsl", text), sink);
  INFO(text);
  INFO(render_all(sink, sources));
  REQUIRE(module.has_value());
  return *module;
}

/// Checks that the text parses, prints as `canonical`, and that the printed text parses to the same tree.
void check_print(const std::string& text, const std::string& canonical) {
  const ast::Module module = parsed(text);
  const std::string printed = print(module);
  CHECK(printed == canonical);
  CHECK(same_structure(module, parsed(printed)));
}

/// The same for a line that is already canonical.
void check_line(const std::string& line) { check_print(line, line + "\n"); }

/// An expression with all its parentheses.
std::string tree(const std::string& expr) {
  const ast::Module module = parsed("let x = " + expr + ";");
  return print(*std::get<ast::Let>(module.statements.front()->node).definition.value, {true});
}

template <typename Node>
const Node& only(const ast::Module& module) {
  REQUIRE(module.statements.size() == 1);
  return std::get<Node>(module.statements.front()->node);
}

}  // namespace

TEST_CASE("the first program of the language page") {
  check_print(R"(// ridge.tdsl: ridge regression by the normal equations
param lambda: f64 = 1e-3;          // a command-line option
input X: f64[n, d];
input y: f64[n];
let G = X' @ X + lambda * eye(d);
let w = solve(G, X' @ y);
let r[i] = y[i] - sum[j](X[i, j] * w[j]);
print("residual", sqrt(sum(r * r) / f64(n)));
output w;
)",
              R"(param lambda: f64 = 1e-3;
input X: f64[n, d];
input y: f64[n];
let G = X' @ X + lambda * eye(d);
let w = solve(G, X' @ y);
let r[i] = y[i] - sum[j](X[i, j] * w[j]);
print("residual", sqrt(sum(r * r) / f64(n)));
output w;
)");
}

TEST_CASE("declarations") {
  for (const char* line : {
           "import std.linalg;",
           "import \"local.tdsl\";",
           "param k: i64;",
           "param flag: bool = true;",
           "input b: f64[b];",
           "input A: sparse f64[n, m];",
           "input A: f64[n, sparse m];",
           "input A: f64[sparse n, sparse (m + 1) * 2 % k];",
           "input X: f64[n, d] tile (512, 64);",
           "output w;",
           "output w: f64[n];",
           "output w = x + 1;",
           "output Z[i, j]: f64[n, m] = X[i, j] where i < j;",
           "output H[bin[i]]: f64[16] += w[i];",
           "let a = 1;",
           "var a: f64 = 1.0;",
           "let A: f64[n, m] tile (512, 256) = random(n, m);",
           "let A tile (8) = zeros(n);",
           "let tile tile (8) = tile(tile, 2);",
           "let A: f64[n, n] storage banded(n, 2) tile (4, 4) = B;",
           "let (lo, hi) = minmax(v);",
           "let (i: i64[m], j, c: f64[m, 2]) = found(v);",
           "var (p, L, U) = lu(A);",
           "(a, b) = (b, a);",
           "let norm = norm(x);",
           "let by = out + kernel;",
       }) {
    check_line(line);
  }
}

TEST_CASE("whole-tensor expressions") {
  for (const char* line : {
           "let a = transpose(A, 2, 0, 1) + A';",
           "let a = sum(A, axis=(0, 1), keepdims=true) + max(A, B) + max(A);",
           "let a = A[2:5, ::2] + A[i0, :] + A[-1, 1:-1];",
           "A[2:5, :] = B;",
           "let a = einsum(\"ijk,ir,jr->kr\", X, A, B);",
           "let a = where(c, a, b);",
           "let a = sparse(A) + dense(B) + size(A, 0);",
           "let a = (A @ B)[i, j];",
           "let a = f();",
           "let (g, h) = grad(loss, W1, W2);",
           "let a = if c then a else if d then 2 else 3;",
           "let a = f32(x) + i64(2.5e-3) + bool(0);",
           "let a = concat(A, B, axis=0) + inf - nan;",
           "let a = x[mod(i - 1, n)];",
           "let a = true && !false;",
       }) {
    check_line(line);
  }
  check_print("let a = A[::, 1::2];", "let a = A[:, 1::2];\n");
}

TEST_CASE("index notation") {
  for (const char* line : {
           "let Z[i, k] = sum[j](X[i, j] * Y[j, k]);",
           "let S[i, j] = exp(X[i, j] - max[k](X[i, k]));",
           "let L[i, j] = A[i, j] where i >= j;",
           "let U[i] = x[i - 1] / 3.0 for i in 1..n - 1;",
           "let U[i] = x[i] for i in 1..n, j in 0..m where i < j;",
           "let U[i] = x[i] where i < 2 for i in 0..n by 2;",
           "let R[(i + 1) % n, j] = A[i, j];",
           "let H[bin[i]]: f64[16] += w[i];",
           "let G[i, j] = A[p[i], j];",
           "Z[t, i] -= 1;",
           "Z[i] *= a[i];",
           "Z[i] /= a[i];",
           "Z[i] min= a[i];",
           "Z max= a;",
           "let Z[i] logaddexp= a[i, j];",
           "Z[i] logaddexp= a[i];",
           "let m = max[k where k < i](A[k]);",
           "let m = sum[i, k in 0..i](A[i, k]);",
           "let m = sum[i, k in 0..i by 2 where k < i && i < 3](A[i, k]);",
           "let a = argmin[k](d[k]);",
           "let c = count[i](x[i] > 0.0);",
       }) {
    check_line(line);
  }
}

TEST_CASE("statements") {
  check_print(R"(for i in 0..n, k in 0..m { C[i, k] = 0.0; for j in 10..0 by -1 { C[i, k] += A[i, j] * B[j, k]; } }
while norm(g) > eps && iter < maxiter { iter += 1; }
if a { b = 1; } else if c { b = 2; } else { b = 3; };
if (a) { }
print("loss\n", loss); assert(loss >= 0.0, "negative \"loss\""); assert(ok); print();
)",
              R"(for i in 0..n, k in 0..m {
  C[i, k] = 0.0;
  for j in 10..0 by -1 {
    C[i, k] += A[i, j] * B[j, k];
  }
}
while norm(g) > eps && iter < maxiter {
  iter += 1;
}
if a {
  b = 1;
} else if c {
  b = 2;
} else {
  b = 3;
}
if a {
}
print("loss\n", loss);
assert(loss >= 0.0, "negative \"loss\"");
assert(ok);
print();
)");
}

TEST_CASE("functions, monoids, extern and storage") {
  check_print(R"(fn sigmoid2(x) = 1.0 / (1.0 + exp(-x));
fn g(x: f64) -> f64 = x;
fn softmax(X: f64[n, m]) -> f64[n, m] { let E[i, j] = exp(X[i, j] - max[k](X[i, k])); return E[i, j] / )"
              R"(sum[k](E[i, k]); }
fn minmax(v: f64[n]) -> (f64, f64) { return (min(v), max(v)); }
fn tri(A: f64[n, n]) { return A[i, j] where i >= j; }
monoid logaddexp(a: f64, b: f64) { combine = if a == -inf then b else max(a, b) + log1p(exp(-abs(a - b))); )"
              R"(identity = -inf; }
extern "kernels.hpp" { fn gelu(x: f64) -> f64; kernel lu_block(A: in f64[b, b], L: out f64[b, b]); }
storage banded(n, b) { stored[2*b+1, n]; to[i,j] = (i-j+b, j) where abs(i-j) <= b; from[d,j] = (d+j-b, j); }
storage packed(n) { stored[n]; to[i] = i; from[i] = i; }
)",
              R"(fn sigmoid2(x) = 1.0 / (1.0 + exp(-x));
fn g(x: f64) -> f64 = x;
fn softmax(X: f64[n, m]) -> f64[n, m] {
  let E[i, j] = exp(X[i, j] - max[k](X[i, k]));
  return E[i, j] / sum[k](E[i, k]);
}
fn minmax(v: f64[n]) -> (f64, f64) {
  return (min(v), max(v));
}
fn tri(A: f64[n, n]) {
  return A[i, j] where i >= j;
}
monoid logaddexp(a: f64, b: f64) {
  identity = -inf;
  combine = if a == -inf then b else max(a, b) + log1p(exp(-abs(a - b)));
}
extern "kernels.hpp" {
  fn gelu(x: f64) -> f64;
  kernel lu_block(A: in f64[b, b], L: out f64[b, b]);
}
storage banded(n, b) {
  stored[2 * b + 1, n];
  to[i, j] = (i - j + b, j) where abs(i - j) <= b;
  from[d, j] = (d + j - b, j);
}
storage packed(n) {
  stored[n];
  to[i] = i;
  from[i] = i;
}
)");
}

TEST_CASE("precedence") {
  CHECK(tree("-2.0 ** 2") == "(-(2.0 ** 2))");
  CHECK(tree("2 ** 3 ** 4") == "(2 ** (3 ** 4))");
  CHECK(tree("2 ** -x ** 2") == "(2 ** (-(x ** 2)))");
  CHECK(tree("a ** b'") == "(a ** (b'))");
  CHECK(tree("-A'") == "(-(A'))");
  CHECK(tree("A'[0]") == "((A')[0])");
  CHECK(tree("a - b - c") == "((a - b) - c)");
  CHECK(tree("a - (b - c)") == "(a - (b - c))");
  CHECK(tree("a @ b * c % d / e") == "((((a @ b) * c) % d) / e)");
  CHECK(tree("-a * b") == "((-a) * b)");
  CHECK(tree("!a == b") == "((!a) == b)");
  CHECK(tree("a + b < c * d && e || f && g") == "((((a + b) < (c * d)) && e) || (f && g))");
  CHECK(tree("if a then b else c + d || e") == "(if a then b else ((c + d) || e))");
  CHECK(tree("(a < b) == c") == "((a < b) == c)");
  check_line("let x = (-2) ** 2 + (a ** b) ** c + 2 ** -x;");
  check_line("let x = (if a then b else c) + (a < b) * (c || d) - -d;");
  check_line("let x = (a + b)' + (-a)[0] + 2 ** (!a);");
  check_line("let x = [1.0, -2.0][i] + ([[1, 2], [a, b]] @ tile(c, 2))[0];");
  check_line("let x = A[..., 0] + B[:, newaxis, ::-1];");
}

TEST_CASE("numbers") {
  const auto literal = [](const std::string& text) {
    const ast::Module module = parsed("let x = " + text + ";");
    return only<ast::Let>(module).definition.value;
  };
  CHECK(std::get<ast::IntegerLiteral>(literal("1_000_000")->node).value == 1000000);
  CHECK(std::get<ast::IntegerLiteral>(literal("9223372036854775807")->node).value ==
        std::numeric_limits<std::int64_t>::max());
  CHECK(std::get<ast::FloatLiteral>(literal("2.5e-3")->node).value == 2.5e-3);
  CHECK(std::get<ast::FloatLiteral>(literal("1e5")->node).value == 1e5);
  CHECK(std::get<ast::FloatLiteral>(literal("1e-400")->node).value == 0.0);
  CHECK(std::get<ast::FloatLiteral>(literal("inf")->node).value == std::numeric_limits<double>::infinity());
  CHECK(std::get<ast::IntegerLiteral>(literal("0xFF_ff")->node).value == 0xFFFF);
  CHECK(std::get<ast::IntegerLiteral>(literal("0b1010")->node).value == 10);
  const auto most = std::get<ast::IntegerLiteral>(literal("0xFFFF_FFFF_FFFF_FFFF")->node);
  CHECK((most.beyond_i64 && most.value == -1));
  const ast::ExprPtr minimum = literal("-9223372036854775808");
  const auto& negated = std::get<ast::Unary>(minimum->node);
  CHECK(std::get<ast::IntegerLiteral>(negated.operand->node).value == std::numeric_limits<std::int64_t>::min());
  CHECK(tree("sum[i in 1..5](i)") == "sum[i in 1..5](i)");
}

TEST_CASE("ranges of nodes") {
  const ast::Module module = parsed("/* é */ let a = (b + c) * d;\n\tprint(\"é\", x);");
  const auto& let = std::get<ast::Let>(module.statements[0]->node);
  CHECK(module.statements[0]->range == tdsl::ir::SourceRange{0, 1, 9, 1, 29});
  CHECK(let.target.name.range == tdsl::ir::SourceRange{0, 1, 13, 1, 14});
  const auto& product = std::get<ast::Binary>(let.definition.value->node);
  CHECK(product.op_range == tdsl::ir::SourceRange{0, 1, 25, 1, 26});
  CHECK(product.lhs->range == tdsl::ir::SourceRange{0, 1, 17, 1, 24});
  CHECK(product.lhs->parentheses == 1);
  const auto& printed = std::get<ast::Print>(module.statements[1]->node);
  CHECK(printed.items[1]->range == tdsl::ir::SourceRange{0, 2, 13, 2, 14});
}

TEST_CASE("comments are kept beside the tree") {
  const ast::Module module = parsed("// one\r\nlet a = 1; /* two\n */ // three\n");
  REQUIRE(module.comments.size() == 3);
  CHECK(module.comments[0].text == "// one");
  CHECK(module.comments[1].text == "/* two\n */");
  CHECK(module.comments[1].range == tdsl::ir::SourceRange{0, 2, 12, 3, 4});
  CHECK(module.comments[2].range.column == 5);
}

TEST_CASE("empty files and a byte order mark") {
  CHECK(parsed("").statements.empty());
  CHECK(parsed("// nothing").statements.empty());
  CHECK(parsed("\xEF\xBB\xBFlet a = 1;").statements.size() == 1);
}

TEST_CASE("a long file and a wide expression") {
  std::string text;
  for (int i = 0; i < 20000; ++i) { text += "let a" + std::to_string(i) + " = f(1, 2)[0] + 3;\n"; }
  text += "let s = f(";
  for (int i = 0; i < 20000; ++i) { text += "1, "; }
  CHECK(parsed(text + "1);").statements.size() == 20001);
}
