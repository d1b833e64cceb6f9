#include "codegen/walk/plan_walk.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "runtime/check.h"
#include "runtime/record/planning_sink.h"
#include "tests/unit/codegen/programs.h"
#include "tools/build/toolchain.h"

using namespace tdsl::codegen;
using namespace tdsl::codegen::testing;
namespace plan = tdsl::plan;

namespace {

struct Walked {
  std::vector<std::string> kinds;
  std::vector<std::string> notes;
  int dropped = 0;
};

/// Plans the recorded operations on two ranks.
class Kinds : public tdsl::record::PlanningSink {
 public:
  explicit Kinds(Walked& walk) : PlanningSink(two_ranks()), walk_(walk) {}

 private:
  static tdsl::plan::PlanInputs two_ranks() {
    tdsl::plan::PlanInputs inputs;
    inputs.ranks = 2;
    return inputs;
  }
  void planned(const tdsl::plan::PlannedSegment& segment) override {
    for (const auto& op : segment.ops) walk_.kinds.emplace_back(name_of(op->op.op_class));
    for (const auto& list : segment.last_names) walk_.dropped += static_cast<int>(list.size());
    walk_.dropped += static_cast<int>(segment.ended.size());
  }
  Walked& walk_;
};

WalkRequest sized() {
  WalkRequest request;
  request.ranks = request.deciding_ranks = 2;
  request.dimensions = {{"n", 40}, {"m", 30}};
  return request;
}

Walked walk(const OperationProgram& program, const WalkRequest& request = sized()) {
  Walked w;
  Kinds kinds(w);
  tdsl::record::Recorder recorder(kinds);
  walk_as_shown(program, request, recorder, [&](SourceRange, const std::string& text) { w.notes.push_back(text); });
  return w;
}

}  // namespace

TEST_CASE("codegen plan walk: plans the recorded operations and releases all tensors") {
  const OperationProgram p = lowered(
      "%5:f64[%0, %0] \"C\" = compute [i in 0..%0, j in 0..%0] sum[k in 0..%1] (mul(%2[i, k], %3[k, j]))\noutput \"C\" "
      "%5\n");
  const Walked w = walk(p);
  CHECK(std::count(w.kinds.begin(), w.kinds.end(), "load") == 2);
  CHECK(std::count(w.kinds.begin(), w.kinds.end(), "contraction") == 1);
  CHECK(std::count(w.kinds.begin(), w.kinds.end(), "collect") == 1);
  CHECK(w.dropped >= 3);
}

TEST_CASE("codegen plan walk: loops over host values run as often as they will, data-dependent ones once") {
  const OperationProgram host = lowered(
      "%5:i64 \"zero\" = compute [] (0)\n"
      "%6:f64[%0] \"y\" = for %5..%1 by 1 with (%4) do (%7:i64 \"i\", %8:f64[%0] \"y\") {\n"
      "  %9:f64[%0] \"y\" = compute [i in 0..%0] (mul(%8[i], 2.0))\n  yield %9\n}\noutput \"y\" %6\n");
  const Walked w = walk(host);
  CHECK(std::count(w.kinds.begin(), w.kinds.end(), "map") == 30);
  CHECK(w.notes.empty());
}

TEST_CASE("codegen plan walk: loops over scalars are followed beyond the iterations that are shown") {
  WalkRequest request = sized();
  request.dimensions["n"] = 3000;
  const OperationProgram p = lowered(
      "%5:i64 \"zero\" = compute [] (0)\n"
      "%6:i64 \"count\" = for %5..%0 by 1 with (%5) do (%7:i64 \"i\", %8:i64 \"count\") {\n"
      "  %9:i64 \"count\" = compute [] (add(%8, 1))\n  yield %9\n}\n"
      "%10:f64[%6] \"y\" = compute [i in 0..%6] (1.0)\noutput \"y\" %10\n");
  CHECK(walk(p, request).notes.empty());
  const plan::Region region = tdsl::record::survey(recording_of(p, request));
  CHECK(region.whole);
  const auto y = std::find_if(region.ops.begin(), region.ops.end(),
                              [](const plan::RegionOp& op) { return op.op.op_class == plan::OpClass::kSource; });
  REQUIRE(y != region.ops.end());
  CHECK(y->op.shape == std::vector<plan::Index>{3000});
}

TEST_CASE("codegen plan walk: a missing extent is an error with its name") {
  const OperationProgram p = lowered("%5:f64[%0] \"y\" = compute [i in 0..%0] (%4[i])\noutput \"y\" %5\n");
  WalkRequest request = sized();
  request.dimensions.erase("n");
  CHECK_THROWS_WITH_AS(static_cast<void>(walk(p, request)),
                       "p.tdsl:1: the extent of n is not known: give a file, or --set n=N [missing-input]",
                       tdsl::rt::RunError);
}

TEST_CASE("codegen toolchain: keys, comments and the prefix") {
  const Toolchain t = parse_toolchain(
      "# comment\ncompiler = g++\ncompile_flags = -O3  -g\nlibraries = ${PREFIX}/lib/a.a -lm\nnative = on\n", "/p",
      "f");
  CHECK(t.compiler == "g++");
  CHECK(t.compile_flags == std::vector<std::string>{"-O3", "-g"});
  CHECK(t.libraries == std::vector<std::string>{"/p/lib/a.a", "-lm"});
  CHECK(t.native);
  CHECK_THROWS_AS(static_cast<void>(parse_toolchain("compiler\n", "/p", "f")), ToolchainError);
  CHECK_THROWS_AS(static_cast<void>(parse_toolchain("native = on\n", "/p", "f")), ToolchainError);
}
