#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "codegen/loops/program_nests.h"
#include "codegen/lower/program.h"
#include "codegen/nest/text.h"
#include "codegen/operations/text.h"
#include "codegen/operations/verify.h"
#include "codegen/walk/plan_walk.h"
#include "frontend/frontend.h"
#include "tests/unit/codegen/programs.h"
#include "tests/unit/thinned.h"

// The operation program as a form: text, parser, verifier.

namespace tdsl::tests::operation_programs {

using namespace codegen;
using codegen::testing::lowered;

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
T& only(OperationProgram& program) {
  T* found = nullptr;
  for (Step& s : program.steps) {
    if (auto* step = std::get_if<T>(&s.op)) found = step;
  }
  REQUIRE(found != nullptr);
  return *found;
}

std::string problems_of(const OperationProgram& program) {
  std::string all;
  for (const std::string& problem : verify(program)) all += problem + "\n";
  return all;
}

void check_round_trip(const OperationProgram& program) {
  CHECK(problems_of(program) == "");
  const std::string text = print(program);
  INFO(text);
  OperationProgram parsed;
  CHECK_NOTHROW(parsed = parse_operations(text));
  CHECK(print(parsed) == text);
  CHECK(problems_of(parsed) == "");
}

/// Nothing for a program that this test cannot compile alone.
std::optional<OperationProgram> lowered(const std::filesystem::path& file, bool serial_loops) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  frontend::SourceManager sources;
  frontend::DiagnosticSink sink;
  frontend::CompileOptions options;
  options.library_directory = TDSL_SOURCE_DIR "/stdlib";
  const auto program = frontend::compile(sources, sources.add("p.tdsl", text.str()), sink, options);
  if (!program) return std::nullopt;
  passes::PassContext context;
  context.options().set_operations /= 2;  // the margin of all samples and transcriptions, as a count instead of a time
  passes::PipelineOptions pipeline;
  if (!serial_loops) pipeline.disabled.insert("serial_loops");
  const ir::Program optimised = passes::run_pipeline(*program, pipeline, context);
  for (const passes::Remark& r : context.remarks())
    CHECK_MESSAGE(r.reason.find("dependences are too many") == std::string::npos, r.reason);
  if (context.failed()) return std::nullopt;
  try {
    return lower(optimised);
  } catch (const NotSupported&) { return std::nullopt; }
}

/// The region that a run of the program would plan.
std::string region_of(const OperationProgram& program) {
  WalkRequest request;
  request.ranks = request.deciding_ranks = 2;
  request.dimensions = {{"n", 40}, {"m", 30}};
  return plan::text_of(record::survey(recording_of(program, request)));
}

}  // namespace

TEST_CASE(
    "codegen operations: the text of all samples round-trips, and dependences of their loops take few operations") {
  int programs = 0;
  for (const char* folder : {"/samples", "/tests/e2e/cases", "/tools/bench/suite"}) {
    if (kInstrumented && programs > 0) break;
    for (const auto& entry : std::filesystem::directory_iterator(std::string(TDSL_SOURCE_DIR) + folder)) {
      if (entry.path().extension() != ".tdsl") continue;
      CAPTURE(entry.path().string());
      for (const bool serial_loops : {true, false}) {
        const std::optional<OperationProgram> program = lowered(entry.path(), serial_loops);
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
    const OperationProgram program = lowered(body);
    CAPTURE(print(program));
    CHECK(region_of(parse_operations(print(program))) == region_of(program));
  }
}

TEST_CASE("codegen operations: the text of a product") {
  const std::string text = print(lowered(kProduct));
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
  OperationProgram program = lowered(kProduct);
  auto op = std::make_shared<RecordedOp>(*only<OperationStep>(program).op);
  op->overwrites = op->ordered = op->in_rows = op->by_rows = true;
  op->home = 3;
  op->product_share = 0.25;
  op->pieces = {{plan::Combine::kMax, Extent::of({1}) * Extent(2)}};
  op->uncut = {true, false};
  op->flops_per_row = Extent(7);
  op->dense_flops_per_row = Extent(2);
  op->sparsity.result = plan::SparseResult::kAtVisited;
  op->sparsity.visits = {{{2}, {3}}, {{3}}};
  op->sparsity.bounds = {{1, false, 2, Extent(-1)}, {0, true, 0, Extent()}};
  op->reads[0].dims[1] = {};
  only<OperationStep>(program).op = op;
  const std::string text = print(program);
  INFO(text);
  OperationProgram parsed = parse_operations(text);
  CHECK(print(parsed) == text);
  const RecordedOp& read = *only<OperationStep>(parsed).op;
  CHECK(read.overwrites);
  CHECK(read.home == 3);
  CHECK(read.product_share == 0.25);
  CHECK(read.pieces[0].count == op->pieces[0].count);
  CHECK(read.uncut == op->uncut);
  CHECK(read.flops_per_row == op->flops_per_row);
  CHECK(read.dense_flops_per_row == op->dense_flops_per_row);
  CHECK(read.sparsity.visits == op->sparsity.visits);
  CHECK(!read.sparsity.bounds[0].from_below);
  CHECK(read.sparsity.bounds[1].from_below);
  CHECK(read.reads == op->reads);
}

TEST_CASE("codegen operations: every rule of the verifier") {
  using Change = std::function<void(OperationProgram&)>;
  const auto expect = [](const std::string& body, const std::vector<std::pair<Change, const char*>>& violations) {
    for (const auto& [change, sentence] : violations) {
      OperationProgram program = lowered(body);
      CHECK(problems_of(program) == "");
      change(program);
      const std::string problems = problems_of(program);
      INFO(problems);
      INFO(std::string(sentence));
      CHECK(problems.find(sentence) != std::string::npos);
    }
  };
  const auto last = [](auto step) {
    return Change([step](OperationProgram& p) { p.steps.push_back(Step{{}, step}); });
  };
  const auto before_output = [](auto step) {
    return Change([step](OperationProgram& p) {
      const auto is_output = [](const Step& s) { return std::holds_alternative<OutputStep>(s.op); };
      p.steps.insert(std::ranges::find_if(p.steps, is_output), Step{{}, step});
    });
  };
  const auto operation = [](auto change) {
    return Change([change](OperationProgram& p) {
      auto op = std::make_shared<RecordedOp>(*only<OperationStep>(p).op);
      change(*op);
      only<OperationStep>(p).op = op;
    });
  };
  // Values of the product: %0 `n` is a host value; %2 `A` and %5 `C` are tensors.
  ForStep from_tensor;
  from_tensor.begin = {5};
  from_tensor.index = from_tensor.end = {0};
  IfStep on_tensor, releasing;
  on_tensor.condition = {5};
  releasing.condition = {0};
  releasing.then_steps.push_back(Step{{}, ReleaseStep{{5}}});
  WhileStep loop;
  loop.condition_value = {5};
  loop.iteration = {0};
  loop.body = releasing.then_steps;
  ChooseStep nameless;
  nameless.forms.emplace_back();
  RandomStep random_host;
  ChainStep host_chain;
  random_host.target = host_chain.target = {0};
  RoutineStep of_host;
  of_host.operands.push_back({{0}, false});
  LoopStep task, host_task;
  task.results.push_back({{5}, 0, 0});
  host_task.results.push_back({{0}, 0, -1});
  expect(
      kProduct,
      {{before_output(ReleaseStep{{5}}), "%5 `C` is used after its release"},
       {[](OperationProgram& p) {
          std::erase_if(p.steps, [](const Step& s) { return std::holds_alternative<OperationStep>(s.op); });
        },
        "%5 `C` is used before its definition"},
       {before_output(DeclareStep{{5}}), "%5 `C` is used before its first assignment"},
       {[](OperationProgram& p) {
          p.steps.insert(p.steps.begin(), Step{{}, CopyStep{{5}, {4}}});
        },
        "%5 `C` is assigned before its declaration"},
       {before_output(CopyStep{{5}, {0}}), "a copy from %0 `n` to %5 `C` changes sides"},
       {before_output(releasing), "the branches differ in %5 `C`"},
       {last(nameless), "every form has a name"},
       {last(on_tensor), "the condition is not a host value: %5 `C`"},
       {last(from_tensor), "the first index is not a host value: %5 `C`"},
       {last(HostStep{{5}, ir::constant_i64(1)}), "%5 `C` is defined as a host value"},
       {last(ControlReadStep{{1}, {0}}), "the operand of a control read is a host value: %0 `n`"},
       {last(FoundStep{{1}, {5}, {}, {}}), "the count of a found extent is not a host value: %5 `C`"},
       {last(FoundStep{{1}, {0}, Extent::of({5}), {}}), "an estimate is not a host value: %5 `C`"},
       {last(ReleaseStep{{0}}), "a released value is a host value: %0 `n`"},
       {[](OperationProgram& p) { only<InputStep>(p).target = {0}; }, "an input is a host value: %0 `n`"},
       {[](OperationProgram& p) { only<OutputStep>(p).value = {0}; }, "an output is a host value: %0 `n`"},
       {[](OperationProgram& p) { only<OutputStep>(p).record = ValueId{5}; },
        "the number of a record is not a host value: %5 `C`"},
       {last(random_host), "a random tensor is a host value: %0 `n`"},
       {last(host_chain), "a product is a host value: %0 `n`"},
       {last(host_chain), "a chain has one more size than factors"},
       {last(of_host), "an operand is a host value: %0 `n`"},
       {last(host_task), "a result is a host value: %0 `n`"},
       {last(task), "a loop has either a body or a kernel"},
       {last(task), "%5 `C` continues a missing operand"},
       {[](OperationProgram& p) {
          auto kernel = std::make_shared<ComputeKernel>(*only<OperationStep>(p).kernel);
          kernel->operand[nullptr] = 9;
          only<OperationStep>(p).kernel = kernel;
        },
        "`C` has no operand 9"},
       {operation([](RecordedOp& op) { op.epilogue = true; }), "an epilogue is missing or not announced"},
       {operation([](RecordedOp& op) { op.outputs.emplace_back(); }), "the outputs of `C` follow when it is recorded"},
       {operation([](RecordedOp& op) { op.out.clear(); }), "`C` has 0 subscripts for its result"},
       {operation([](RecordedOp& op) { op.reads[0].dims.pop_back(); }), "`C` reads %2 `A` with 1 subscripts"},
       {operation([](RecordedOp& op) { op.reads[0].dims[0].terms[0].label = 9; }), "`C` has no label 9"},
       {operation([](RecordedOp& op) { op.labels[0].range.hi = Extent::of({2}); }),
        "a number of an operation is not a host value: %2 `A`"},
       {[](OperationProgram& p) { only<OutputStep>(p).site = 1; }, "site 1 occurs twice"},
       {[](OperationProgram& p) { p.sites = 0; }, "site 1 is out of range"}});
  expect(kLoop, {{[](OperationProgram& p) {
                    ForStep& loop = only<ForStep>(p);
                    loop.body.push_back(Step{{}, ReleaseStep{loop.carried[0]}});
                  },
                  "an iteration changes the state of"},
                 {[](OperationProgram& p) { only<ForStep>(p).end = only<ForStep>(p).carried[0]; },
                  "the last index is not a host value"},
                 {[](OperationProgram& p) { only<ForStep>(p).step = 0; }, "the step of a loop is 0"}});
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
      nests_of(lowered("%5:f64[%0] \"y\" = compute [i in 0..%0] (mul(%4[i], 2.0))\noutput \"y\" %5\n"));
  REQUIRE(nests.size() == 1);
  CHECK(nest::print(nest::parse(nest::print(nests[0]))) == nest::print(nests[0]));
  CHECK(nests_of(lowered(kProduct)).empty());
}

}  // namespace tdsl::tests::operation_programs
