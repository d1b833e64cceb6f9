#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "codegen/lower/program.h"
#include "codegen/operations/program.h"
#include "codegen/print/emit.h"
#include "frontend/frontend.h"
#include "ir/verify/verify.h"
#include "passes/pipeline.h"

// Short programs for which the work or text between source and C++ once grew exponentially, or with a high power.

using namespace tdsl;

namespace {

struct Made {
  std::string text;  ///< the C++
  std::vector<passes::Remark> remarks;
};

Made made(const std::string& text) {
  frontend::SourceManager sources;
  frontend::DiagnosticSink sink;
  const auto program = frontend::compile(sources, sources.add("test.tdsl", text), sink);
  INFO(frontend::render_all(sink, sources));
  REQUIRE(program.has_value());
  passes::PassContext context;
  const ir::Program optimised = passes::run_pipeline(*program, {}, context);
  CHECK(ir::verify(optimised).empty());
  return {codegen::emit(codegen::lower(optimised), {}), context.remarks()};
}

/// `let NAME1 = OF(NAME0); let NAME2 = OF(NAME1); …`, where `@` is the previous name.
std::string lets(const std::string& name, const std::string& of, int count) {
  std::string text;
  for (int k = 1; k <= count; ++k) {
    std::string value = of;
    for (std::size_t at = value.find('@'); at != std::string::npos; at = value.find('@'))
      value.replace(at, 1, name + std::to_string(k - 1));
    text += "let " + name + std::to_string(k) + " = " + value + ";\n";
  }
  return text;
}

}  // namespace

TEST_CASE("growth: sizes that are products of products are scalars of their own") {
  for (const std::string of : {"@ * @", "@ * @ + @", "(@ + 1) * (@ + 2)"}) {
    const Made tensor = made("param a0: i64 = 2;\n" + lets("a", of, 40) + "output y = zeros(a40);");
    CHECK(tensor.text.size() < 60'000);
    const Made loop =
        made("param a0: i64 = 2;\n" + lets("a", of, 40) + "var s = 0;\nfor i in 0..a40 { s = 3 * s + i; }\noutput s;");
    CHECK(loop.text.size() < 60'000);
  }
}

TEST_CASE(
    "growth: reductions that have nothing to do with each other are not compared with all that stands between them") {
  constexpr int kMany = 1'600;  // once cubic, 26 s
  std::string text;
  for (int k = 0; k < kMany; ++k) {
    const std::string name = "x" + std::to_string(k);
    text += "input " + name + ": f64[n];\nprint(sum(" + name + "));\n";
  }
  const Made m = made(text);
  int sums = 0;
  for (std::size_t at = m.text.find("Combine::kSum"); at != std::string::npos;
       at = m.text.find("Combine::kSum", at + 1))
    ++sums;
  CHECK(sums == kMany);
}

TEST_CASE("growth: scalars of a loop that are used twice are looked at once") {
  for (const std::string of : {"@ + @", "@ * @", "@ * @ + @"}) {
    const Made m =
        made("input x: i64[n];\nvar y: i64[n] = zeros(n);\nfor i in 1..n {\nlet a0 = i + 1;\nlet b0 = x[i];\n" +
             lets("a", of, 40) + lets("b", of, 40) + "y[i] = y[i - 1] + a40 * b40;\n}\noutput y;");
    CHECK(m.text.size() < 150'000);
  }
}

TEST_CASE("growth: reductions over a constant range are written out only if it is short") {
  const Made m = made(
      "input X: f64[n, m];\noutput s[i, j] = sum[u in -4611686018427387904..4611686018427387903, v in 0..2](pad(X, "
      "0.0)[i + u, j + v]) "
      "for i in 0..n, j in 0..m;");
  CHECK(m.text.size() < 10'000);
}

TEST_CASE("growth: sums of many scalars are no sizes") {
  std::string text;
  std::string sum = "0";
  for (int k = 0; k < 900; ++k) {
    text += "param p" + std::to_string(k) + ": i64 = 1;\n";
    sum += " + p" + std::to_string(k);
  }
  CHECK(made(text + "output s = " + sum + ";").text.size() < 400'000);
}

TEST_CASE("growth: long chains of products are left in the order written, shorter ones are ordered") {
  const auto chain = [](int count) {
    std::string text = "input A: f64[n, n];\ninput x: f64[n];\noutput y = A";
    for (int k = 1; k < count; ++k) text += " @ A";
    return made(text + " @ x;").remarks;
  };
  const auto is_of_chains = [](const passes::Remark& r) { return r.pass == "chain_order"; };
  const auto longest = chain(300);
  const auto refused = std::ranges::find_if(longest, is_of_chains);
  REQUIRE(refused != longest.end());
  CHECK(refused->reason == "a chain of more than 250 products is computed in the order written");
  CHECK(std::ranges::count_if(longest, is_of_chains) == 1);
  const auto shorter = chain(40);
  const auto applied = std::ranges::find_if(shorter, is_of_chains);
  REQUIRE(applied != shorter.end());
  CHECK(applied->decision == passes::Decision::kApplied);
}
