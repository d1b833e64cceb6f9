#include "runtime/record/recorder.h"

#include <doctest/doctest.h>

#include "runtime/plan/op_builder.h"
#include "runtime/plan/planner.h"
#include "runtime/record/summary.h"

using namespace tdsl;
using namespace tdsl::record;
using plan::OpClass;

namespace {

struct Kept : Sink {
  std::vector<plan::Segment> segments;
  void segment(plan::Segment s) override { segments.push_back(std::move(s)); }
};

TensorHandle copy_of(Recorder& recorder, const TensorHandle& operand) {
  plan::OpBuilder op(OpClass::kMap, "copy", 2, 1);
  op.out("i", operand.extent(0)).read(operand.id(), {plan::at(0)});
  return recorder.record(std::move(op.op()), operand.state().type);
}

}  // namespace

TEST_CASE("recorder: a segment ends with 256 operations, a control read or an effect") {
  Kept kept;
  Recorder recorder(kept);
  {
    TensorHandle x = recorder.source("x", ElementType::kF64, {10}, {}, {1, 1});
    for (int k = 0; k < 300; ++k) x = copy_of(recorder, x);
    REQUIRE(kept.segments.size() == 1);
    CHECK(kept.segments[0].ops.size() == kSegmentLimit);
    const TensorState* const state = &x.state();
    recorder.collect("x", {&state, 1}, {3, 1});
    REQUIRE(kept.segments.size() == 2);
    CHECK(kept.segments[1].ops.size() == 301 - kSegmentLimit + 1);
    const TensorHandle scalar = recorder.source("s", ElementType::kBool, {}, {}, {4, 1});
    const TensorHandle read = recorder.control(scalar, {5, 1});
    REQUIRE(kept.segments.size() == 3);
    CHECK(kept.segments[2].ops.back().op_class == OpClass::kControl);
    CHECK(kept.segments[2].ops.back().replicated);
    CHECK(kept.segments[2].dropped.empty());
  }
  recorder.flush();
  REQUIRE(kept.segments.size() == 4);
  CHECK(kept.segments[3].ops.empty());
  CHECK(kept.segments[3].dropped.size() == 3);
  std::size_t dropped = 0;
  for (const plan::Segment& s : kept.segments) dropped += s.dropped.size();
  CHECK(dropped == 303);
  recorder.flush();
  CHECK(kept.segments.size() == 4);
}

TEST_CASE("recorder: operations are numbered in order, and know their number before they are handed on") {
  Kept kept;
  Recorder recorder(kept);
  for (Index k = 0; k < 300; ++k) {
    CHECK(recorder.next_record() == k);
    static_cast<void>(recorder.source("x", ElementType::kF64, {10}, {}, {1, 1}));
  }
  recorder.flush();
  Index number = 0;
  for (const plan::Segment& s : kept.segments) {
    for (const plan::Op& op : s.ops) CHECK(op.record == number++);
  }
}

TEST_CASE("recorder: a tensor ends with its last handle") {
  Kept kept;
  Recorder recorder(kept);
  TensorHandle x = recorder.source("x", ElementType::kF64, {10}, {}, {1, 1});
  const plan::TensorId id = x.id();
  TensorHandle other = x;
  x.release();
  recorder.flush();
  CHECK(kept.segments.back().dropped.empty());
  other = copy_of(recorder, other);
  recorder.flush();
  CHECK(kept.segments.back().dropped == std::vector{id});
}

TEST_CASE("recorder: collecting reads the corners that a summary shows") {
  Kept kept;
  Recorder recorder(kept);
  const TensorHandle large = recorder.source("x", ElementType::kF64, {100, 100}, {}, {1, 1});
  const TensorHandle scalar = recorder.source("s", ElementType::kF64, {}, {}, {1, 1});
  const TensorHandle empty = recorder.source("e", ElementType::kF64, {0, 3}, {}, {1, 1});
  const std::vector<const TensorState*> tensors{&large.state(), &scalar.state(), &empty.state()};
  recorder.collect("x", tensors, {3, 1});
  const plan::Op& op = kept.segments.back().ops.back();
  CHECK(op.home == 0);
  CHECK(op.ordered);
  REQUIRE(op.reads.size() == 5);
  CHECK(op.reads[0].dims == std::vector{plan::fixed(0, 3), plan::fixed(0, 3)});
  CHECK(op.reads[1].dims == std::vector{plan::fixed(0, 3), plan::fixed(97, 100)});
  CHECK(op.reads[3].dims == std::vector{plan::fixed(97, 100), plan::fixed(97, 100)});
  CHECK(op.reads[4].tensor == scalar.id());
  CHECK(SummaryCorners(large.state().desc.shape).count() == 36);
}

TEST_CASE("planner: names of dropped tensors and of partial results end with the last operation that mentions them") {
  Kept kept;
  Recorder recorder(kept);
  plan::TensorId sum_id = -1, x_id = -1;
  {
    const TensorHandle x = recorder.source("x", ElementType::kF64, {100000}, {}, {1, 1});
    const TensorHandle unused = recorder.source("unused", ElementType::kF64, {10}, {}, {2, 1});
    plan::OpBuilder op(OpClass::kReduce, "sum", 3, 1);
    op.reduce("i", 100000).read(x.id(), {plan::at(0)}).combine(plan::Combine::kSum);
    const TensorHandle sum = recorder.record(std::move(op.op()), ElementType::kF64);
    sum_id = sum.id();
    x_id = x.id();
  }
  recorder.flush();
  plan::PlanInputs inputs;
  inputs.ranks = 4;
  plan::Planner planner(inputs);
  const plan::PlannedSegment planned = planner.plan(std::move(kept.segments.front()));
  REQUIRE(planned.ops.size() == 3);
  CHECK(planned.ops[1]->op.outputs.front().id == plan::kFirstPart);
  CHECK(planned.last_names[0].empty());
  CHECK(planned.last_names[1] == std::vector{x_id});
  CHECK(planned.last_names[2] == std::vector{sum_id, plan::kFirstPart});
  REQUIRE(planned.unused.size() == 1);
  CHECK(planned.unused[0].name == "unused");
  CHECK(planned.ended.empty());
}
