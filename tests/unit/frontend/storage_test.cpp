#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "frontend/frontend.h"
#include "ir/text/print.h"
#include "ir/verify/verify.h"
#include "passes/pipeline.h"
#include "tests/unit/differentiated.h"

using namespace tdsl;
using namespace tdsl::tests;

namespace {

const std::string kBanded =
    "param b: i64 = 1; storage banded(n, b) { stored[2 * b + 1, n]; to[i, j] = (i - j + b, j) where abs(i - j) <= b;"
    " from[d, j] = (d + j - b, j) where 0 <= d + j - b && d + j - b < n; }\n";

struct StorageReport {
  std::vector<std::string> lines;  ///< `line:column: id`
  std::string first;               ///< first message
};

StorageReport storage_report(const std::string& text) {
  frontend::SourceManager sources;
  frontend::DiagnosticSink sink;
  const auto program = frontend::compile(sources, sources.add("test.tdsl", text), sink);
  CHECK(program.has_value() == !sink.has_errors());
  StorageReport report;
  for (const frontend::Diagnostic& d : sink.sorted()) {
    if (report.lines.empty()) report.first = d.message;
    report.lines.push_back(std::to_string(d.range.line) + ":" + std::to_string(d.range.column) + ": " +
                           std::string(frontend::id_text(d.id)));
  }
  return report;
}

/// The extents of the largest rank-2 value of the program after the passes, as text, among values over `n` only.
bool makes_square(const std::string& text) {
  frontend::SourceManager sources;
  frontend::DiagnosticSink sink;
  const auto program = frontend::compile(sources, sources.add("test.tdsl", text), sink);
  INFO(frontend::render_all(sink, sources));
  REQUIRE(program.has_value());
  passes::PassContext context;
  const ir::Program final = passes::run_pipeline(*program, {}, context);
  INFO(ir::print(final));
  CHECK(ir::verify(final).empty());
  bool square = false;
  ir::for_each_node(final.body, [&](const ir::Node& n) {
    for (const ir::ValueId v : n.results) {
      const ir::Type& type = final.type(v);
      square = square || (type.rank() == 2 && type.shape[0] == type.shape[1]);
    }
  });
  return square;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("storage: programs over it have no value of the logical shape") {
  const std::string inputs =
      kBanded + "input A: f64[n, n] storage banded(n, b);\ninput x: f64[n];\ninput M: f64[n, 3];\n";
  for (const std::string text : {
           "output y = A @ x;",
           "output y = A' @ x;",
           "output y = (2.0 * A + A') @ x;",
           "output Y = A @ M;",
           "output Y = A @ (A @ M);",
           "output y = einsum(\"ij,j->i\", A, x);",
           "output s = sum(A) + trace(A) + norm(A);",
           "output s = x @ A @ x;",
           "output m = nnz(A);",
           "output C: f64[n, n] storage banded(n, 2 * b) = A @ A;",
           "output C[i, j]: f64[n, n] storage banded(n, b) = A[i, j] * x[j] + x[i];",
           "var B = A; for k in 0..3 { B += 0.5 * A; B[k, k] = 1.0; } output B;",
           "var B = A; var C = A; (B, C) = (C, B); output B; output y = C @ x;",
           "fn twice(A: f64[n, n]) -> f64[n, n] { let B = A; return B; } let B = twice(A); output y = B @ x;",
           "fn apply(A: f64[n, n], x: f64[n]) -> f64[n] { var y = x; for k in 0..3 { y = A @ y; } return y; } output y "
           "= apply(A, x);",
           "let loss = sum[i]((x[i] - sum[j](A[i, j] * x[j])) ** 2); let g = grad(loss, A); output h = g @ x; output "
           "g;",
           "output A;",
       }) {
    CAPTURE(text);
    CHECK_FALSE(makes_square(inputs + text));
  }
  // An explicit request for the whole tensor is honoured.
  CHECK(makes_square(inputs + "output D: f64[n, n] = A;"));
  CHECK(makes_square(inputs + "output D = dense(A);"));
  CHECK(makes_square(inputs + "output x1 = solve(A, x);"));
}

TEST_CASE("storage: errors") {
  CHECK(storage_report(kBanded + "let A: f64[3, 3] storage bandd(3, 1) = eye(3);\nprint(sum(A));").lines ==
        Lines{"2:26: undefined-storage"});
  CHECK(storage_report(kBanded + "let A: f64[3, 3] storage bandd(3, 1) = eye(3);").first ==
        "there is no storage `bandd`; did you mean `banded`?");
  CHECK(storage_report(kBanded + "let A: f64[3, 3] storage banded(3) = eye(3);\nprint(sum(A));").lines ==
        Lines{"2:18: bad-argument"});
  CHECK(storage_report(kBanded + "let A: f64[3] storage banded(3, 1) = ones(3);\nprint(sum(A));").lines ==
        Lines{"2:15: rank-mismatch"});
  CHECK(storage_report(kBanded + "let A: f64[3, 3] storage banded(3, 1) = eye(4);\nprint(sum(A));").lines ==
        Lines{"2:41: shape-mismatch"});
  CHECK(storage_report(kBanded + "let A: f64[3, sparse 3] storage banded(3, 1) = eye(3);\nprint(sum(A));").lines ==
        Lines{"2:25: not-supported"});
  CHECK(storage_report(kBanded + "let A[i, j] storage banded(3, 1) = 1.0 for i in 0..3, j in 0..3;\nprint(sum(A));")
            .lines == Lines{"2:13: unknown-extent"});
  CHECK(storage_report(kBanded + "let A[i, i]: f64[3, 3] storage banded(3, 1) = 1.0;\nprint(sum(A));").lines ==
        Lines{"2:5: not-supported"});
  CHECK(storage_report(kBanded + "var A: f64[3, 3] storage banded(3, 1) = eye(3);\nA[0, :] = ones(3);\nprint(sum(A));")
            .lines == Lines{"3:1: not-supported"});
  CHECK(storage_report(kBanded + "storage banded(n) { stored[n]; to[i] = i; from[i] = i; }").lines ==
        Lines{"2:9: redeclaration"});
  CHECK(storage_report("storage s(n) { stored[n]; to[i, j] = (i, j); from[i] = (i, i); }").lines ==
        Lines{"1:27: bad-storage"});
  CHECK(storage_report("storage s(n) { stored[n]; to[i, j] = i; from[i, j] = (i, i); }").lines ==
        Lines{"1:41: bad-storage"});
  CHECK(storage_report("storage s(n) { stored[n]; to[i, j] = i; from[i] = i; }").lines == Lines{"1:41: bad-storage"});
  CHECK(storage_report("storage s(n) { stored[n]; to[i] = i + 1; from[i] = i; }\nlet x: f64[3] storage s(3) = "
                       "ones(3);\nprint(sum(x));")
            .lines == Lines{"1:42: bad-storage"});
  CHECK(storage_report("storage s(n) { stored[n]; to[i] = i + c; from[i] = i; }\nlet x: f64[3] storage s(3) = "
                       "ones(3);\nprint(sum(x));")
            .lines == Lines{"1:39: undefined-name"});
  CHECK(storage_report("storage s(n) { stored[n]; to[i] = sum[k in 0..n](k + i); from[i] = i; }\nlet x: f64[3] storage "
                       "s(3) = ones(3);\nprint(sum(x));")
            .lines == Lines{"1:35: bad-storage"});
  CHECK(storage_report(
            "input p: i64[n];\nstorage s(n) { stored[n]; to[i] = p[i]; from[i] = p[i]; }\nlet x: f64[n] storage "
            "s(n) = ones(n);\nprint(sum(x));")
            .lines == Lines{"2:35: not-supported"});
  CHECK(storage_report("storage s(n) { stored[n, sparse n]; to[i, j] = (i, j); from[i, j] = (i, j); }").lines ==
        Lines{"1:33: syntax"});
  // The file has n (n + 1) / 2 elements, from which n cannot be inferred.
  CHECK(storage_report("storage s(n) { stored[n * n]; to[i, j] = i * n + j; from[k] = (k / n, k % n); }\ninput A: "
                       "f64[n, n] storage s(n);\nprint(sum(A));")
            .lines == Lines{"2:14: bad-dimension"});
}
