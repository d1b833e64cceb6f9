#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "frontend/frontend.h"
#include "ir/eval/eval.h"
#include "ir/text/print.h"
#include "ir/verify/verify.h"
#include "tests/unit/differentiated.h"
#include "tests/unit/ir/eval_support.h"

using namespace tdsl;
using namespace tdsl::tests;

namespace {

const std::string kInputs = "input A: f64[n, sparse m];\ninput D: f64[n, m];\ninput x: f64[m];\n";
constexpr double kInf = std::numeric_limits<double>::infinity();

ir::Program sparse_program(const std::string& text) {
  frontend::SourceManager sources;
  frontend::DiagnosticSink sink;
  const auto file = sources.add("test.tdsl", text);
  frontend::CompileOptions options;
  options.warn_unused = false;
  const auto program = differentiated(sources, file, sink, options);
  INFO(frontend::render_all(sink, sources));
  REQUIRE(program.has_value());
  INFO(ir::print(*program));
  for (const std::string& problem : ir::verify(*program)) FAIL_CHECK(problem);
  return *program;
}

/// "ds": dense and sparse dimensions of the last value called `name`.
std::string storage_of(const std::string& statements, const std::string& name) {
  const ir::Program program = sparse_program(kInputs + statements);
  std::string found = "none";
  ir::for_each_node(program.body, [&](const ir::Node& n) {
    for (const ir::ValueId v : n.results) {
      if (program.info(v).name != name) continue;
      const ir::Type& type = program.type(v);
      found.clear();
      for (std::size_t d = 0; d < type.rank(); ++d) found += type.format.is_sparse(d) ? 's' : 'd';
    }
  });
  return found;
}

/// The values of `y` for A = [0, 2; -0, 1], D all inf and x = [inf, 1].
std::vector<double> values_of(const std::string& statements) {
  const Inputs inputs = {{"A", floats({2, 2}, {0, 2, -0.0, 1})},
                         {"D", floats({2, 2}, {kInf, kInf, kInf, kInf})},
                         {"x", floats({2}, {kInf, 1})}};
  ir::EvalOptions options;
  options.input = [&](const std::string& name, ir::Scalar) { return inputs.at(name); };
  const ir::EvalResult r = ir::evaluate(sparse_program(kInputs + statements), options);
  CHECK(error_of(r) == "");
  return r.outputs.at("y").floats;
}

bool same_floats(const std::vector<double>& a, const std::vector<double>& b) {
  return std::ranges::equal(a, b, [](double x, double y) {
    return (std::isnan(x) && std::isnan(y)) || (x == y && std::signbit(x) == std::signbit(y));
  });
}

}  // namespace

TEST_CASE("sparse: types wherever they may stand") {
  CHECK(storage_of("let y = A;", "A") == "ds");
  CHECK(storage_of("input B: f64[sparse n, sparse m];", "B") == "ss");
  CHECK(storage_of("input B: sparse f64[n, m];", "B") == "ds");
  CHECK(storage_of("input v: sparse i64[n];", "v") == "s");
  CHECK(storage_of("input T: sparse bool[a, 2, b, 3, c, 1, d, e];", "T") == "dsssssss");
  CHECK(storage_of("let S: f64[n, sparse m] = D;", "S") == "ds");
  CHECK(storage_of("let E: f64[n, m] = A;", "E") == "dd");
  CHECK(storage_of("let S[i, j]: f64[n, sparse m] = D[i, j] where i < j;", "S") == "ds");
  CHECK(storage_of("output S: f64[sparse n, m] = A;", "S") == "sd");
  CHECK(storage_of("var S: sparse f64[n, m] = D; S = D + 1.0; output S;", "S") == "ds");
}

TEST_CASE("sparse: inferred storage") {
  CHECK(storage_of("let y = A * D;", "y") == "ds");
  CHECK(storage_of("let y = A + D;", "y") == "dd");
  CHECK(storage_of("let y = A @ x;", "y") == "d");
  CHECK(storage_of("let y = A @ A';", "y") == "ds");
  CHECK(storage_of("let y = A' @ A;", "y") == "ss");
  CHECK(storage_of("let y[i, k] = sum[j](A[i, j] * A[k, j]);", "y") == "ds");
  CHECK(storage_of("let y = A';", "y") == "sd");
  CHECK(storage_of("let y = A[0:1, :];", "y") == "ds");
  CHECK(storage_of("let y = sparse(D);", "y") == "ds");
  CHECK(storage_of("let y = dense(A);", "y") == "dd");
  CHECK(storage_of("let y = A != 0.0;", "y") == "ds");
  CHECK(storage_of("let y = sprandom(3, 4, 0.5);", "y") == "ds");
  CHECK(storage_of("let y = concat(A, A, axis=0);", "y") == "ds");
  CHECK(storage_of("let y[i, j] = D[i, j] where A[i, j] != 0.0;", "y") == "ds");
  // A variable keeps its declared storage.
  CHECK(storage_of("var y = A; y = D; output y;", "y") == "ds");
  CHECK(storage_of("var y = D; y = A; output y;", "y") == "dd");
  CHECK(storage_of("var y = A; for t in 0..3 { y = y + D; } output y;", "y") == "ds");
  CHECK(storage_of("var y = A; y[0, :] = x; output y;", "y") == "ds");
}

TEST_CASE("sparse: diagonals take the storage that they meet in sums") {
  CHECK(storage_of("let y = A + eye(n, m);", "y") == "ds");
  CHECK(storage_of("let y = 2.0 * eye(n, m) - A;", "y") == "ds");
  CHECK(storage_of("let y = eye(n, m) + -eye(n, m) / 2.0 + A;", "y") == "ds");
  CHECK(storage_of("let y[i, j] = (if i == j then x[j] else 0.0) - A[i, j];", "y") == "ds");
  CHECK(storage_of("let y[i, j] = A[i, j] + (if i != j + 1 then 0.0 else D[i, j]);", "y") == "ds");
  CHECK(storage_of("let y = A' @ A + 0.1 * eye(m);", "y") == "ds");
  CHECK(storage_of("let y = eye(n, m);", "y") == "dd");
  CHECK(storage_of("let y = D + eye(n, m);", "y") == "dd");
  CHECK(storage_of("let y = A + eye(n, m) + D;", "y") == "dd");
  CHECK(storage_of("let y = A + exp(eye(n, m));", "y") == "dd");
  CHECK(storage_of("let y = max(A, eye(n, m));", "y") == "dd");
  CHECK(storage_of("let y[i, j] = A[i, j] + (if 2 * i == j then 1.0 else 0.0);", "y") == "dd");
  CHECK(storage_of("let I = eye(n, m);\nlet y = A + I;", "y") == "dd");
  CHECK(storage_of("let I = sparse(eye(n, m));\nlet y = A + I;", "y") == "ds");
  // Zeros of the sum are absent: they win as factors.
  CHECK(same_floats(values_of("output y = (A + eye(n, m)) * D;"), {kInf, kInf, 0, kInf}));
  CHECK(same_floats(values_of("output y = A + x[0] * eye(n, m);"), {kInf, 2, 0, kInf}));
  CHECK(std::isnan(values_of("output y = (D - D) + x[0] * eye(n, m);")[1]));
}

TEST_CASE("sparse: products with a diagonal matrix are scalings") {
  CHECK(same_floats(values_of("output y = D @ diag(x);"), {kInf, kInf, kInf, kInf}));
  CHECK(same_floats(values_of("output y = diag(D[:, 0]) @ D;"), {kInf, kInf, kInf, kInf}));
  CHECK(same_floats(values_of("output y = A @ diag(x);"), {0, 2, 0, 1}));
  CHECK(same_floats(values_of("output y = diag(x)' @ x;"), {kInf, 1}));
  CHECK(storage_of("let y = A @ diag(x);", "y") == "ds");
}

TEST_CASE("sparse: functions") {
  CHECK(storage_of("fn f(M: f64[n, m]) -> f64[n, m] { let P = M * 2.0; return P; }\nlet y = f(A);", "P") == "ds");
  CHECK(storage_of("fn f(M: f64[n, m]) -> f64[n, m] { let P = M * 2.0; return P; }\nlet y = f(D);", "P") == "dd");
  CHECK(storage_of("fn f(M: f64[n, sparse m]) -> f64[n, m] { let P = M * 2.0; return P; }\nlet y = f(D);", "P") ==
        "ds");
  CHECK(storage_of("fn f(M: f64[n, m]) -> f64[n, sparse m] { return M; }\nlet y = f(D);", "y") == "ds");
  CHECK(
      same_floats(values_of("fn f(M: f64[n, m], v: f64[m]) -> f64[n] { return M @ v; }\noutput y = f(A, x);"), {2, 1}));
  CHECK(std::isnan(
      values_of("fn f(M: f64[n, m], v: f64[m]) -> f64[n] { return M @ v; }\noutput y = f(dense(A), x);")[0]));
}

TEST_CASE("sparse: the same inline and by a name") {
  const std::vector<double> absent = {0, kInf, 0, kInf};
  CHECK(same_floats(values_of("output y = A * D;"), absent));
  CHECK(same_floats(values_of("output y = (A != 0.0) * D;"), absent));
  CHECK(same_floats(values_of("let p = A != 0.0;\noutput y = p * D;"), absent));
  CHECK(same_floats(values_of("output y = abs(A) * D;"), absent));
  CHECK(same_floats(values_of("let p = abs(A);\noutput y = p * D;"), absent));
  CHECK(same_floats(values_of("output y = (A + A) * D;"), absent));
  CHECK(same_floats(values_of("output y[i, j] = A[i, j] * D[i, j] * x[j];"), absent));
  CHECK(same_floats(values_of("let p[i, j] = A[i, j] * x[j];\noutput y[i, j] = p[i, j] * D[i, j];"), absent));
  CHECK(std::isnan(values_of("output y = dense(A) * D;")[0]));
  CHECK(std::isnan(values_of("let p: f64[n, m] = A;\noutput y = p * D;")[0]));
  CHECK(same_floats(values_of("output y = 1.0 / (-A);"), {-kInf, -0.5, -kInf, -1}));
  CHECK(same_floats(values_of("let p = -A;\noutput y = 1.0 / p;"), {kInf, -0.5, kInf, -1}));
}

TEST_CASE("sparse: derivatives") {
  CHECK(storage_of("let s = sum(A * log(D + 1.0));\nlet G = grad(s, D);", "G") == "dd");
  CHECK(storage_of("let r = A @ x;\nlet s = sum(r * r);\nlet G = grad(s, A);", "G") == "ds");
  CHECK(storage_of("let s = sum(D * D);\nlet G = grad(s, D);", "G") == "dd");
}
