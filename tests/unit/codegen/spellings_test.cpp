#include <doctest/doctest.h>

#include "codegen/lower/program.h"
#include "codegen/print/emit.h"
#include "frontend/frontend.h"
#include "passes/pipeline.h"
#include "tests/unit/codegen/programs.h"

using namespace tdsl;
using namespace tdsl::codegen;

namespace {

/// The classes of a program's operations, in order: C contraction, M map, R reduction. Without nests of several
/// operators.
std::string classes_of(const std::string& text) {
  frontend::SourceManager sources;
  frontend::DiagnosticSink sink;
  const auto program = frontend::compile(sources, sources.add("p.tdsl", text), sink, {});
  REQUIRE(program.has_value());
  passes::PassContext context;
  passes::PipelineOptions options;
  options.disabled.insert({"fuse_rows", "epilogues"});
  const OperationProgram operations = lower(passes::run_pipeline(*program, options, context));
  std::string classes;
  for (const OperationStep* o : testing::operations(operations)) {
    const plan::OpClass c = o->op->op_class;
    classes += c == plan::OpClass::kContraction ? 'C'
               : c == plan::OpClass::kMap       ? 'M'
               : c == plan::OpClass::kReduce    ? 'R'
                                                : '?';
  }
  return classes;
}

std::string code_of(const std::string& text) {
  frontend::SourceManager sources;
  frontend::DiagnosticSink sink;
  const auto program = frontend::compile(sources, sources.add("p.tdsl", text), sink, {});
  REQUIRE(program.has_value());
  passes::PassContext context;
  return emit(lower(passes::run_pipeline(*program, {}, context)), {});
}

const std::string kInputs =
    "input A: f64[r, q, p]; input C: f64[p, p]; input B: f64[q, p, m]; input X: f64[n, p]; input w: f64[n]; input v: "
    "f64[p]; param h: i64 = 2;\n";

}  // namespace

TEST_CASE("codegen spellings: products in other forms are one contraction") {
  for (const char* product :
       {"A @ C", "reshape(reshape(A, r, q, 1, p) @ C, r, q, p)", "reshape(reshape(A, r * q, p) @ C, r, q, p)",
        "reshape(A, r, q, 1, p) @ C", "transpose(A @ C, 2, 0, 1)", "(X @ C)'",
        "reshape(A, r, q * p) @ reshape(B, q * p, m)",
        "reshape(transpose(A, 0, 2, 1), r, p * q) @ reshape(transpose(B, 1, 0, 2), p * q, m)",
        "A @ reshape(B[0, :, :], 1, p, m)", "A[:, 0, :] @ C[:, ::2]",
        "transpose(reshape(X, n, h, p / h), 1, 0, 2) @ transpose(reshape(X, n, h, p / h), 1, 2, 0)",
        "sum(reshape(A, r, q, p, 1) * reshape(C, 1, 1, p, p), axis=2)"}) {
    CAPTURE(product);
    CHECK(classes_of(kInputs + "output Y = " + product + ";\n") == "C");
  }
}

TEST_CASE("codegen spellings: operands of products are computed once an element, equal ones once") {
  CHECK(classes_of(kInputs + "output G[i, j] = sum[k]((X[k, i] - v[i]) * (X[k, j] - v[j]));\n") == "MC");
  CHECK(classes_of(kInputs + "output G[i, j] = sum[k](X[k, i] * X[k, j] / w[k]);\n") == "MC");
  CHECK(classes_of(kInputs + "output G[i, j] = sum[k](X[k, i] * w[k] * X[k, j]);\n") == "MC");
  CHECK(classes_of(kInputs + "output G[i, j] = sum[k](2.0 * X[i, k] * C[k, j]);\n") == "MC");
  CHECK(classes_of(kInputs + "output G[i, j] = sum[k](X[k, i] * X[k, j]) where j <= i;\n") == "CM");
  // Vectors gain nothing, and elements excluded by a condition must not be multiplied.
  CHECK(classes_of(kInputs + "output y[i] = sum[k]((X[i, k] - v[k]) * v[k]);\n") == "R");
  CHECK(classes_of(kInputs + "output G[i, j] = sum[k where k <= i](X[k, i] * X[k, j]);\n") == "R");
}

TEST_CASE("codegen spellings: parts that take long are computed once a value") {
  CHECK(classes_of(kInputs + "output H[b] = sum[i](f64(w[i] < exp(v[b])));\n") == "MR");
  CHECK(classes_of(kInputs + "output Z = X / sqrt(v + 1.0);\n") == "MM");
  CHECK(classes_of(kInputs + "output Z[i, j] = X[i, j] / sqrt(w[i]);\n") == "M");
}

TEST_CASE("codegen spellings: triangular updates compute blocks of the triangle") {
  for (const char* update :
       {"for k in 0..m { S[i, :i + 1] += 0.5 * A[i, k] * A[:i + 1, k]; }",
        "for k in 0..m { S[i, :i + 1] = S[i, :i + 1] + (A[:i + 1, k] * B[i, k] + B[:i + 1, k] * A[i, k]); }",
        "for k in 0..m, j in 0..i + 1 { S[i, j] += 0.5 * A[i, k] * A[j, k]; }"}) {
    const std::string text = code_of(
        "input S0: f64[n, n]; input A: f64[n, m]; input B: f64[n, m]; var S = S0;\nfor i in 0..n { "
        "S[i, :i + 1] *= 2.0; " +
        std::string(update) + " }\noutput S;\n");
    INFO(text);
    CHECK(text.find("rt::blocked::Where(S") != std::string::npos);
  }
}

TEST_CASE("codegen spellings: sums and maxima of elements that outer loops wrote stay in registers") {
  const std::string text = code_of(
      "input A: f64[n, n]; var F = A;\nfor i in 0..n { for j in 0..i { for k in 0..j { F[i, j] = max(F[i, j], "
      "F[i, k] + F[k, j]); } } }\noutput F;\n");
  INFO(text);
  CHECK(text.find("rt::rows::greatest<double>(Interval{0, j}, ") != std::string::npos);
  CHECK(text.find("(F(i, j), F(i, k)") == std::string::npos);
}

TEST_CASE("codegen spellings: maps over transposed operands run in squares") {
  CHECK(code_of("input A: f64[n, m]; input B: f64[m, n]; output R = A + B';\n").find("each_in_squares<0>") !=
        std::string::npos);
}
