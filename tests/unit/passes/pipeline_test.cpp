#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "ir/graph/check.h"
#include "passes/passes.h"
#include "tests/unit/passes/support.h"

namespace {

using namespace tdsl;

ir::Program program_in(const std::string& name) {
  std::ifstream file(std::filesystem::path(TDSL_SOURCE_DIR) / "tests/passes" / name);
  REQUIRE_MESSAGE(file, name << " is missing");
  std::ostringstream text;
  text << file.rdbuf();
  return ir::parse(text.str());
}

ir::Program optimised(const std::string& name, const passes::PipelineOptions& options = {}) {
  passes::PassContext context;
  return passes::run_pipeline(program_in(name), options, context);
}

/// The text of the program with all names of values and index variables removed.
std::string anonymous(ir::Program program) {
  for (ir::ValueInfo& v : program.values) v.name.clear();
  for (ir::Node& n : program.body.nodes) {
    auto* c = std::get_if<ir::Compute>(&n.op);
    if (c == nullptr) continue;
    for (auto* list : {&c->out, &c->reduce}) {
      for (ir::Label& l : *list) l.name.clear();
    }
  }
  return ir::print(program);
}

}  // namespace

TEST_CASE("passes: three spellings of the matrix product are one program") {
  const std::string by_operator = anonymous(optimised("pipeline/matmul_operator.in.tir"));
  CHECK(anonymous(optimised("pipeline/matmul_index_notation.in.tir")) == by_operator);
  CHECK(anonymous(optimised("pipeline/matmul_loops.in.tir")) == by_operator);
  CHECK(anonymous(optimised("pipeline/matmul_loops_other_start.in.tir")) == by_operator);
}

TEST_CASE("passes: every spelling of a weighted Gram matrix is one nest with the gradient") {
  const std::string head = R"(program "t"
%0:i64 "n" = dimension "n"
%1:i64 "d" = dimension "d"
%2:f64[%0, %1] "X" = input "X"
%3:f64[%0] "y" = input "y"
%4:f64[%1] "r" = input "r"
%5:f64[%0] = compute [i in 0..%0] sum[j in 0..%1] (mul(%2[i, j], %4[j]))
%6:f64[%0] "p" = compute [i in 0..%0] (sigmoid(%5[i]))
%7:f64[%0] = compute [i in 0..%0] (sub(%6[i], %3[i]))
%8:f64[%1] "g" = compute [j in 0..%1] sum[i in 0..%0] (mul(%2[i, j], %7[i]))
%9:f64[%0] "w" = compute [i in 0..%0] (mul(%6[i], sub(1.0, %6[i])))
)";
  const std::string gram = "%10:f64[%1, %1] \"H\" = compute [j in 0..%1, k in 0..%1] sum[i in 0..%0] ";
  for (const char* body :
       {"(mul(mul(%2[i, j], %9[i]), %2[i, k]))", "(mul(mul(%9[i], %2[i, j]), %2[i, k]))",
        "(mul(mul(%2[i, j], %2[i, k]), %9[i]))", "(mul(mul(mul(%2[i, j], %6[i]), sub(1.0, %6[i])), %2[i, k]))"}) {
    INFO(body);
    passes::PassContext context;
    const ir::Program before = ir::parse(head + gram + body + "\noutput \"g\" %8\noutput \"H\" %10\n");
    const ir::Program after = passes::run_pipeline(before, {}, context);
    tests::check_same_meaning(before, after);
    int nests = 0;
    for (const ir::Node& n : after.body.nodes) {
      CHECK_MESSAGE(!std::holds_alternative<ir::Compute>(n.op), ir::print(after));
      nests += n.results.size() == 2 ? 1 : 0;
    }
    CHECK(nests == 1);
    CHECK(ir::print(after).find("in any order") == std::string::npos);
  }
}

TEST_CASE("passes: the pipeline run twice changes nothing more") {
  for (const char* name :
       {"pipeline/matmul_loops.in.tir", "pipeline/scalar_sum.in.tir", "fusion/chain_and_reduction.in.tir",
        "loops_to_algebra/triangular.in.tir", "loops_to_algebra/countdown_shift.in.tir"}) {
    passes::PassContext context;
    const ir::Program once = optimised(name);
    CHECK(ir::print(passes::run_pipeline(once, {}, context)) == ir::print(once));
  }
}

TEST_CASE("passes: each pass can be disabled and the meaning stays") {
  for (const char* name : {"pipeline/matmul_loops.in.tir", "loops_to_algebra/two_statements_local.in.tir",
                           "chain_order/matrix_matrix_vector.in.tir", "loops_to_algebra/row_minimum_then_sum.in.tir"}) {
    const ir::Program before = program_in(name);
    for (const passes::Pass& pass : passes::pipeline()) {
      passes::PipelineOptions options;
      options.disabled.insert(std::string(pass.name));
      INFO("without " << pass.name);
      tests::check_same_meaning(before, optimised(name, options));
    }
  }
}

TEST_CASE("passes: the pipeline reports each pass and respects the level") {
  std::vector<std::string> ran;
  passes::PipelineOptions options;
  options.level = 1;
  options.after_pass = [&](const passes::Pass& pass, const ir::Program&, const ir::Program&, double seconds) {
    CHECK(seconds >= 0.0);
    ran.emplace_back(pass.name);
  };
  CHECK_NOTHROW(optimised("pipeline/scalar_sum.in.tir", options));
  CHECK(std::ranges::count(ran, "simplify") > 0);
  CHECK(std::ranges::count(ran, "fusion") == 0);
  CHECK(passes::is_pass("fusion"));
  CHECK_FALSE(passes::is_pass("fussion"));
}

TEST_CASE("passes: remarks list applied and refused rewrites") {
  passes::PassContext context;
  context.enter("loops_to_algebra");
  (void)passes::loops_to_algebra(program_in("loops_to_algebra/recurrence_refused.in.tir"), context);
  REQUIRE(context.remarks().size() == 1);
  CHECK(context.remarks()[0].pass == "loops_to_algebra");
  CHECK(context.remarks()[0].decision == passes::Decision::kRefused);
  CHECK(context.remarks()[0].reason.find("`x[i]` depends on `x[i - 1]`") != std::string::npos);
  REQUIRE(context.warnings().size() == 1);
  CHECK(context.warnings()[0].id == "sequential-loop");
}

TEST_CASE("passes: a loop in two forms is not said to be refused as well") {
  passes::PassContext context;
  context.enter("serial_loops");
  (void)passes::serial_loops(program_in("serial_loops/exchange_needs_a_copy.in.tir"), context);
  REQUIRE(context.remarks().size() == 1);
  CHECK(context.remarks()[0].decision == passes::Decision::kApplied);
  CHECK(context.remarks()[0].reason.starts_with("in two forms: "));
}

TEST_CASE("passes: loops over whole tensors stay without a warning") {
  passes::PassContext context;
  const ir::Program after =
      passes::loops_to_algebra(program_in("loops_to_algebra/gradient_steps_stay.in.tir"), context);
  CHECK(std::ranges::any_of(after.body.nodes, [](const ir::Node& n) { return std::holds_alternative<ir::For>(n.op); }));
  CHECK(context.warnings().empty());
  // A scalar counter besides them is no reason either, whether or not they are carried; alone it is.
  const std::string head =
      "program \"t\"\n"
      "%0:i64 \"n\" = dimension \"n\"\n"
      "%1:f64[%0] = input \"x\"\n"
      "%2:i64 = compute [] (0)\n"
      "%3:i64 = compute [] (3)\n"
      "%4:f64[%0], %5:f64[%0] = for %2..%3 by 1 with (%1, %1) do (%6:i64, %7:f64[%0], %8:f64[%0]) {\n";
  const std::string whole = "  %9:f64[%0] = compute [i in 0..%0] (mul(%7[i], 2.0))\n";
  const std::string note = "  %10:f64[%0] = compute [] (mul(%8[sub(%0, 1)], %7[%6])) left [%6] base %8\n";
  const std::string drawn = "  %9:f64[%0] = normal site 1 [%6]\n";
  for (const std::string& beside : {whole, drawn, std::string()}) {
    const bool alone = beside.empty();
    passes::PassContext noted;
    const std::string body = beside + note + (beside == whole ? "  yield %9, %10\n" : "  yield %7, %10\n");
    (void)passes::loops_to_algebra(ir::parse(head + body + "}\noutput \"x\" %4\noutput \"y\" %5\n"), noted);
    CHECK(noted.warnings().size() == (alone ? 1 : 0));
  }
}
