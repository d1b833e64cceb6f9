#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "frontend/frontend.h"
#include "ir/text/print.h"
#include "ir/verify/verify.h"
#include "tests/unit/differentiated.h"

using namespace tdsl;

namespace {

using Lines = std::vector<std::string>;

/// `file:line:column: id` of everything reported. Headers are not read.
Lines extern_reports(const std::string& text, frontend::CompileOptions options = {}) {
  frontend::SourceManager sources;
  frontend::DiagnosticSink sink;
  static_cast<void>(tests::differentiated(sources, sources.add("test.tdsl", text), sink, options));
  Lines found;
  for (const frontend::Diagnostic& d : sink.sorted())
    found.push_back(sources.place(d.range) + ": " + std::string(frontend::id_text(d.id)));
  return found;
}

const std::string kDeclared =
    "extern \"k.hpp\" { fn g(x: f64) -> f64; fn h(x: f32, n: i64) -> bool;\n"
    "kernel two(A: in f64[b, b], s: in f64, L: out f64[b, b], t: out f64[b]); kernel one(x: in f64[n], y: out f64[n]); "
    "}\n";

/// Reports for a program that follows kDeclared, whose last line is the fourth.
Lines after_extern(const std::string& text) {
  return extern_reports(kDeclared + "input X: f64[n, m]; input v: f64[n];\n" + text);
}

}  // namespace

TEST_CASE("extern: calls are typed as declared") {
  CHECK(after_extern("let (L, t) = two(X @ X', sum(v)); let y = one(v); let a[i] = g(v[i]) + sum[j](g(X[i, "
                     "j]));\nprint(L, t, y, a, g(X), h(f32(1), 2));")
            .empty());
  CHECK(after_extern("print(g(X, v), v);") == Lines{"test.tdsl:4:7: bad-argument"});
  CHECK(after_extern("print(h(v[0], 2), X);") == Lines{"test.tdsl:4:9: narrowing"});
  CHECK(after_extern("print(two(X @ X', 1.0), v);") == Lines{"test.tdsl:4:7: misplaced-tuple"});
  CHECK(after_extern("print(one(X), v);") == Lines{"test.tdsl:4:11: rank-mismatch"});
  CHECK(after_extern("let y[i] = one(v[i]);\nprint(y, X);") == Lines{"test.tdsl:4:16: rank-mismatch"});
  CHECK(after_extern("let (a, b) = two(ones(2, 3), 1.0);\nprint(a, b, v, X);") ==
        Lines{"test.tdsl:4:18: shape-mismatch"});
  CHECK(after_extern("fn g(x) = x;\nprint(g(v), X);").at(0).find("redeclaration") != std::string::npos);
  CHECK(after_extern("let l = sum(g(v));\nprint(grad(l, v), X);") == Lines{"test.tdsl:4:13: not-supported"});
  CHECK(after_extern("let l = sum(one(v));\nprint(grad(l, v), X);") == Lines{"test.tdsl:4:13: not-supported"});
  CHECK(after_extern("fn f(x: f64) { var y = x; for _ in 0..2 { y = g(y); } return grad(y, x); }\nlet a[i] = "
                     "f(v[i]);\nprint(a, X);")
            .at(0)
            .find("not-supported") != std::string::npos);
}

TEST_CASE("extern: declarations") {
  const auto declared = [](const std::string& item) {
    return extern_reports("extern \"k.hpp\" { " + item + " }\nprint(1);");
  };
  CHECK(declared("fn g(x) -> f64;") == Lines{"test.tdsl:1:23: type-mismatch"});
  CHECK(declared("fn g(x: f64[n]) -> f64;") == Lines{"test.tdsl:1:26: type-mismatch"});
  CHECK(declared("kernel k(A: in f64[n]);") == Lines{"test.tdsl:1:25: type-mismatch"});
  CHECK(declared("fn exp(x: f64) -> f64;") == Lines{"test.tdsl:1:21: builtin-redefined"});
  CHECK(extern_reports("extern \"k\\\"k.hpp\" { fn g(x: f64) -> f64; }\nprint(1);") ==
        Lines{"test.tdsl:1:8: header-unreadable"});
}

TEST_CASE("extern: problems of headers stand in the header, once") {
  const auto folder = std::filesystem::temp_directory_path() / "tdsl-extern-test";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "k.hpp") << "/* \xC3\xA9 */ double g(double x);\n";
  frontend::CompileOptions options;
  options.read_header = [](const std::string& path, const std::vector<ir::ForeignDeclaration>& declarations) {
    CHECK(declarations.size() == 2);
    CHECK(declarations.at(1).dimensions == std::vector<std::vector<std::string>>{{"n", "2 * n"}, {}});
    ir::HeaderFacts facts;
    facts.problems = {{ir::HeaderProblem::Kind::kEffect, path, 1, 17, 18, "`g` has effects", 0},
                      {ir::HeaderProblem::Kind::kSignature, "", 0, 0, 0, "no k", 1}};
    return facts;
  };
  const std::string header = (folder / "k.hpp").string();
  const std::string text =
      "extern \"" + header +
      "\" { fn g(x: f64) -> f64;\nkernel k(A: in f64[n, 2 * n], s: out f64); }\nprint(g(1.0), k(ones(1, 2)));";
  CHECK(extern_reports(text, options) == Lines{"test.tdsl:2:1: header-mismatch", header + ":1:16: header-effect"});
  std::filesystem::remove_all(folder);
  CHECK(extern_reports(text, options) == Lines{"test.tdsl:1:8: header-unreadable"});
}

TEST_CASE("extern: the text form reads back") {
  frontend::SourceManager sources;
  frontend::DiagnosticSink sink;
  const std::string text =
      kDeclared + "input X: f64[n, n];\nlet (L, t) = two(X, 2.0);\noutput L; output t; output a[i] = g(X[i, 0]);\n";
  const auto program = tests::differentiated(sources, sources.add("test.tdsl", text), sink);
  REQUIRE(program.has_value());
  const std::string printed = ir::print(*program);
  CHECK(printed.find("routine foreign \"k.hpp\" \"two\" (\"A\":f64 2, \"s\":f64 0, \"L\":out fresh f64 2, \"t\":out "
                     "fresh f64 1) kernel may_stop operations 1 (") != std::string::npos);
  CHECK(printed.find("apply procedure \"g\" foreign \"k.hpp\" \"g\" (\"x\":f64 0) f64 may_stop operations 1 (") !=
        std::string::npos);
  const ir::Program again = ir::parse(printed);
  CHECK(ir::verify(again).empty());
  CHECK(ir::print(again) == printed);
}
