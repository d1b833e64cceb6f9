#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "codegen/families/plan_walk.h"
#include "codegen/loops/program_nests.h"
#include "codegen/nest/text.h"
#include "codegen/operations/text.h"
#include "codegen/operations/verify.h"
#include "frontend/frontend.h"
#include "tests/unit/codegen/programs.h"
#include "tests/unit/thinned.h"

// The operation program as a form: text, parser, verifier.

namespace tdsl::tests::operation_programs {

using namespace codegen;
using codegen::testing::families;

namespace {

const std::string kProduct =
    "%5:f64[%0, %0] \"C\" = compute [i in 0..%0, j in 0..%0] sum[k in 0..%1] (mul(%2[i, k], %3[k, j]))\n"
    "output \"C\" %5\n";
const std::string kLoop =
    "%5:i64 \"zero\" = compute [] (0)\n"
    "%6:f64[%0] \"y\" = for %5..%1 by 1 with (%4) do (%7:i64 \"i\", %8:f64[%0] \"y\") {\n"
    "  %9:f64[%0] \"y\" = compute [i in 0..%0] (mul(%8[i], 2.0))\n  yield %9\n}\noutput \"y\" %6\n";

/// The only step of this kind outside of nested lists.
template <class T>
T& only(FamilyProgram& program) {
  T* found = nullptr;
  for (Step& s : program.steps) {
    if (auto* step = std::get_if<T>(&s.op)) found = step;
  }
  REQUIRE(found != nullptr);
  return *found;
}

std::string problems_of(const FamilyProgram& program) {
  std::string all;
  for (const std::string& problem : verify(program)) all += problem + "\n";
  return all;
}

void check_round_trip(const FamilyProgram& program) {
  CHECK(problems_of(program) == "");
  const std::string text = print(program);
  INFO(text);
  FamilyProgram parsed;
  CHECK_NOTHROW(parsed = parse_operations(text));
  CHECK(print(parsed) == text);
  CHECK(problems_of(parsed) == "");
}

/// Nothing for a program that this test cannot compile alone.
std::optional<FamilyProgram> lowered(const std::filesystem::path& file, bool serial_loops) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  frontend::SourceManager sources;
  frontend::DiagnosticSink sink;
  frontend::CompileOptions options;
  options.library_directory = TDSL_SOURCE_DIR "/stdlib";
  const auto program = frontend::compile(sources, sources.add("p.tdsl", text.str()), sink, options);
  if (!program) return std::nullopt;
  passes::PassContext context;
  passes::PipelineOptions pipeline;
  if (!serial_loops) pipeline.disabled.insert("serial_loops");
  const ir::Program optimised = passes::run_pipeline(*program, pipeline, context);
  if (context.failed()) return std::nullopt;
  try {
    return lower(optimised);
  } catch (const NotSupported&) { return std::nullopt; }
}

/// The region that a run of the program would plan.
std::string region_of(const FamilyProgram& program) {
  WalkRequest request;
  request.ranks = request.deciding_ranks = 2;
  request.dimensions = {{"n", 40}, {"m", 30}};
  return plan::text_of(record::survey(recording_of(program, request)));
}

}  // namespace

TEST_CASE("codegen operations: the text of all samples round-trips") {
  int programs = 0;
  for (const char* folder : {"/samples", "/tests/e2e/cases"}) {
    if (kInstrumented && programs > 0) break;
    for (const auto& entry : std::filesystem::directory_iterator(std::string(TDSL_SOURCE_DIR) + folder)) {
      if (entry.path().extension() != ".tdsl") continue;
      CAPTURE(entry.path().string());
      for (const bool serial_loops : {true, false}) {
        const std::optional<FamilyProgram> program = lowered(entry.path(), serial_loops);
        if (!program) continue;
        check_round_trip(*program);
        ++programs;
      }
    }
  }
  CHECK(programs > (kInstrumented ? 60 : 200));
}

TEST_CASE("codegen operations: a parsed program records the same operations") {
  for (const std::string& body :
       {kProduct, kLoop,
        std::string("%5:f64 \"s\" = compute [] sum[i in 0..%0] (%4[i]) where gt(%4[i], 0.5)\noutput \"s\" %5\n"),
        std::string("%5:f64[%0] \"c\" = routine cumsum (%4) axis 0\noutput \"c\" %5\n")}) {
    const FamilyProgram program = families(body);
    CAPTURE(print(program));
    CHECK(region_of(parse_operations(print(program))) == region_of(program));
  }
}

TEST_CASE("codegen operations: the text of a product") {
  const std::string text = print(families(kProduct));
  INFO(text);
  CHECK(text.starts_with("operations \"p\" files [\"p.tdsl\"] sites "));
  CHECK(text.find("%5:f64[%0, %0] \"C\"") != std::string::npos);
  CHECK(text.find("  class contraction\n") != std::string::npos);
  CHECK(text.find("  labels [\"i\" to %0, \"j\" to %0, \"k\" to %1]\n") != std::string::npos);
  CHECK(text.find("  reads [of %2 at [labels [0], labels [2]], of %3 at [labels [2], labels [1]]]\n") !=
        std::string::npos);
  CHECK(text.find("\noutput ") != std::string::npos);
  CHECK(text.find("\nrelease ") != std::string::npos);
}

TEST_CASE("codegen operations: every property of an operation is printed and parsed") {
  FamilyProgram program = families(kProduct);
  auto op = std::make_shared<RecordedOp>(*only<OperationStep>(program).op);
  op->overwrites = op->ordered = op->in_rows = op->by_rows = true;
  op->home = 3;
  op->product_share = 0.25;
  op->pieces = {{plan::Combine::kMax, Extent::of({1}) * Extent(2)}};
  op->uncut = {true, false};
  op->flops_per_row = Extent(7);
  op->sparsity.result = plan::SparseResult::kAtVisited;
  op->sparsity.visits = {{{2}, {3}}, {{3}}};
  op->sparsity.bounds = {{1, false, 2, Extent(-1)}, {0, true, 0, Extent()}};
  op->reads[0].dims[1] = {};
  only<OperationStep>(program).op = op;
  const std::string text = print(program);
  INFO(text);
  FamilyProgram parsed = parse_operations(text);
  CHECK(print(parsed) == text);
  const RecordedOp& read = *only<OperationStep>(parsed).op;
  CHECK(read.overwrites);
  CHECK(read.home == 3);
  CHECK(read.product_share == 0.25);
  CHECK(read.pieces[0].count == op->pieces[0].count);
  CHECK(read.uncut == op->uncut);
  CHECK(read.flops_per_row == op->flops_per_row);
  CHECK(read.sparsity.visits == op->sparsity.visits);
  CHECK(!read.sparsity.bounds[0].from_below);
  CHECK(read.sparsity.bounds[1].from_below);
  CHECK(read.reads == op->reads);
}

TEST_CASE("codegen operations: messages of the verifier") {
  const auto broken = [](const std::string& body, const auto& change) {
    FamilyProgram program = families(body);
    CHECK(problems_of(program) == "");
    change(program);
    return problems_of(program);
  };
  const auto has = [](const std::string& problems, const char* sentence) {
    INFO(problems);
    CHECK(problems.find(sentence) != std::string::npos);
  };
  has(broken(kProduct, [](FamilyProgram& p) { p.steps.push_back(p.steps.back()); }), "is used after its release");
  has(broken(kProduct, [](FamilyProgram& p) { only<OutputStep>(p).value = {0}; }), "an output is a host value: %0 `n`");
  has(broken(kProduct, [](FamilyProgram& p) { only<OutputStep>(p).site = 1; }), "site 1 occurs twice");
  has(broken(kProduct, [](FamilyProgram& p) { p.sites = 1; }), "is out of range");
  has(broken(kProduct,
             [](FamilyProgram& p) {
               std::erase_if(p.steps, [](const Step& s) { return std::holds_alternative<OperationStep>(s.op); });
             }),
      "%5 `C` is used before its definition");
  has(broken(kProduct,
             [](FamilyProgram& p) {
               auto op = std::make_shared<RecordedOp>(*only<OperationStep>(p).op);
               op->reads[0].dims[0].terms[0].label = 9;
               only<OperationStep>(p).op = op;
             }),
      "`C` has no label 9");
  has(broken(kLoop,
             [](FamilyProgram& p) {
               ForStep& loop = only<ForStep>(p);
               loop.body.push_back({{}, ReleaseStep{loop.carried[0]}});
             }),
      "an iteration changes the state of");
  has(broken(kLoop, [](FamilyProgram& p) { only<ForStep>(p).end = only<ForStep>(p).carried[0]; }),
      "the last index is not a host value");
}

TEST_CASE("codegen operations: the parser says where it stops") {
  CHECK_THROWS_WITH(parse_operations("operations \"p\" sites 0\nwalk @-\n"), "2:5: no step is called `walk`");
  CHECK_THROWS_WITH(parse_operations("operations \"p\"\ncopy @- %0\n"),
                    doctest::Contains("the step defines one value"));
  CHECK_THROWS_WITH(parse_operations("operations \"p\"\n%0:i64 host = fence @-\n"),
                    doctest::Contains("the step defines no value"));
}

TEST_CASE("codegen operations: the nests of a program round-trip") {
  const std::vector<nest::Nest> nests =
      nests_of(families("%5:f64[%0] \"y\" = compute [i in 0..%0] (mul(%4[i], 2.0))\noutput \"y\" %5\n"));
  REQUIRE(nests.size() == 1);
  CHECK(nest::print(nest::parse(nest::print(nests[0]))) == nest::print(nests[0]));
  CHECK(nests_of(families(kProduct)).empty());
}

}  // namespace tdsl::tests::operation_programs
