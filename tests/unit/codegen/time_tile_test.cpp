#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "codegen/operations/text.h"
#include "codegen/operations/verify.h"
#include "codegen/walk/plan_walk.h"
#include "runtime/record/planning_sink.h"
#include "tests/unit/codegen/programs.h"

// Loops of stencils in blocks of steps.

namespace tdsl::tests::time_tile {

namespace {

using namespace codegen;
using codegen::testing::count_steps;
using codegen::testing::lowered;
using codegen::testing::operations;

/// Ten steps on a vector x of n elements.
std::string ten_steps(const std::string& compute, const std::string& others = "") {
  return "%5:i64 \"zero\" = compute [] (0)\n%6:i64 \"ten\" = compute [] (10)\n"
         "%7:f64[%0] \"y\" = for %5..%6 by 1 with (%4) do (%8:i64 \"t\", %9:f64[%0] \"y\") {\n" +
         others + "  %10:f64[%0] \"y\" = compute " + compute + "\n  yield %10\n}\noutput \"y\" %7\n";
}

const std::string kStencil = "[i in 1..(%0 - 1)] (add(%9[sub(i, 1)], mul(%9[add(i, 1)], %4[i]))) left [i] base %9";

/// The recorded maps.
class Maps : public record::PlanningSink {
 public:
  Maps() : PlanningSink(of_two_ranks()) {}
  std::vector<plan::Op> maps;

 private:
  static plan::PlanInputs of_two_ranks() {
    plan::PlanInputs inputs;
    inputs.ranks = 2;
    return inputs;
  }
  void planned(const plan::PlannedSegment& segment) override {
    for (const auto& op : segment.ops) {
      if (op->op.op_class == plan::OpClass::kMap) maps.push_back(op->op);
    }
  }
};

}  // namespace

TEST_CASE("time tiles: one map of the carried tensor that reads its earlier values nearby runs in blocks") {
  const OperationProgram p = lowered(ten_steps(kStencil));
  REQUIRE(count_steps<TimeTileStep>(p.steps) == 1);
  const auto ops = operations(p);
  REQUIRE(ops.size() == 1);
  CHECK(ops.front()->kernel->steps.has_value());
  CHECK(ops.front()->kernel->reach == std::vector<plan::Reach>{{1, 1}});
  CHECK(print(parse_operations(print(p))) == print(p));
  // Without a base the whole tensor is computed.
  const std::string whole = "[i in 0..%0] (select(gt(i, 0), %9[sub(i, 1)], 0.0))";
  CHECK(count_steps<TimeTileStep>(lowered(ten_steps(whole)).steps) == 1);
}

TEST_CASE("time tiles: other loops run step by step") {
  for (const std::string compute :
       {"[i in 0..%0] (mul(%9[i], 2.0))",                                           // reads no neighbors
        "[i in 1..(%0 - 1)] (add(%9[sub(i, 1)], f64(%8))) left [i] base %9",        // depends on the step
        "[i in 0..%0] (%9[sub(sub(%0, 1), i)])",                                    // reads the other end
        "[i in 9..(%0 - 9)] (add(%9[sub(i, 9)], %9[i])) left [i] base %9",          // reads far away
        "[i in 1..(%0 - 1)] (add(%9[sub(i, 1)], %9[i])) left [sub(i, 1)] base %9",  // moves elements
        "[i in 1..(%0 - 1)] (%9[sub(i, 1)]) left [i] base %4"}) {                   // keeps others
    CAPTURE(compute);
    CHECK(count_steps<TimeTileStep>(lowered(ten_steps(compute)).steps) == 0);
  }
  CHECK(count_steps<TimeTileStep>(lowered(ten_steps(kStencil, "  print \"y\", %9\n")).steps) == 0);
}

TEST_CASE("time tiles: an operation per block reads the margins of its steps") {
  const OperationProgram p = lowered(ten_steps(kStencil));
  for (const plan::Index height : {1, 4, 20}) {
    WalkRequest request;
    request.ranks = request.deciding_ranks = 2;
    request.dimensions = {{"n", 40}, {"m", 30}};
    request.time_tile = height;
    Maps sink;
    record::Recorder recorder(sink);
    std::vector<std::string> notes;
    walk_as_shown(p, request, recorder, [&](SourceRange, const std::string& text) { notes.push_back(text); });
    const plan::Index steps = std::min<plan::Index>(height, 10);
    REQUIRE(sink.maps.size() == static_cast<std::size_t>(plan::ceil_div(10, steps)));
    double flops = 0;
    for (const plan::Op& op : sink.maps) {
      REQUIRE(op.reads.size() == 2);
      const bool first = op.reads[0].tensor == op.base;
      CHECK(op.reads[first ? 0 : 1].dims[0].offset == plan::Interval{-steps, steps + 1});
      flops += op.flops_per_point;
    }
    CHECK(flops == 20);
    CHECK(notes.size() == (height > 1 ? 1U : 0U));
  }
}

TEST_CASE("time tiles: verified in operation programs") {
  OperationProgram p = lowered(ten_steps(kStencil));
  const auto message = [](const OperationProgram& program) {
    const std::vector<std::string> problems = verify(program);
    return problems.empty() ? std::string() : problems.front();
  };
  REQUIRE(message(p).empty());
  const auto first = []<class T>(Steps& steps, std::type_identity<T>) -> T& {
    return std::get<T>(std::ranges::find_if(steps, [](const Step& s) { return std::holds_alternative<T>(s.op); })->op);
  };
  TimeTileStep& tile = first(p.steps, std::type_identity<TimeTileStep>{});
  ForStep& loop = first(p.steps, std::type_identity<ForStep>{});
  OperationStep& step = first(loop.body, std::type_identity<OperationStep>{});
  const auto with = [&](const auto& change) {
    auto kernel = std::make_shared<ComputeKernel>(*step.kernel);
    change(*kernel);
    step.kernel = std::move(kernel);
  };
  const ComputeKernel kernel = *step.kernel;
  with([](ComputeKernel& k) { k.reach.clear(); });
  CHECK(message(p).find("`y` has no reach per label") != std::string::npos);
  with([&](ComputeKernel& k) {
    k = kernel;
    k.steps = loop.carried.front();
  });
  CHECK(message(p).find("the number of steps is not a host value") != std::string::npos);
  with([&](ComputeKernel& k) { k = kernel; });
  tile.reach.clear();
  CHECK(message(p).find("a time tile has a reach per dimension") != std::string::npos);
}

}  // namespace tdsl::tests::time_tile
