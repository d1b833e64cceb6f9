#include <string>
#include <vector>

#include "ir/differentiate/differentiate.h"
#include "tests/unit/differentiated.h"
#include "tests/unit/gradient/check.h"

using namespace tdsl;
using namespace tdsl::tests;

namespace {

/// A scalar loss over `x: f64[n]`, `y: f64[n]`, `A: f64[n, m]`, `B: f64[m, k]`, positive `p: f64[n]` and integers `c:
/// i64[l]` from 0 to 2; `body` declares `loss`.
void check_text(const std::string& body) {
  const std::string inputs =
      "input x: f64[n]; input y: f64[n]; input A: f64[n, m]; input B: f64[m, k]; input p: f64[n]; input c: i64[l];\n";
  const std::string outputs =
      "\nlet (gx, gy, gA, gB, gp) = grad(loss, x, y, A, B, p);\noutput d_x = gx; output d_y = gy; output d_A = gA; "
      "output d_B = gB; output d_p = gp; output loss;\n";
  GradientCheck(inputs + body + outputs).run();
}

/// A program without inputs whose assertions must hold.
void holds(const std::string& text) {
  frontend::SourceManager sources;
  frontend::DiagnosticSink sink;
  const auto program = tests::differentiated(sources, sources.add("test.tdsl", text), sink);
  INFO(frontend::render_all(sink, sources));
  REQUIRE(program.has_value());
  const auto result = ir::evaluate(*program, {});
  CHECK((result.error ? result.error->message : "") == "");
}

std::vector<std::string> problems_of(const std::string& text) {
  frontend::SourceManager sources;
  frontend::DiagnosticSink sink;
  frontend::CompileOptions options;
  options.warn_unused = false;
  const auto program = tests::differentiated(sources, sources.add("test.tdsl", text), sink, options);
  CHECK_FALSE(program.has_value());
  std::vector<std::string> found;
  for (const frontend::Diagnostic& d : sink.sorted())
    found.push_back(std::to_string(d.range.line) + ": " + std::string(frontend::id_text(d.id)) + ": " + d.message);
  return found;
}

}  // namespace

TEST_CASE("grad: functions with statements, applied per element") {
  const std::string root = "fn root(a) { var s = 1.0; for i in 0..8 { s = 0.5 * (s + a / s); } return s; }\n";
  const std::string halves =
      "fn halves(a, b) { var s = a * b; var n = 0; while abs(s) > 0.3 { s = s / 2.0 + 0.01 * sin(a); n += 1; } "
      "if n > 2 { s = s * s; } else { s += exp(b); } return s + a; }\n";
  const std::string power = "fn power(a: f64, n: i64) -> f64 { var r = 1.0; for i in 0..n { r = r * a; } return r; }\n";
  const std::string both = "fn both(a) { var s = root(a); s += power(s, 2) * a; return s; }\n";
  const std::string all = root + halves + power + both;
  check_text(all + "let loss = sum(root(p)) + sum(root(p * p));");
  check_text(all + "let loss = sum(halves(x, y) * p);");
  check_text(all + "let loss = sum[i](power(x[i] * y[i], i % 4));");
  check_text(all + "let z[i, j] = halves(A[i, j], x[i]); let loss = sum(z * z);");
  check_text(all + "let loss = sum(both(p) / p);");
  check_text(all + "let z[i] = if x[i] > 0.0 then root(p[i] + x[i]) else y[i]; let loss = sum(z);");
  // Nested derivatives of first and second order.
  const std::string inside =
      "fn slope(a, b) { var s = a; for i in 0..3 { s = s * a + sin(b); } let y = s * s; return grad(y, a) + a * "
      "grad(y, b); }\n"
      "fn curve(a) { let y = a * a * a * exp(a); let d = grad(y, a); return grad(d, a); }\n";
  check_text(inside + "let z[i] = slope(x[i], y[i]); let loss = sum(z * p);");
  check_text(inside + "let loss = sum(curve(x));");
  holds(inside +
        "let x[i] = f64(i) / 4.0 for i in 0..5; let c = (6.0 * x + 6.0 * x * x + x * x * x) * exp(x); "
        "assert(max(abs(curve(x) - c)) < 1e-12); "
        "assert(abs(slope(0.5, 0.25) - slope(x + 0.5, x + 0.25)[0]) < 1e-12);");
  // Of tables, point by point: an ordinary loop.
  check_text(
      "fn along(t: f64[n], a: f64) -> f64 { var s = 0.0; for i in 0..n { s += t[i] * sin(a + f64(i)); } return s; }\n"
      "let z[i] = along(y, x[i]); let loss = sum(z * p);");
}

TEST_CASE("grad: every scalar function") {
  for (const std::string f : {"abs(x)",
                              "sqrt(p)",
                              "exp(x)",
                              "log(p)",
                              "log1p(p)",
                              "expm1(x)",
                              "sin(x)",
                              "cos(x)",
                              "tan(x)",
                              "tanh(x)",
                              "erf(x)",
                              "sigmoid(x)",
                              "relu(x)",
                              "floor(x) * x",
                              "ceil(x) + x",
                              "round(3.0 * x) * x",
                              "sign(x) * x",
                              "-x",
                              "x * y",
                              "x / p",
                              "p / (2.0 + x)",
                              "x - 2.0 * y",
                              "x ** 2",
                              "x ** 3",
                              "x ** 2.0",
                              "p ** 1.5",
                              "p ** y",
                              "2.5 ** x",
                              "pow(p, -2)",
                              "min(x, y)",
                              "max(x, y)",
                              "max(x, 0.1)",
                              "mod(3.0 * x, p)",
                              "(3.0 * x) % p",
                              "x * x * x",
                              "exp(x * y) * tanh(x)",
                              "where(x > y, x * y, sin(y))",
                              "f64(f32(3.0)) * x",
                              "(if sum(x) > 0.0 then x * y else y)"}) {
    check_text("let z = " + f + "; let loss = sum(z * (1.0 + y)) + sum(z);");
  }
}

TEST_CASE("grad: own values are read, not computed again") {
  const GradientCheck g(
      "input x: f64[n]; let z = exp(x); let loss = sum(z); let g = grad(loss, x); output d_x = g; output loss;");
  CHECK(ir::print(g.program()).find("exp") == ir::print(g.program()).rfind("exp"));
}

TEST_CASE("grad: reductions") {
  for (const std::string r : {"sum(A)",
                              "prod(p)",
                              "prod(x)",
                              "max(A)",
                              "min(A)",
                              "mean(A)",
                              "norm(A)",
                              "sum(sum(A, axis=0) ** 2)",
                              "sum(max(A, axis=1) * x)",
                              "sum(min(A, axis=0) ** 2)",
                              "sum(prod(A, axis=1))",
                              "sum(mean(A, axis=0) ** 3)",
                              "sum[i](x[i] * max[j](A[i, j]))",
                              "max[i, j](A[i, j] * x[i])",
                              "sum[i](x[i] * prod[j where j != i](A[j, 0]))",
                              "max[i where x[i] > 0.0](y[i])",
                              "f64(argmax(x)) * sum(x)",
                              "f64(count(x > 0.0)) * sum(x)",
                              "mean[i where x[i] > 0.0](y[i] * x[i])",
                              "sum[i, j where i > j](A[i, j] * B[j, 0])"}) {
    check_text("let loss = " + r + " + 0.5 * sum(x * x);");
  }
}

TEST_CASE("grad: a product with zeros") {
  holds(
      "let x: f64[4] = zeros(4); var v = x; v[0] = 2.0; v[1] = 3.0; v[2] = 5.0;"
      "let loss = prod(v); let g = grad(loss, v); v[3] = 7.0; let l2 = prod(v); let h = grad(l2, v);"
      "let w = zeros(3); let l3 = prod(w); let k = grad(l3, w);"
      "assert(all(g[:3] == 0.0) && g[3] == 30.0); assert(h[0] == 105.0 && h[3] == 30.0); assert(all(k == 0.0));"
      "print(loss, l2, l3);");
}

TEST_CASE("grad: equal optima share") {
  holds(
      "let x: f64[4] = ones(4); let l = max(x); let g = grad(l, x); assert(all(g == 0.25));"
      "let A: f64[2, 2] = ones(2, 2); let m = sum(min(A, axis=1)); let h = grad(m, A); assert(all(h == 0.5));"
      "let z: f64[3] = zeros(3); let r = sum(max(z, 0.0)) + sum(relu(z)) + sum(abs(z)); let k = grad(r, z);"
      "assert(all(k == 0.5));");
}

TEST_CASE("grad: products and index notation") {
  for (const std::string e : {"sum((A @ B) ** 2)", "sum(x @ A)", "sum(sin(A @ B) @ (B' @ B))", "sum((A' @ A) @ B)",
                              "x @ y", "sum(einsum(\"ij,jk,i->ik\", A, B, x) ** 2)", "sum(outer(x, y) ** 2 @ A)",
                              "trace(A' @ A)", "sum(A * A[:, 0:1])"}) {
    check_text("let loss = " + e + ";");
  }
  check_text("let Z[i, q] = sum[j](A[i, j] * B[j, q]); let loss = sum(Z ** 3);");
  check_text("let D[i, q] = sum[j]((A[i, j] - B[j, q]) ** 2); let loss = sum(sqrt(D + 1.0));");
  check_text("let M[i, q] = min[j](A[i, j] + B[j, q]); let loss = sum(M * M);");
  check_text(
      "let E[i, j] = exp(A[i, j] - max[q](A[i, q])); let S[i, j] = E[i, j] / sum[q](E[i, q]);"
      "let loss = sum[i, j](S[i, j] * S[i, j] * x[i]);");
  check_text("let L[i, j] = A[i, j] * B[j, 0] where i >= j; let loss = sum(L * L);");
  check_text("let U[i] = (x[i-1] * x[i] + x[i+1]) / 3.0 for i in 1..n-1; let loss = sum(U * U);");
  check_text("let C[i] = sum[j in 0..2](x[i + j] * p[j]) for i in 0..n-1; let loss = sum(C * C);");
  check_text("let C[i] = sum[j in 0..2](x[2 * i + j] * p[j]) for i in 0..2; let loss = sum(C * C);");
  check_text("let R[i] = x[n - 1 - i] * y[i]; let loss = sum(R * R);");
  check_text("let d[i] = A[i, i] * x[i] for i in 0..3; let loss = sum(d * d);");
  check_text("let w[i] = x[mod(i - 1, n)] * y[i]; let loss = sum(w * w);");
  check_text("let w[(i + 1) % n] = x[i] * y[i]; let loss = sum(w * w * p);");
  check_text(
      "let w[(i + 1) % n] = x[i] * y[i]; let q[i] = w[(i + 3) % n] * x[mod(2 - i, n)] for i in 0..n; let loss = sum(q "
      "* w);");
  check_text("let loss = sum[i, j in 0..i](x[i] * y[j]);");
}

TEST_CASE("grad: gathers and scatters") {
  check_text("let G[i, j] = B[c[i], j]; let loss = sum(G * G);");
  check_text("let H[c[i]]: f64[3] += p[mod(i, n)] * x[c[i]]; let loss = sum(H * H * B[:, 0]);");
  check_text("let loss = sum[i](x[c[i]] * y[c[l - 1 - i]]);");
  check_text("let loss = sum[i](A[c[i], c[i]] ** 2);");
}

TEST_CASE("grad: slices and structure") {
  for (const std::string e : {"A[1:3, ::2]",
                              "A[1, :]",
                              "A[-1, 1:]",
                              "A[::3, 1]",
                              "concat(x, y * x)",
                              "concat(A, A ** 2, axis=1)",
                              "reshape(A, 2, 6)",
                              "reshape(A * A, m, n)",
                              "reshape(A, n * m)",
                              "reshape(concat(x, y), n, 2)",
                              "reshape(concat(x, y), 2, 2, 2)",
                              "roll(x, -3)",
                              "roll(flip(A), 5, axis=1)",
                              "diag(x)",
                              "diag(A)",
                              "tril(A)",
                              "triu(A, 1)",
                              "roll(x, 1)",
                              "roll(A, 2, axis=0)",
                              "flip(A, axis=1)",
                              "A'",
                              "outer(x, y)",
                              "transpose(A, 1, 0)",
                              "full(x[1], 2, 3)"}) {
    check_text("let z = " + e + "; let loss = sum(z * z * z) + sum(z);");
  }
  check_text("let z[i] = pad(x, 0.5)[i - 1] * pad(y, 0.0)[i + 1] for i in 0..n; let loss = sum(z * x[:]);");
  for (const std::string word : {"periodic", "edge", "reflect", "symmetric"}) {
    check_text("let z[i] = pad(x, " + word + ")[i - 1] * pad(y, " + word +
               ")[i + 2] for i in 0..n; let loss = sum(z * x[:]);");
    check_text("let z[i] = pad(x, " + word + ")[i - 7] * pad(y, " + word +
               ")[2 * i - 1] for i in 0..n + 2; let loss = sum(z * z);");
    check_text("let z[i, j] = pad(A, " + word + ")[i - 1, j + 1] * pad(A, 0.5, " + word +
               ")[i + 3, j - 2] for i in 0..n, j in 0..m; let loss = sum(z * A);");
  }
  check_text("let s = x[2]; let loss = s * sum(y) + s ** 2;");
}

TEST_CASE("grad: assignments") {
  check_text("var v = x; v[1:3] = y[0:2] * v[0:2]; let loss = sum(v * v);");
  check_text("var v = x; v[1] = sum(y); v[2] += v[1] * p[0]; let loss = sum(v * v);");
  check_text("var v = x; v += y; v *= p; v -= 2.0 * x; v /= p + 1.0; v max= y; let loss = sum(v * v);");
  check_text("var v = A; v[i, j] += x[i] * B[j, 1]; let loss = sum(v * v);");
  check_text("var v = A; v[i, 1] *= x[i]; v[i, 2] min= x[i]; v[0, j] /= 2.0 + v[1, j]; let loss = sum(v * v);");
  check_text("var v = x; v[i] = v[i - 1] * v[i + 1] for i in 1..n-1; let loss = sum(v * v * y);");
  check_text("var v = x; v[i] = y[i] where x[i] > 0.0; let loss = sum(v * v);");
  check_text("let w[i] += A[i, j] * x[i] for j in 0..m; let loss = sum(w * w);");
  check_text("var v = x; let loss = sum(v * y); v = v * 5.0;");
}

TEST_CASE("grad: functions, params and intermediate values") {
  check_text("fn f(a, b) = a * exp(b) + a; let loss = sum(f(x, y));");
  check_text(
      "fn g(U: f64[r, s]) -> f64[r, s] { let V = U * U; return V[i, j] / (1.0 + sum[q](V[i, q])); }"
      "let loss = sum(g(A) * A);");
  check_text("fn g(a) { let l = a ** 3; let d = grad(l, a); return d * a; } let s = x[0]; let loss = g(s) + sum(x);");
  GradientCheck(
      "input x: f64[n]; input s: f64; let z = s * x; let loss = sum(z * z) * s; let g = grad(loss, s);"
      "let d_s = g; output d_s; output loss;")
      .run();
  check_text("let z = x * y; let l1 = sum(z * z); let gz = grad(l1, z); let loss = sum(gz * gz * x);");
  check_text(
      "let l1 = sum(x ** 3 * y); let g = grad(l1, x); let l2 = sum(g * g); let h = grad(l2, x); let loss = sum(h * "
      "y);");
}

TEST_CASE("grad: routines") {
  check_text("let loss = sum(cumsum(x) * y * cumsum(x));");
  check_text("let C = cumsum(A, axis=0); let loss = sum(C * A);");
  check_text("let C = cumprod(A, axis=1); let loss = sum(C * C * A) + sum(cumprod(x) * y);");
  check_text("let loss = sum(cummax(x) * y * y) + sum(cummin(A, axis=0) ** 3) + sum(cummax(A));");
  check_text("let s = sort(x * y); let w = iota(n); let loss = sum(s * s * f64(w));");
  check_text("let S = sort(A, axis=0); let loss = sum[i, j](S[i, j] ** 2 * x[i]);");
  check_text("let (v, q) = topk(x, 2); let loss = v[0] * sum(v) + y[0] * f64(q[0]);");
  check_text("let (v, q) = topk(A, 2); let loss = sum(v ** 2 * v[:, 0:1]);");
  const std::string square = "let Q = A @ A' + 2.0 * eye(n) + outer(x, y);";
  check_text(square + "let z = solve(Q, x); let loss = sum(z * y);");
  check_text(square + "let Z = solve(Q, A); let loss = sum(Z ** 3);");
  check_text(square + "let Y = inv(Q); let loss = sum(Y * Y * outer(x, y));");
  check_text(square + "let loss = det(Q);");
  check_text(square +
             "let (r, L, U) = lu(Q); let V[i, j] = U[i, j] * L[j, i] + x[i] * y[r[j]]; let loss = sum(L * outer(x, y)) "
             "+ sum(V ** 2);");
  check_text(square +
             "let Q2 = flip(Q, axis=0); let (r, L, U) = lu(Q2); let loss = sum(log(abs(diag(U)))) + sum[i](f64(r[i]) * "
             "U[i, i]);");
  check_text("let Q = A @ A' + 2.0 * eye(n); let L = cholesky(Q); let loss = sum(L * outer(x, y)) + sum(L ** 2);");
  check_text(
      "let Q[i, j] = if i == j then 3.0 + x[i] else (if i > j then 0.3 * y[j] else 100.0); let L = cholesky(Q);"
      "let loss = sum(L ** 3);");
}

TEST_CASE("grad: loops") {
  check_text("var s = 0.0; for i in 0..n { s += x[i] * y[i]; } let loss = s * s;");
  check_text("var s = 1.0; for i in 0..n { s = s * sin(x[i]) + y[i]; } let loss = s * s;");
  check_text("var h = x; for t in 0..3 { h = tanh(h * y + x); } let loss = sum(h);");
  check_text("var h = x; for t in 5..2 by -1 { h = tanh(h * y + f64(t) * x); } let loss = sum(h);");
  check_text("var h = x; for t in 0..6 by 4 { h = tanh(h * y + f64(t) * x); } let loss = sum(h);");
  check_text("var h = x; for t in 3..1 { h = tanh(h * y + x); } let loss = sum(h * h);");
  check_text(
      "var C: f64[n, k] = zeros(n, k); for i in 0..n, q in 0..k { for j in 0..m { C[i, q] += A[i, j] * B[j, q]; } }"
      "let loss = sum(C ** 2);");
  check_text("var v = x; for i in 1..n { v[i] = v[i - 1] * v[i] + y[i]; } let loss = sum(v * v);");
  check_text(
      "var s = 0.0; for i in 0..n { var q = x[i]; for j in 0..i { q = q * y[j] + x[j]; } s += q * q; } let loss = s;");
  check_text(
      "var s = 0.0; for i in 0..n { if x[i] > 0.0 { s += x[i] * y[i]; } else { s = s * 0.5; } } let loss = s * s;");
  check_text("var s = x; if sum(y) > 0.0 { s = s * y; } else { s = sin(s); } let loss = sum(s * s);");
  check_text("var s = x; for i in 0..3 { let r = random(n); s = s * r + y; } let loss = sum(s * s);");
  check_text("var s = x; var u = y; for i in 0..3 { (s, u) = (u * s, s + x); } let loss = sum(s * u);");
  check_text("var s = x; var r = 0.0; for i in 0..3 { s = s * y; r = sum(s); } let loss = r;");
}

TEST_CASE("grad: while loops") {
  check_text("var s = x; var t = 0; while t < 3 { s = sin(s) * y; t += 1; } let loss = sum(s);");
  check_text("var s = x; while sum(s * s) < 20.0 { s = s * 1.7 + p; } let loss = sum(s * y);");
  check_text("var s = x; while sum(s * s) < 0.0 { s = s * 1.7 + p; } let loss = sum(s * y);");
  check_text(
      "var s = x; for a in 0..2 { var t = 0; while t < a + 2 { for b in 0..t { s = sin(s) * y; } t += 1; } }"
      "let l = sum(s); let g = grad(l, y); let loss = sum(g * g);");
  check_text(
      "var s = 0.4; var t = 0; while t < n { if t > 1 { s += s * x[t]; } else { s = s * s + y[t]; } t += 1; }"
      "let loss = s * s;");
}

TEST_CASE("grad: nothing is printed twice") {
  frontend::SourceManager sources;
  frontend::DiagnosticSink sink;
  const auto program = tests::differentiated(
      sources,
      sources.add("test.tdsl",
                  "let x: f64[2] = ones(2); var s = x; for a in 0..2 { for b in 0..2 { s = sin(s); print(\"a\"); }"
                  "var t = 0; while t < 2 { s = s * s; t += 1; print(\"b\"); } print(\"c\"); }"
                  "let l = sum(s); let g = grad(l, x); print(sum(g) > 0.0);"),
      sink);
  REQUIRE(program.has_value());
  std::string lines;
  ir::EvalOptions options;
  options.print = [&](const std::string& line) { lines += line; };
  static_cast<void>(ir::evaluate(*program, options));
  CHECK(lines == "aabbcaabbctrue");
}

TEST_CASE("grad: loops around loops, and derivatives of derivatives through them") {
  check_text(
      "var v = x; for step in 0..2 { var h = v; for t in 0..3 { h = tanh(h * y + x); } let z = sum(h * h);"
      "let g = grad(z, v); v = v - 0.1 * g; } let loss = sum(v * v);");
  check_text(
      "var v = x; for step in 0..2 { var h = v;"
      "for t in 0..2 { if t > 0 { h = tanh(h * y + x); } else { h = h * h * sin(y); } } let z = sum(h * h);"
      "let (g, q) = grad(z, v, y); v = v - 0.1 * g * q; } let loss = sum(v * v);");
  check_text(
      "var s = x; for a in 0..2 { var t = s; for b in 0..3 { var u = t * y; for d in 0..2 { u = sin(u * p + s); }"
      "t = t + u * t; } s = tanh(t); } let loss = sum(s);");
  check_text(
      "var s = x; var q = 0.0; for a in 0..n { q += s[a] * y[a]; s[a] = q * sin(s[a]);"
      "if a > 1 { for b in 0..a { s[b] = s[b] * p[a] + q; } } } let l1 = sum(s) * q; let g = grad(l1, x);"
      "let loss = sum(g * g);");
  check_text(
      "var loss = 0.0; for a in 0..2 { let H = A @ B; var h = H; for t in 0..2 { h = tanh(h + H * f64(a + 1)); }"
      "let z = sum(h ** 2); let (g, q) = grad(z, A, B); loss += sum(g * g) + sum(q); }");
}

TEST_CASE("grad: values that meet in an element") {
  check_text("var h = x; h[c[i] % n] *= y[c[i] % n] + f64(i); let loss = sum(h * h);");
  check_text(
      "var h = x; h[c[i] % n] max= y[0] * f64(i) + x[n - 1]; h[c[i] % n] min= p[0] * 3.0 - f64(i); let loss = sum(h * "
      "p);");
  check_text("let h[i / 2, 0]: f64[n, 2] *= A[i, j] where j != 1 for j in 0..m; let loss = sum(h ** 2) + sum(B);");
  check_text("var h = x; let z = 0.0; h[i / 2] *= if i == 1 then z * y[i] else y[i]; let loss = sum(h * h);");
}

TEST_CASE("grad: inside loops") {
  check_text(
      "var v = x; var loss = 0.0; var g = x; for t in 0..2 { loss = sum(v ** 3 * y); g = grad(loss, v); v = v - 0.1 * "
      "g; }"
      "loss = sum(v * v);");
  check_text(
      "let H = A @ B; var loss = 0.0; for t in 0..3 { let z = sum(H ** 2) * f64(t + 1); let g = grad(z, A);"
      "loss += sum(g * g); }");
  holds(
      "var v: f64[3] = zeros(3); var g: f64[3] = ones(3);"
      "while norm(g) > 1e-6 { let z = sum((v - 2.0) ** 2); g = grad(z, v); v -= 0.3 * g; } assert(all(abs(v - 2.0) < "
      "1e-5));");
}

TEST_CASE("grad: at the values of the loss") {
  holds(
      "var W: f64[2] = zeros(2); W[0] = 3.0; let loss = sum(W * W); W = W + 100.0; let g = grad(loss, W);"
      "assert(g[0] == 6.0 && g[1] == 0.0); let V = W * 2.0; let h = grad(loss, V); assert(all(h == 0.0));"
      "let same = grad(sum(W * W), W); assert(same[1] == 200.0);");
}

TEST_CASE("grad: mistakes") {
  const std::string inputs = "input x: f64[n]; input k: i64[n];\n";
  using Lines = std::vector<std::string>;
  CHECK(problems_of(inputs + "let g = grad(x, x);") ==
        Lines{"2: not-scalar: grad differentiates a scalar, but this is f64[n]"});
  CHECK(problems_of(inputs + "let l = sum(k); let g = grad(l, x);") ==
        Lines{"2: type-mismatch: grad differentiates a float that depends on variables, but this is i64"});
  CHECK(problems_of(inputs + "let l = sum(x); let g = grad(l, k);") ==
        Lines{"2: type-mismatch: grad differentiates by floats, but `k` is i64[n]"});
  CHECK(problems_of(inputs + "let l = sum(x); let g = grad(l, x + 1.0);") ==
        Lines{"2: bad-argument: grad differentiates by variables, but this is an expression; give it a name before the "
              "loss is computed"});
  CHECK(problems_of(inputs + "let l = sum(x); let g = grad(l);") ==
        Lines{"2: bad-argument: grad takes a loss and at least one variable, as in grad(loss, W)"});
  CHECK(problems_of(inputs + "let y = x * 2.0; let l = sum(y); let g = grad(l, x, y);") ==
        Lines{"2: misplaced-tuple: grad with several variables gives several values: write let (a, b) = grad(…);"});
  CHECK(problems_of(inputs + "let l = sum(x); let (g, h) = grad(l, x);") ==
        Lines{"2: type-mismatch: 2 names, but 1 value"});
}

TEST_CASE("grad: unsupported cases") {
  const std::string inputs = "input x: f64[n];\n";
  using Lines = std::vector<std::string>;
  CHECK(
      problems_of(
          inputs +
          "let A: f64[2, 3] = outer(x[0:2], x[0:3]); let (_p, _l, u) = lu(A);\nlet s = sum(u); let g = grad(s, x);") ==
      Lines{"2: not-supported: lu of a matrix that is not square cannot be differentiated yet"});
  CHECK(problems_of(inputs + "monoid add(a: f64, b: f64) { identity = 0.0; combine = a + b; }\n"
                             "let b[i % 2]: f64[2] add= x[i]; let s = sum(b);\nlet g = grad(s, x);") ==
        Lines{"3: not-supported: combining several values in one element by the monoid `add` cannot be differentiated "
              "yet"});
  CHECK(problems_of(
            inputs +
            "let A: f64[2, 3] = outer(x[0:2], x[0:3]); let (_q, r) = qr(A);\nlet s = sum(r); let g = grad(s, x);") ==
        Lines{"2: not-supported: qr of a matrix with fewer rows than columns cannot be differentiated yet"});
  CHECK(problems_of(inputs + "monoid add(a: f64, b: f64) { identity = 0.0; combine = a + b; }\n"
                             "let s = add[i](x[i]); let g = grad(s, x);") ==
        Lines{"3: not-supported: a reduction by the monoid `add` cannot be differentiated yet"});
  CHECK(problems_of(inputs + "var v = x; for t in 0..2 { let l = sum(v * v);\nlet g = grad(l, x); v = v - g; }") ==
        Lines{"3: not-supported: a loss that depends on a variable through `v` of earlier iterations cannot be "
              "differentiated inside the loop yet"});
}

TEST_CASE("grad: the node's text form") {
  const std::string text =
      "program \"p\"\n%0:f64[3] \"x\" = input \"x\"\n%1:f64 = compute [] sum[i in 0..3] (mul(%0[i], %0[i]))\n"
      "%2:f64[3] \"g\" = gradient %1 (%0)\noutput \"g\" %2\n";
  const ir::Program program = ir::parse(text);
  CHECK(ir::print(program) == text);
  CHECK(ir::verify(program, ir::Gradients::kAllowed).empty());
  CHECK(ir::verify(program) ==
        std::vector<std::string>{
            "gradient %2 at line 0: stands in a program whose derivatives should have been expanded"});
  std::vector<ir::NotDifferentiable> problems;
  const ir::Program expanded = ir::differentiate(program, problems);
  CHECK(problems.empty());
  CHECK(ir::verify(expanded).empty());
  CHECK(ir::print(expanded) ==
        "program \"p\"\n%0:f64[3] \"x\" = input \"x\"\n%1:f64 = compute [] sum[i in 0..3] (mul(%0[i], %0[i]))\n"
        "%2:f64[3] \"g\" = compute [i in 0..3] (mul(2.0, %0[i]))\noutput \"g\" %2\n");
}
