#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/plan/value/imposed.h"
#include "tests/unit/plan/counting.h"

// Operations follow an imposed plan: maps of blocks where tiles are given, kept copies, and the count of operations
// that cannot follow.

using namespace tdsl::plan;
using tdsl::tests::count;
using tdsl::tests::Recorder;

namespace {

using PlannedOps = std::vector<std::shared_ptr<const PlannedOp>>;

Recorder imposed(const std::string& decisions, Index ranks, std::vector<Index> tile) {
  PlanInputs inputs;
  inputs.ranks = ranks;
  inputs.tile = std::move(tile);
  Recorder recorder(inputs);
  const std::string number = std::to_string(ranks);
  recorder.planner.impose(std::make_unique<ImposedPlan>(
      std::make_shared<const PlanValue>(parse_plan("tdsl plan 1\nprogram \"p\" region 0 ranks " + number +
                                                   " schedule none\nmesh a:" + number + "/1\n" + decisions))));
  return recorder;
}

/// Owners of the planned operation's tiles, row-major.
std::string owners_of(const PlannedOp& planned) {
  const Distribution& space = planned.plan.space;
  std::string text;
  for (Index tile = 0; tile < space.tile_count(); ++tile) text += std::to_string(space.owner(space.coord(tile), 0));
  return text;
}

/// `C[i] = sum[k](A[i, k])` at site 3.
void record_sums(Recorder& recorder, Index rows, Index columns) {
  const TensorId a = recorder.source("A", {rows, columns});
  OpBuilder sum(OpClass::kReduce, "C", 3, 1);
  sum.out("i", rows).reduce("k", columns).combine(Combine::kSum).flops(1).read(a, {at(0), at(1)});
  (void)recorder.finish(sum, "C");
}

/// The figures of all ranks agree with the enumerated steps, and every point is computed once.
void check_predictions(const PlannedOps& planned, const Planner& planner, Index points) {
  for (const auto& op : planned) {
    Index computed = 0;
    for (Index rank = 0; rank < planner.inputs().ranks; ++rank) {
      const Cost cost = cost_of(op->op, op->plan, planner.lookup(), rank, {}, 1);
      const tdsl::tests::Counted counted = count(op->op, op->plan, planner.lookup(), rank);
      const std::string wrong = tdsl::tests::outside(cost, counted, op->op);
      CHECK_MESSAGE(wrong.empty(), op->op.name, ": ", wrong);
      computed += counted.points;
    }
    if (op->op.op_class == OpClass::kReduce) CHECK(computed == points);
  }
}

}  // namespace

TEST_CASE("following: given tiles are dealt to the blocks of a map") {
  struct Case {
    const char* work;
    Index rows;
    const char* owners;
  };
  for (const Case& c : {Case{"cyclic 5 on 3 from 1", 45, "1201201"},  // 7 tiles
                        Case{"cyclic 5 on 3 from 1", 70, "1122001122"}, Case{"cyclic 5 on 3 from 1", 7, "1"},
                        Case{"cyclic 3 on 3", 49, "0011220"}, Case{"table 4: 2 0 0 1", 45, "2200001"},
                        Case{"table 4: 2 0 0 1", 14, "20"}}) {
    CAPTURE(c.work);
    CAPTURE(c.rows);
    Recorder recorder = imposed(std::string("3 reduce \"C\" ") + c.work + "\n", 3, {7});
    record_sums(recorder, c.rows, 5);
    const PlannedOps planned = recorder.run();
    REQUIRE(planned.size() == 2);
    CHECK(owners_of(*planned.back()) == c.owners);
    CHECK(recorder.planner.unplanned() == 0);
    check_predictions(planned, recorder.planner, c.rows * 5);
  }
}

TEST_CASE("following: given panels are dealt to the blocks of a reduce label") {
  for (const Index columns : {Index{7}, Index{14}, Index{45}, Index{70}}) {
    CAPTURE(columns);
    Recorder recorder = imposed("3 reduce \"C\" cyclic 1x5 on 1x3 -> home 2\n", 3, {7});
    record_sums(recorder, 6, columns);
    const PlannedOps planned = recorder.run();
    REQUIRE(planned.size() == 3);  // the source, partial results, their combination
    CHECK(recorder.planner.unplanned() == 0);
    CHECK(owners_of(*planned.back()) == "2");
    check_predictions(planned, recorder.planner, 6 * columns);
  }
}

TEST_CASE("following: extents shorter than the number of blocks, and no elements") {
  for (const Index rows : {Index{0}, Index{1}, Index{2}, Index{4}}) {
    CAPTURE(rows);
    Recorder recorder = imposed("3 reduce \"C\" cyclic 5 on 3 from 1\n", 3, {});
    record_sums(recorder, rows, 5);
    const PlannedOps planned = recorder.run();
    CHECK(recorder.planner.unplanned() == 0);
    CHECK(owners_of(*planned.back()) == std::string("1201").substr(0, static_cast<std::size_t>(rows)));
  }
}

TEST_CASE("following: operations that the recorder places are not counted") {
  Recorder recorder = imposed("3 map \"x\" cyclic 4 on 2\n", 2, {});
  for (const bool replicated : {false, true}) {
    OpBuilder x(OpClass::kMap, "x", 3, 1);
    x.out("i", 8);
    x.op().replicated = replicated;
    x.op().home = replicated ? -1 : 1;
    (void)recorder.finish(x, "x");
  }
  const PlannedOps planned = recorder.run();
  REQUIRE(planned.size() == 2);
  CHECK(owners_of(*planned.front()).find('0') == std::string::npos);
  CHECK(planned.back()->plan.space.everywhere());
  CHECK(recorder.planner.unplanned() == 0);
}

TEST_CASE("following: the result of a loop has a kept copy") {
  for (const char* copy : {"home 0", "everywhere"}) {
    CAPTURE(copy);
    Recorder recorder =
        imposed(std::string("3 loop \"y\" home 1 keep ") + copy + " for 4\n4 map \"z\" home 0\n", 2, {});
    const TensorId x = recorder.source("x", {6, 2});
    OpBuilder loop(OpClass::kLoop, "y", 3, 1);
    loop.read(x, {whole(), whole()});
    const TensorId y = recorder.finish(loop, "y");
    recorder.segment.back().outputs.front().shape = {6, 2};  // of its own: the operation has no dimensions
    OpBuilder map(OpClass::kMap, "z", 4, 1);
    map.out("i", 6).out("j", 2).read(y, {at(0), at(1)});
    (void)recorder.finish(map, "z");
    const PlannedOps planned = recorder.run();
    REQUIRE(planned.size() == 4);  // x, y, its copy, z
    CHECK(planned[2]->op.op_class == OpClass::kCopy);
    CHECK(planned[2]->plan.space.everywhere() == (std::string(copy) == "everywhere"));
    CHECK(planned[3]->op.reads.front().tensor == planned[2]->op.outputs.front().id);
    CHECK(cost_of(planned[3]->op, planned[3]->plan, recorder.planner.lookup(), 0, {}, 1).bytes_received.hi == 0);
    CHECK(recorder.planner.unplanned() == 0);
  }
}
